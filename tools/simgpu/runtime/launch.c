/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"

/*
 * What __cudaGetKernel hands to the compiler's stub is kept by it in a static variable and comes
 * back in __cudaLaunchKernel: our function with this bit set, so that a failed load is reported
 * by every launch. Without the bit it is a kernel handle of the public API.
 */
#define GLUE_BIT ((uintptr_t)1)

#define CALL_DEPTH 8

static __thread struct call {
	dim3 grid, block;
	size_t shared_bytes;
	struct CUstream_st *stream;
} calls[CALL_DEPTH];
static __thread unsigned int depth;

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
					 struct CUstream_st *stream)
{
	if (depth == CALL_DEPTH)
		return 1;
	calls[depth++] = (struct call){grid, block, shared_bytes, stream};
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
	const struct call *call;

	if (depth == 0)
		return rt_leave(cudaErrorMissingConfiguration);
	call = &calls[--depth];
	*grid = call->grid;
	*block = call->block;
	*shared_bytes = call->shared_bytes;
	*(struct CUstream_st **)stream = call->stream;
	return cudaSuccess;
}

static cudaError_t launch(const struct rt_driver *d, CUkernel kernel, dim3 grid, dim3 block,
			  void **args, size_t shared_bytes, cudaStream_t stream)
{
	if (shared_bytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	return RT_CALL(d, cuLaunchKernel, (CUfunction)kernel, grid.x, grid.y, grid.z, block.x,
		       block.y, block.z, (unsigned int)shared_bytes, stream, args, NULL);
}

static cudaError_t launch_glue(const struct rt_driver *d, cudaKernel_t handle, dim3 grid,
			       dim3 block, void **args, size_t shared_bytes, cudaStream_t stream)
{
	CUkernel kernel = handle;
	cudaError_t error = cudaSuccess;

	if (!handle)
		return cudaErrorInvalidDeviceFunction;
	if ((uintptr_t)handle & GLUE_BIT)
		error = rt_function_kernel((struct rt_function *)((uintptr_t)handle & ~GLUE_BIT),
					   &kernel);
	return error != cudaSuccess ? error
				    : launch(d, kernel, grid, block, args, shared_bytes, stream);
}

cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host)
{
	struct rt_function *function = rt_function_find(host);

	if (!function)
		return rt_leave(cudaErrorInvalidDeviceFunction);
	*ret_kernel = (cudaKernel_t)((uintptr_t)function | GLUE_BIT);
	return cudaSuccess;
}

RT_BOTH(__cudaLaunchKernel, _ptsz,
	(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
	 cudaStream_t stream),
	launch_glue, kernel, grid, block, args, shared_bytes, stream)

static cudaError_t launch_symbol(const struct rt_driver *d, const void *symbol, dim3 grid,
				 dim3 block, void **args, size_t shared_bytes, cudaStream_t stream)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	return error != cudaSuccess ? error
				    : launch(d, kernel, grid, block, args, shared_bytes, stream);
}

RT_BOTH(cudaLaunchKernel, _ptsz,
	(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
	 cudaStream_t stream),
	launch_symbol, func, gridDim, blockDim, args, sharedMem, stream)

static cudaError_t launch_cooperative(const struct rt_driver *d, const void *symbol, dim3 grid,
				      dim3 block, void **args, size_t shared_bytes,
				      cudaStream_t stream)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	if (error == cudaSuccess && shared_bytes > UINT32_MAX)
		error = cudaErrorInvalidValue;
	if (error != cudaSuccess)
		return error;
	return RT_CALL(d, cuLaunchCooperativeKernel, (CUfunction)kernel, grid.x, grid.y, grid.z,
		       block.x, block.y, block.z, (unsigned int)shared_bytes, stream, args);
}

RT_BOTH(cudaLaunchCooperativeKernel, _ptsz,
	(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
	 cudaStream_t stream),
	launch_cooperative, func, gridDim, blockDim, args, sharedMem, stream)

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "same launch attributes");

static CUlaunchConfig to_driver_config(const cudaLaunchConfig_t *config)
{
	return (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
		.hStream = config->stream,
		.attrs = (CUlaunchAttribute *)config->attrs,
		.numAttrs = config->numAttrs,
	};
}

static cudaError_t launch_ex(const struct rt_driver *d, const cudaLaunchConfig_t *config,
			     const void *symbol, void **args)
{
	CUlaunchConfig driver_config;
	CUkernel kernel;
	cudaError_t error;

	if (!config || config->dynamicSmemBytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	error = rt_kernel_of(symbol, &kernel);
	if (error != cudaSuccess)
		return error;
	driver_config = to_driver_config(config);
	return RT_CALL(d, cuLaunchKernelEx, &driver_config, (CUfunction)kernel, args, NULL);
}

RT_BOTH(cudaLaunchKernelExC, _ptsz,
	(const cudaLaunchConfig_t *config, const void *func, void **args), launch_ex, config, func,
	args)

RT_FORWARD_BOTH(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t fn, void *userData),
		cuLaunchHostFunc, stream, fn, userData)

/* ---- clusters: the configuration form of occupancy ---- */

static cudaError_t cluster_size(int *ret_size, const void *symbol, const cudaLaunchConfig_t *config)
{
	CUlaunchConfig driver_config = to_driver_config(config);
	CUkernel kernel;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	return error != cudaSuccess ? error
				    : RT_CALL(RT_PLAIN, cuOccupancyMaxPotentialClusterSize,
					      ret_size, (CUfunction)kernel, &driver_config);
}

RT_ENTRY(cudaOccupancyMaxPotentialClusterSize,
	 (int *clusterSize, const void *func, const cudaLaunchConfig_t *launchConfig),
	 cluster_size(clusterSize, func, launchConfig))

static cudaError_t clusters(int *ret_clusters, const void *symbol, const cudaLaunchConfig_t *config)
{
	CUlaunchConfig driver_config = to_driver_config(config);
	CUkernel kernel;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	return error != cudaSuccess ? error
				    : RT_CALL(RT_PLAIN, cuOccupancyMaxActiveClusters, ret_clusters,
					      (CUfunction)kernel, &driver_config);
}

RT_ENTRY(cudaOccupancyMaxActiveClusters,
	 (int *numClusters, const void *func, const cudaLaunchConfig_t *launchConfig),
	 clusters(numClusters, func, launchConfig))
