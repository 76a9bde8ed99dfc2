/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_FATBIN_H
#define SIMGPU_FATBIN_H

/*
 * Fat binaries, as nvcc of CUDA 13.0 writes them: a container of PTX and machine code for several
 * architectures, raw or compressed (zstd, LZ4). Nothing is trusted: each length is checked against
 * the one around it. No state; thread-safe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_MAGIC 0xba55ed50u
#define FATBIN_WRAPPER_MAGIC 0x466243b1u

enum fatbin_kind { FATBIN_PTX = 1, FATBIN_ELF = 2 };

struct fatbin_entry {
	enum fatbin_kind kind;
	uint32_t arch; /* 75, 90, ... */
	uint64_t flags;
	const uint8_t *payload;
	uint64_t payload_bytes; /* as stored, with padding */
	uint64_t stored_bytes;	/* compressed: without padding */
	uint64_t full_bytes;	/* compressed: when expanded */
};

/* The length of a container from its header, header included; 0: not one. `limit`: bytes there
 * are at most. */
uint64_t fatbin_size(const void *fatbin, uint64_t limit);

/* Calls `each` for the PTX and machine code entries in turn, until it returns false. 0, or -EINVAL
 * and one sentence where the container is damaged. */
int fatbin_walk(const void *fatbin, uint64_t limit,
		bool (*each)(void *arg, const struct fatbin_entry *entry), void *arg,
		const char **ret_error);

/* The entry's content, with a zero byte behind it that is not counted; free() it. -EINVAL and one
 * sentence where it is damaged, -ENOMEM. */
int fatbin_expand(const struct fatbin_entry *entry, char **ret_content, uint64_t *ret_bytes,
		  const char **ret_error);

#endif
