/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_DEPTH 4

static int check_executable(const char *path)
{
	struct stat st;

	if (access(path, X_OK) || stat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? -EISDIR : 0;
}

int target_find(const char *command, size_t size, char *ret_path)
{
	const char *path = secure_getenv("PATH");
	int r = -ENOENT;

	if (strchr(command, '/')) {
		snprintf(ret_path, size, "%s", command);
		return check_executable(ret_path);
	}
	for (const char *p = path ? path : "/usr/bin:/bin"; *p; p += strspn(p, ":")) {
		size_t length = strcspn(p, ":");

		snprintf(ret_path, size, "%.*s/%s", (int)length, p, command);
		p += length;
		if (!check_executable(ret_path))
			return 0;
		/* There is one, and nobody may run it: told as that. */
		if (!access(ret_path, F_OK) && access(ret_path, X_OK))
			r = -EACCES;
	}
	return r;
}

static int check_elf(int fd, const Elf64_Ehdr *head, const char *path, size_t size, char *ret_why)
{
	for (unsigned int i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr segment;
		char loader[256] = "";

		if (pread(fd, &segment, sizeof(segment),
			  (off_t)(head->e_phoff + i * sizeof(segment))) != sizeof(segment))
			break;
		if (segment.p_type != PT_INTERP)
			continue;
		if (pread(fd, loader,
			  segment.p_filesz < sizeof(loader) ? segment.p_filesz : sizeof(loader) - 1,
			  (off_t)segment.p_offset) <= 0)
			break;
		if (!strstr(loader, "musl"))
			return 0;
		snprintf(ret_why, size,
			 "%s is built for musl (%s), and the CUDA driver and libsluice.so need "
			 "glibc: "
			 "run it in a glibc image",
			 path, loader);
		return -ENOTSUP;
	}
	snprintf(ret_why, size,
		 "%s is statically linked, so libsluice.so cannot be preloaded into it: link it "
		 "dynamically",
		 path);
	return -ENOTSUP;
}

/* The interpreter of a `#!` line; `env NAME` gives NAME. */
static int parse_script(char *line, size_t size, char *ret_command)
{
	char *save = NULL, *word = strtok_r(line + 2, " \t\r\n", &save);
	const char *base;

	if (!word)
		return -ENOEXEC;
	base = strrchr(word, '/');
	if (!strcmp(base ? base + 1 : word, "env")) {
		do
			word = strtok_r(NULL, " \t\r\n", &save);
		while (word && (*word == '-' || strchr(word, '=')));
		if (!word)
			return -ENOEXEC;
	}
	snprintf(ret_command, size, "%s", word);
	return 0;
}

bool target_is_shell(const char *program)
{
	static const char *const shells[] = {"sh",   "ash", "bash", "busybox", "dash",
					     "fish", "ksh", "mksh", "yash",    "zsh"};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (!strcmp(program, shells[i]))
			return true;
	}
	return false;
}

static void name_file(const char *path, size_t size, char *ret_name)
{
	char *real = realpath(path, NULL);
	const char *slash = real ? strrchr(real, '/') : NULL;

	snprintf(ret_name, size, "%s", slash ? slash + 1 : "");
	free(real);
}

/* *ret_file: the file whose image the process will be. */
static int check_file(const char *path, int depth, size_t size, char *ret_why, char *ret_file)
{
	union {
		Elf64_Ehdr elf;
		char text[512];
	} head = {.text = ""};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;

	snprintf(ret_file, PATH_MAX, "%s", path);
	if (fd < 0)
		return 0; /* executable but not readable: nothing to say */
	if (fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) && geteuid() != 0) {
		snprintf(ret_why, size,
			 "%s is set-uid or set-gid, and the loader ignores LD_PRELOAD for it",
			 path);
		r = -ENOTSUP;
	} else if (read(fd, head.text, sizeof(head.text) - 1) < 4) {
		r = 0;
	} else if (!memcmp(head.text, ELFMAG, SELFMAG) &&
		   head.elf.e_ident[EI_CLASS] == ELFCLASS64) {
		r = check_elf(fd, &head.elf, path, size, ret_why);
	} else if (!memcmp(head.text, "#!", 2) && depth < SCRIPT_DEPTH) {
		char command[PATH_MAX], next[PATH_MAX];

		head.text[strcspn(head.text, "\n")] = 0;
		if (!parse_script(head.text, sizeof(command), command) &&
		    !target_find(command, sizeof(next), next))
			r = check_file(next, depth + 1, size, ret_why, ret_file);
	}
	close(fd);
	return r;
}

int target_check(const char *command, size_t size, char *ret_why, size_t program_size,
		 char *ret_program)
{
	char path[PATH_MAX], file[PATH_MAX];
	int r = target_find(command, sizeof(path), path);

	if (r < 0) {
		snprintf(ret_why, size, "cannot run '%s': %s", command, strerror(-r));
		return r;
	}
	r = check_file(path, 0, size, ret_why, file);
	name_file(file, program_size, ret_program);
	return r;
}
