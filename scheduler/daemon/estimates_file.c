/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/estimates_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_MAGIC 0x65757553u /* "Suue" */
#define FILE_VERSION 1u

struct file_header {
	uint32_t magic, version;
	uint32_t uid, count;
	uint64_t run;
	uint64_t checksum; /* of the rest of the header, and of all records */
};
_Static_assert(sizeof(struct file_header) == 32, "no holes: all of it is summed");

static uint64_t sum(uint64_t digest, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ byte[i]) * 0x100000001b3ull;
	return digest;
}

static uint64_t checksum(struct file_header header, const struct sluice_estimate_record *record)
{
	header.checksum = 0;
	return sum(sum(0xcbf29ce484222325ull, &header, sizeof(header)), record,
		   header.count * sizeof(*record));
}

/* All of it, or nothing: the file is not written to while it has this name. */
static bool read_all(int fd, void *ret_bytes, size_t size)
{
	unsigned char *at = ret_bytes;

	while (size) {
		ssize_t got = read(fd, at, size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

static int read_file(int fd, uid_t uid, struct sluice_estimate_record *ret_record, uint32_t room,
		     uint32_t *ret_count, uint64_t *ret_run)
{
	struct file_header header;
	struct stat about;

	/* Whoever else could write to it could say how long anything takes. */
	if (fstat(fd, &about))
		return -errno;
	if (!S_ISREG(about.st_mode) || about.st_uid != geteuid() || (about.st_mode & 022) ||
	    about.st_nlink != 1)
		return -EPERM;
	if (!read_all(fd, &header, sizeof(header)) || header.magic != FILE_MAGIC ||
	    header.version != FILE_VERSION || header.uid != uid || header.count > room ||
	    about.st_size != (off_t)(sizeof(header) + header.count * sizeof(*ret_record)) ||
	    !read_all(fd, ret_record, header.count * sizeof(*ret_record)) ||
	    header.checksum != checksum(header, ret_record))
		return -EBADMSG;
	for (uint32_t i = 0; i < header.count; i++) {
		if (!sluice_estimate_is_sane(&ret_record[i]))
			return -EBADMSG;
	}
	*ret_count = header.count;
	*ret_run = header.run;
	return 0;
}

int estimates_file_read(const char *path, uid_t uid, struct sluice_estimate_record *ret_record,
			uint32_t room, uint32_t *ret_count, uint64_t *ret_run)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int r;

	if (fd < 0)
		return -errno;
	r = read_file(fd, uid, ret_record, room, ret_count, ret_run);
	close(fd);
	return r;
}

static int write_file(int fd, struct file_header header,
		      const struct sluice_estimate_record *record)
{
	size_t size = header.count * sizeof(*record);
	struct iovec parts[] = {
		{.iov_base = &header, .iov_len = sizeof(header)},
		{.iov_base = (void *)(uintptr_t)record, .iov_len = size},
	};
	ssize_t put;

	header.checksum = checksum(header, record);
	put = writev(fd, parts, 2);
	if (put < 0)
		return -errno;
	return (size_t)put == sizeof(header) + size ? 0 : -ENOSPC;
}

int estimates_file_write(const char *path, uid_t uid, const struct sluice_estimate_record *record,
			 uint32_t count, uint64_t run)
{
	struct file_header header = {.magic = FILE_MAGIC,
				     .version = FILE_VERSION,
				     .uid = uid,
				     .count = count,
				     .run = run};
	char beside[PATH_MAX];
	int fd, r;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.new", path) >= sizeof(beside))
		return -ENAMETOOLONG;
	/* Left by one that was killed while it wrote. */
	if (unlink(beside) && errno != ENOENT)
		return -errno;
	fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = write_file(fd, header, record);
	if (close(fd) && !r)
		r = -errno;
	if (!r && rename(beside, path))
		r = -errno;
	if (r)
		(void)unlink(beside);
	return r;
}
