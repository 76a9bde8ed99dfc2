/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the bytes go: a link is followed, so that the file it names is replaced and not the link. */
static int resolve(struct output *output, const char *path)
{
	struct stat about;
	char *real;

	output->beside[0] = 0;
	if ((size_t)snprintf(output->path, sizeof(output->path), "%s", path) >=
	    sizeof(output->path))
		return -ENAMETOOLONG;
	if (!stat(path, &about)) {
		if (access(path, W_OK))
			return -errno;
		if (S_ISDIR(about.st_mode))
			return -EISDIR;
		if (!S_ISREG(about.st_mode))
			return 0;
		real = realpath(path, NULL);
		if (!real)
			return -errno;
		(void)snprintf(output->path, sizeof(output->path), "%s", real);
		free(real);
	} else if (errno != ENOENT) {
		return -errno;
	}
	(void)snprintf(output->beside, sizeof(output->beside), "%s.new.%d", output->path,
		       (int)getpid());
	return 0;
}

int output_open(struct output *ret_output, const char *path)
{
	bool whole;
	int fd, r = resolve(ret_output, path);

	if (r)
		return r;
	whole = *ret_output->beside;
	fd = open(whole ? ret_output->beside : ret_output->path,
		  O_WRONLY | O_CLOEXEC | (whole ? O_CREAT | O_EXCL : 0), 0666);
	if (fd < 0)
		return -errno;
	ret_output->file = fdopen(fd, "w");
	if (ret_output->file)
		return 0;
	close(fd);
	if (whole)
		(void)unlink(ret_output->beside);
	return -ENOMEM;
}

int output_close(struct output *output, int error)
{
	if (ferror(output->file) && !error)
		error = -EIO;
	if (fclose(output->file) && !error)
		error = errno ? -errno : -EIO;
	if (!*output->beside)
		return error;
	if (!error && rename(output->beside, output->path))
		error = -errno;
	if (error)
		(void)unlink(output->beside);
	return error;
}

int output_check(const char *path)
{
	struct output output;
	int r = resolve(&output, path);

	/* A pipe's other end is not to see one more writer come and go. */
	if (r || !*output.beside)
		return r;
	r = output_open(&output, path);
	if (r)
		return r;
	return output_close(&output, -ECANCELED) == -ECANCELED ? 0 : -EIO;
}
