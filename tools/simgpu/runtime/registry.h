/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_RUNTIME_REGISTRY_H
#define SIMGPU_RUNTIME_REGISTRY_H

/*
 * The registration glue that nvcc writes into every program, as crt/host_runtime.h and
 * crt/device_functions.h declare it for C++. Called before main, and at exit. A program is loaded
 * into the driver at the first use of one of its symbols.
 */
#include "runtime.h"

#pragma GCC visibility push(default)
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
			    int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int ext,
		       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *address, const char *name, int ext,
			      size_t size, int constant, int global);
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size);
void __cudaRegisterUnifiedTable(void **handle, void *table);
char __cudaInitModule(void **handle);
cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
			       size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				    size_t shared_bytes, cudaStream_t stream);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
					 struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaGetProcAddress(const char *name, void **ret_address, int version,
				 unsigned long long flags);
#pragma GCC visibility pop

#endif
