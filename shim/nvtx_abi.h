/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_NVTX_ABI_H
#define SHIM_NVTX_ABI_H

/*
 * What of NVTX 3's interface to injection libraries the shim takes part in, declared here since its
 * headers need not be installed. As in CUDA 13.0's nvtx3/nvtxDetail/nvtxTypes.h and nvToolsExt.h,
 * whose structures only ever grew; a test compares the two where the headers are there.
 */

#include <stddef.h>
#include <stdint.h>

#define NVTX_TABLE_CALLBACKS 1u /* an export table */
#define NVTX_MODULE_CORE 1
#define NVTX_MODULE_CORE2 5

enum { /* places in the table of NVTX_MODULE_CORE */
       NVTX_RANGE_START_EX = 4,
       NVTX_RANGE_START_A = 5,
       NVTX_RANGE_START_W = 6,
       NVTX_RANGE_END = 7,
};

enum { /* of NVTX_MODULE_CORE2 */
       NVTX_DOMAIN_RANGE_START_EX = 2,
       NVTX_DOMAIN_RANGE_END = 3,
       NVTX_DOMAIN_REGISTER_STRING_A = 10,
       NVTX_DOMAIN_REGISTER_STRING_W = 11,
};

enum { NVTX_TEXT_NONE = 0, NVTX_TEXT_ASCII = 1, NVTX_TEXT_WIDE = 2, NVTX_TEXT_REGISTERED = 3 };

struct nvtx_event {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t text_type; /* NVTX_TEXT_* */
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered;
	} text;
};

typedef void (*nvtx_function)(void);
typedef const void *(*nvtx_get_table)(uint32_t table);

struct nvtx_callbacks {
	size_t size;
	/* An array of pointers to the function pointers that the program's calls go through. */
	int (*module_table)(int module, nvtx_function ***ret_table, unsigned int *ret_count);
};

#endif
