/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_CUPTI_ABI_H
#define SHIM_CUPTI_ABI_H

/*
 * What the shim uses of CUPTI's activity interface, declared here since its headers need not be
 * installed. Of a kernel's record only the head is read, which has been the same from
 * CUpti_ActivityKernel3 to CUpti_ActivityKernel10 (CUDA 13.0); a test compares it with CUPTI's
 * header where that is there.
 */

#include <stddef.h>
#include <stdint.h>

#define CUPTI_OK 0
#define CUPTI_TOO_MANY_SUBSCRIBERS 39	 /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
#define CUPTI_KIND_CONCURRENT_KERNEL 10u /* durations of kernels, which still run side by side */

struct cupti_kernel {
	uint32_t kind; /* CUPTI_KIND_* */
	uint8_t cache, shared_config;
	uint16_t registers;
	uint32_t partitioned[2];
	uint64_t start_ns, end_ns; /* 0: not collected */
	uint64_t completed_ns;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t shared_static, shared_dynamic; /* bytes */
	uint32_t local_per_thread, local_total;
	uint32_t correlation; /* of the launch: goes up in the order of calls */
	int64_t grid_id;
	const char *name; /* mangled */
};
_Static_assert(offsetof(struct cupti_kernel, start_ns) == 16, "CUPTI's layout");
_Static_assert(offsetof(struct cupti_kernel, grid) == 52, "CUPTI's layout");
_Static_assert(offsetof(struct cupti_kernel, correlation) == 92, "CUPTI's layout");
_Static_assert(offsetof(struct cupti_kernel, name) == 104, "CUPTI's layout");

typedef void (*cupti_want_buffer)(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_records);
typedef void (*cupti_take_buffer)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				  size_t valid);

/* The calls, by the names that CUPTI has for them. */
struct cupti_calls {
	int (*cuptiSubscribe)(void **ret_subscriber, void *callback, void *closure);
	int (*cuptiUnsubscribe)(void *subscriber);
	int (*cuptiActivityRegisterCallbacks)(cupti_want_buffer want, cupti_take_buffer take);
	int (*cuptiActivityEnable)(uint32_t kind);
	int (*cuptiActivityDisable)(uint32_t kind);
	int (*cuptiActivityGetNextRecord)(uint8_t *buffer, size_t valid, void **record);
	int (*cuptiActivityFlushPeriod)(uint32_t ms);
};

#endif
