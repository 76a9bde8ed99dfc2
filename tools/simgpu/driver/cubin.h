/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUBIN_H
#define SIMGPU_CUBIN_H

/*
 * Machine code (an ELF file) cannot be run here. For a run that only measures time, this makes PTX
 * of it: the same kernels with the same parameters, and the same variables, whose bodies return at
 * once. Nothing in the file is trusted. No state; thread-safe.
 */

#include <stdint.h>

#define CUBIN_MAGIC 0x464c457fu /* as a little-endian number */

/* The file's length, from its own header. */
uint64_t cubin_size(const void *elf);
/* free() the text. -EINVAL and one sentence where the file is damaged, -ENOMEM. */
int cubin_to_ptx(const void *elf, uint64_t bytes, char **ret_text, const char **ret_error);

#endif
