/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and kernels: attributes, occupancy, handles, libraries. */
#include "runtime.h"

static cudaError_t this_device(CUdevice *ret_handle)
{
	int ordinal;
	cudaError_t error = rt_current_device(&ordinal);

	if (error == cudaSuccess)
		*ret_handle = rt_device_handle(ordinal);
	return error;
}

struct size_attribute {
	CUfunction_attribute attribute;
	size_t offset;
};

static const struct size_attribute size_attributes[] = {
	{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, offsetof(struct cudaFuncAttributes, sharedSizeBytes)},
	{CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, offsetof(struct cudaFuncAttributes, constSizeBytes)},
	{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, offsetof(struct cudaFuncAttributes, localSizeBytes)},
};

#define INT_ATTRIBUTE(attribute, member) \
	{ \
		CU_FUNC_ATTRIBUTE_##attribute, offsetof(struct cudaFuncAttributes, member) \
	}
static const struct size_attribute int_attributes[] = {
	INT_ATTRIBUTE(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock),
	INT_ATTRIBUTE(NUM_REGS, numRegs),
	INT_ATTRIBUTE(PTX_VERSION, ptxVersion),
	INT_ATTRIBUTE(BINARY_VERSION, binaryVersion),
	INT_ATTRIBUTE(CACHE_MODE_CA, cacheModeCA),
	INT_ATTRIBUTE(MAX_DYNAMIC_SHARED_SIZE_BYTES, maxDynamicSharedSizeBytes),
	INT_ATTRIBUTE(PREFERRED_SHARED_MEMORY_CARVEOUT, preferredShmemCarveout),
	INT_ATTRIBUTE(CLUSTER_SIZE_MUST_BE_SET, clusterDimMustBeSet),
	INT_ATTRIBUTE(REQUIRED_CLUSTER_WIDTH, requiredClusterWidth),
	INT_ATTRIBUTE(REQUIRED_CLUSTER_HEIGHT, requiredClusterHeight),
	INT_ATTRIBUTE(REQUIRED_CLUSTER_DEPTH, requiredClusterDepth),
	INT_ATTRIBUTE(CLUSTER_SCHEDULING_POLICY_PREFERENCE, clusterSchedulingPolicyPreference),
	INT_ATTRIBUTE(NON_PORTABLE_CLUSTER_SIZE_ALLOWED, nonPortableClusterSizeAllowed),
};

static cudaError_t get_attributes(struct cudaFuncAttributes *ret, const void *symbol)
{
	const size_t sizes = sizeof(size_attributes) / sizeof(size_attributes[0]);
	const size_t ints = sizeof(int_attributes) / sizeof(int_attributes[0]);
	CUkernel kernel;
	CUdevice handle;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	if (error == cudaSuccess)
		error = this_device(&handle);
	if (error == cudaSuccess && !ret)
		error = cudaErrorInvalidValue;
	if (error != cudaSuccess)
		return error;
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < sizes + ints && error == cudaSuccess; i++) {
		const struct size_attribute *a =
			i < sizes ? &size_attributes[i] : &int_attributes[i - sizes];
		int value = 0;

		error = RT_CALL(RT_PLAIN, cuKernelGetAttribute, &value, a->attribute, kernel,
				handle);
		if (i < sizes)
			*(size_t *)((char *)ret + a->offset) = (size_t)value;
		else
			*(int *)((char *)ret + a->offset) = value;
	}
	return error;
}

RT_ENTRY(cudaFuncGetAttributes, (struct cudaFuncAttributes * attr, const void *func),
	 get_attributes(attr, func))

static cudaError_t set_kernel_attribute(CUkernel kernel, enum cudaFuncAttribute attribute,
					int value, CUdevice handle)
{
	if (attribute < cudaFuncAttributeMaxDynamicSharedMemorySize ||
	    attribute >= cudaFuncAttributeMax)
		return cudaErrorInvalidValue;
	return RT_CALL(RT_PLAIN, cuKernelSetAttribute, (CUfunction_attribute)attribute, value,
		       kernel, handle);
}

static cudaError_t set_attribute(const void *symbol, enum cudaFuncAttribute attribute, int value)
{
	CUkernel kernel;
	CUdevice handle;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	if (error == cudaSuccess)
		error = this_device(&handle);
	return error != cudaSuccess ? error
				    : set_kernel_attribute(kernel, attribute, value, handle);
}

RT_ENTRY(cudaFuncSetAttribute, (const void *func, enum cudaFuncAttribute attr, int value),
	 set_attribute(func, attr, value))

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
					    int value, int device)
{
	cudaError_t error = rt_enter();

	if (error == cudaSuccess)
		error = rt_check_device(device);
	if (error == cudaSuccess)
		error = set_kernel_attribute(kernel, attr, value, rt_device_handle(device));
	return rt_leave(error);
}

static cudaError_t set_cache_config(const void *symbol, enum cudaFuncCache config)
{
	CUkernel kernel;
	CUdevice handle;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	if (error == cudaSuccess)
		error = this_device(&handle);
	return error != cudaSuccess ? error
				    : RT_CALL(RT_PLAIN, cuKernelSetCacheConfig, kernel,
					      (CUfunc_cache)config, handle);
}

RT_ENTRY(cudaFuncSetCacheConfig, (const void *func, enum cudaFuncCache cacheConfig),
	 set_cache_config(func, cacheConfig))

static cudaError_t get_name(const char **name, const void *symbol)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	return error != cudaSuccess ? error : RT_CALL(RT_PLAIN, cuKernelGetName, name, kernel);
}

RT_ENTRY(cudaFuncGetName, (const char **name, const void *func), get_name(name, func))

static cudaError_t get_param_info(const void *symbol, size_t index, size_t *offset, size_t *size)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	return error != cudaSuccess
		       ? error
		       : RT_CALL(RT_PLAIN, cuKernelGetParamInfo, kernel, index, offset, size);
}

RT_ENTRY(cudaFuncGetParamInfo,
	 (const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize),
	 get_param_info(func, paramIndex, paramOffset, paramSize))

/* ---- occupancy ---- */

static cudaError_t max_blocks(int *ret_blocks, const void *symbol, int block_size,
			      size_t shared_bytes, unsigned int flags)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	return error != cudaSuccess
		       ? error
		       : RT_CALL(RT_PLAIN, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
				 ret_blocks, (CUfunction)kernel, block_size, shared_bytes, flags);
}

RT_ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
	 (int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize),
	 max_blocks(numBlocks, func, blockSize, dynamicSMemSize, 0))
RT_ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
	 (int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize,
	  unsigned int flags),
	 max_blocks(numBlocks, func, blockSize, dynamicSMemSize, flags))

static cudaError_t available_shared(size_t *ret_bytes, const void *symbol, int blocks,
				    int block_size)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	return error != cudaSuccess ? error
				    : RT_CALL(RT_PLAIN, cuOccupancyAvailableDynamicSMemPerBlock,
					      ret_bytes, (CUfunction)kernel, blocks, block_size);
}

RT_ENTRY(cudaOccupancyAvailableDynamicSMemPerBlock,
	 (size_t * dynamicSmemSize, const void *func, int numBlocks, int blockSize),
	 available_shared(dynamicSmemSize, func, numBlocks, blockSize))

/* ---- handles and libraries ---- */

static cudaError_t get_kernel(cudaKernel_t *ret_kernel, const void *symbol)
{
	cudaError_t error = rt_kernel_of(symbol, ret_kernel);

	if (error == cudaSuccess)
		rt_kernel_remember(*ret_kernel);
	return error;
}

RT_ENTRY(cudaGetKernel, (cudaKernel_t * kernelPtr, const void *entryFuncAddr),
	 get_kernel(kernelPtr, entryFuncAddr))

static cudaError_t get_function(cudaFunction_t *ret_function, const void *symbol)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel_of(symbol, &kernel);

	if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuKernelGetFunction, ret_function, kernel);
	if (error == cudaSuccess)
		rt_kernel_remember(*ret_function);
	return error;
}

RT_ENTRY(cudaGetFuncBySymbol, (cudaFunction_t * functionPtr, const void *symbolPtr),
	 get_function(functionPtr, symbolPtr))

/* Options of both levels have the same numbers. */
RT_FORWARD(cudaLibraryLoadData,
	   (cudaLibrary_t * library, const void *code, enum cudaJitOption *jitOptions,
	    void **jitOptionsValues, unsigned int numJitOptions,
	    enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
	    unsigned int numLibraryOptions),
	   cuLibraryLoadData, library, code, (CUjit_option *)jitOptions, jitOptionsValues,
	   numJitOptions, (CUlibraryOption *)libraryOptions, libraryOptionValues, numLibraryOptions)
RT_FORWARD(cudaLibraryLoadFromFile,
	   (cudaLibrary_t * library, const char *fileName, enum cudaJitOption *jitOptions,
	    void **jitOptionsValues, unsigned int numJitOptions,
	    enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
	    unsigned int numLibraryOptions),
	   cuLibraryLoadFromFile, library, fileName, (CUjit_option *)jitOptions, jitOptionsValues,
	   numJitOptions, (CUlibraryOption *)libraryOptions, libraryOptionValues, numLibraryOptions)
RT_FORWARD(cudaLibraryUnload, (cudaLibrary_t library), cuLibraryUnload, library)
RT_FORWARD(cudaLibraryGetGlobal,
	   (void **dptr, size_t *bytes, cudaLibrary_t library, const char *name),
	   cuLibraryGetGlobal, (CUdeviceptr *)dptr, bytes, library, name)
RT_FORWARD(cudaLibraryGetManaged,
	   (void **dptr, size_t *bytes, cudaLibrary_t library, const char *name),
	   cuLibraryGetManaged, (CUdeviceptr *)dptr, bytes, library, name)
RT_FORWARD(cudaLibraryGetUnifiedFunction, (void **fptr, cudaLibrary_t library, const char *symbol),
	   cuLibraryGetUnifiedFunction, fptr, library, symbol)
RT_FORWARD(cudaLibraryGetKernelCount, (unsigned int *count, cudaLibrary_t lib),
	   cuLibraryGetKernelCount, count, lib)

static cudaError_t library_kernel(cudaKernel_t *ret_kernel, cudaLibrary_t library, const char *name)
{
	cudaError_t error = RT_CALL(RT_PLAIN, cuLibraryGetKernel, ret_kernel, library, name);

	if (error == cudaSuccess)
		rt_kernel_remember(*ret_kernel);
	return error;
}

RT_ENTRY(cudaLibraryGetKernel, (cudaKernel_t * pKernel, cudaLibrary_t library, const char *name),
	 library_kernel(pKernel, library, name))

static cudaError_t library_kernels(cudaKernel_t *kernels, unsigned int count, cudaLibrary_t library)
{
	cudaError_t error = RT_CALL(RT_PLAIN, cuLibraryEnumerateKernels, kernels, count, library);

	for (unsigned int i = 0; error == cudaSuccess && i < count && kernels[i]; i++)
		rt_kernel_remember(kernels[i]);
	return error;
}

RT_ENTRY(cudaLibraryEnumerateKernels,
	 (cudaKernel_t * kernels, unsigned int numKernels, cudaLibrary_t lib),
	 library_kernels(kernels, numKernels, lib))
