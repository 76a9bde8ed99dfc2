/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_RUNTIME_H
#define SIMGPU_RUNTIME_H

/*
 * What the files of our libcudart.so.13 know of one another. The runtime API is a thin layer over
 * the driver API: it finds libcuda.so.1 at run time as NVIDIA's does, makes the primary context
 * current on first use, registers fat binaries, and translates.
 *
 * Every entry is rt_enter(), the work, rt_leave(). All of it may be called from any thread; the
 * registry has its own lock, the rest is per thread (current device, last error, launch
 * configuration) or set once. Driver and runtime error numbers agree, so a CUresult is a
 * cudaError_t. Names that no file defines are refused by the generated weak entries.
 */

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop
#include <stdbool.h>
#include <stdint.h>

#define RT_MAX_DEVICES 64

/* [0] has the legacy default stream's entries, [1] the per-thread default stream's where there
 * are any. A member is NULL where the driver does not have the entry. */
struct rt_driver {
#define DRV(field, entry, version) __typeof__(&entry) field;
#define DRV_BOTH(field, entry, version, version_pt) __typeof__(&entry) field;
#include "driver.def"
#undef DRV
#undef DRV_BOTH
};
extern struct rt_driver rt_driver[2];
#define RT_PLAIN (&rt_driver[0])
#define RT_PER_THREAD (&rt_driver[1])

#define RT_CALL(table, field, ...) \
	((table)->field ? (cudaError_t)(table)->field(__VA_ARGS__) \
			: cudaErrorCallRequiresNewerDriver)

/* ---- load.c ---- */

/* Finds the driver and initializes it, once per process; the same answer ever after. */
cudaError_t rt_load(void);
/* Only the entries, without cuInit. */
cudaError_t rt_bind(void);
int rt_device_count(void);
CUdevice rt_device_handle(int ordinal);
/* Prints "simgpu: NAME is not modelled", once per name. */
cudaError_t rt_refuse(const char *name);

/* ---- context.c ---- */

/* The driver is there and the calling thread has a context. */
cudaError_t rt_enter(void);
/* Remembers an error for cudaGetLastError; returns it. */
cudaError_t rt_leave(cudaError_t error);
/* The primary context of a device, retained. */
cudaError_t rt_primary(int ordinal, CUcontext *ret_context);
cudaError_t rt_current_device(int *ret_ordinal);
cudaError_t rt_check_device(int ordinal);
/* The last fat binary is gone: gives primary contexts back. */
void rt_release_primaries(void);

/* ---- registry.c ---- */

struct rt_function;
struct rt_function *rt_function_find(const void *host);
/* Loads the function's library at first use. */
cudaError_t rt_function_kernel(struct rt_function *function, CUkernel *ret_kernel);
/* A host stub's address, or a handle that rt_kernel_remember was told of. */
cudaError_t rt_kernel_of(const void *symbol, CUkernel *ret_kernel);
void rt_kernel_remember(const void *handle);
/* The stub's address of a kernel or function handle, or the handle itself. */
const void *rt_host_of_kernel(CUkernel handle);
/* A __device__, __constant__ or __managed__ variable. */
cudaError_t rt_symbol_of(const void *symbol, CUdeviceptr *ret_address, size_t *ret_bytes);

/* ---- copy.c ---- */

cudaError_t rt_memory_types(enum cudaMemcpyKind kind, CUmemorytype *ret_source,
			    CUmemorytype *ret_target);
cudaError_t rt_copy3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret_copy);
cudaError_t rt_copy3d_back(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *ret_p);

/* An entry that is one expression, in a context. */
#define RT_ENTRY(name, params, expression) \
	cudaError_t CUDARTAPI name params \
	{ \
		cudaError_t error = rt_enter(); \
		return rt_leave(error != cudaSuccess ? error : (expression)); \
	}
/* An entry that is one call of the driver. */
#define RT_FORWARD(name, params, field, ...) \
	RT_ENTRY(name, params, RT_CALL(RT_PLAIN, field, __VA_ARGS__))
/* Both forms of an entry whose default stream differs; impl(table, ...). */
#define RT_BOTH(name, suffix, params, impl, ...) \
	RT_ENTRY(name, params, impl(RT_PLAIN, __VA_ARGS__)) \
	RT_ENTRY(name##suffix, params, impl(RT_PER_THREAD, __VA_ARGS__))
#define RT_FORWARD_BOTH(name, suffix, params, field, ...) \
	RT_ENTRY(name, params, RT_CALL(RT_PLAIN, field, __VA_ARGS__)) \
	RT_ENTRY(name##suffix, params, RT_CALL(RT_PER_THREAD, field, __VA_ARGS__))

#endif
