/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_FD_INFO_H
#define SHIM_FD_INFO_H

/*
 * What a descriptor stands for. By statx, since fstat binds to a newer libc than the oldest that
 * the shim loads into. Any thread; changes errno on failure.
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct fd_info {
	uint64_t inode, bytes;
	uint32_t device_major, device_minor;
	bool is_socket;
};

static inline bool fd_look(int fd, struct fd_info *ret_info)
{
	struct statx about;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &about))
		return false;
	ret_info->inode = about.stx_ino;
	ret_info->bytes = about.stx_size;
	ret_info->device_major = about.stx_dev_major;
	ret_info->device_minor = about.stx_dev_minor;
	ret_info->is_socket = S_ISSOCK(about.stx_mode);
	return true;
}

static inline bool fd_is_same(const struct fd_info *a, const struct fd_info *b)
{
	return a->inode == b->inode && a->device_major == b->device_major &&
	       a->device_minor == b->device_minor && a->is_socket == b->is_socket;
}

#endif
