/* SPDX-License-Identifier: Apache-2.0 */
/* cudaDeviceProp from the driver's attributes, and the device nearest to a wish. */
#include "runtime.h"

struct property {
	CUdevice_attribute attribute;
	uint16_t offset;
	uint16_t bytes;
};

#define P(ATTRIBUTE, member) \
	{ \
		CU_DEVICE_ATTRIBUTE_##ATTRIBUTE, offsetof(struct cudaDeviceProp, member), \
			sizeof(((struct cudaDeviceProp *)NULL)->member) \
	}

static const struct property property[] = {
	P(MAX_SHARED_MEMORY_PER_BLOCK, sharedMemPerBlock),
	P(MAX_REGISTERS_PER_BLOCK, regsPerBlock),
	P(WARP_SIZE, warpSize),
	P(MAX_PITCH, memPitch),
	P(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock),
	P(MAX_BLOCK_DIM_X, maxThreadsDim[0]),
	P(MAX_BLOCK_DIM_Y, maxThreadsDim[1]),
	P(MAX_BLOCK_DIM_Z, maxThreadsDim[2]),
	P(MAX_GRID_DIM_X, maxGridSize[0]),
	P(MAX_GRID_DIM_Y, maxGridSize[1]),
	P(MAX_GRID_DIM_Z, maxGridSize[2]),
	P(TOTAL_CONSTANT_MEMORY, totalConstMem),
	P(COMPUTE_CAPABILITY_MAJOR, major),
	P(COMPUTE_CAPABILITY_MINOR, minor),
	P(TEXTURE_ALIGNMENT, textureAlignment),
	P(TEXTURE_PITCH_ALIGNMENT, texturePitchAlignment),
	P(MULTIPROCESSOR_COUNT, multiProcessorCount),
	P(INTEGRATED, integrated),
	P(CAN_MAP_HOST_MEMORY, canMapHostMemory),
	P(MAXIMUM_TEXTURE1D_WIDTH, maxTexture1D),
	P(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, maxTexture1DMipmap),
	P(MAXIMUM_TEXTURE2D_WIDTH, maxTexture2D[0]),
	P(MAXIMUM_TEXTURE2D_HEIGHT, maxTexture2D[1]),
	P(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, maxTexture2DMipmap[0]),
	P(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, maxTexture2DMipmap[1]),
	P(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, maxTexture2DLinear[0]),
	P(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, maxTexture2DLinear[1]),
	P(MAXIMUM_TEXTURE2D_LINEAR_PITCH, maxTexture2DLinear[2]),
	P(MAXIMUM_TEXTURE2D_GATHER_WIDTH, maxTexture2DGather[0]),
	P(MAXIMUM_TEXTURE2D_GATHER_HEIGHT, maxTexture2DGather[1]),
	P(MAXIMUM_TEXTURE3D_WIDTH, maxTexture3D[0]),
	P(MAXIMUM_TEXTURE3D_HEIGHT, maxTexture3D[1]),
	P(MAXIMUM_TEXTURE3D_DEPTH, maxTexture3D[2]),
	P(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE, maxTexture3DAlt[0]),
	P(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE, maxTexture3DAlt[1]),
	P(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE, maxTexture3DAlt[2]),
	P(MAXIMUM_TEXTURECUBEMAP_WIDTH, maxTextureCubemap),
	P(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, maxTexture1DLayered[0]),
	P(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, maxTexture1DLayered[1]),
	P(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, maxTexture2DLayered[0]),
	P(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, maxTexture2DLayered[1]),
	P(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, maxTexture2DLayered[2]),
	P(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, maxTextureCubemapLayered[0]),
	P(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, maxTextureCubemapLayered[1]),
	P(MAXIMUM_SURFACE1D_WIDTH, maxSurface1D),
	P(MAXIMUM_SURFACE2D_WIDTH, maxSurface2D[0]),
	P(MAXIMUM_SURFACE2D_HEIGHT, maxSurface2D[1]),
	P(MAXIMUM_SURFACE3D_WIDTH, maxSurface3D[0]),
	P(MAXIMUM_SURFACE3D_HEIGHT, maxSurface3D[1]),
	P(MAXIMUM_SURFACE3D_DEPTH, maxSurface3D[2]),
	P(MAXIMUM_SURFACE1D_LAYERED_WIDTH, maxSurface1DLayered[0]),
	P(MAXIMUM_SURFACE1D_LAYERED_LAYERS, maxSurface1DLayered[1]),
	P(MAXIMUM_SURFACE2D_LAYERED_WIDTH, maxSurface2DLayered[0]),
	P(MAXIMUM_SURFACE2D_LAYERED_HEIGHT, maxSurface2DLayered[1]),
	P(MAXIMUM_SURFACE2D_LAYERED_LAYERS, maxSurface2DLayered[2]),
	P(MAXIMUM_SURFACECUBEMAP_WIDTH, maxSurfaceCubemap),
	P(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH, maxSurfaceCubemapLayered[0]),
	P(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS, maxSurfaceCubemapLayered[1]),
	P(SURFACE_ALIGNMENT, surfaceAlignment),
	P(CONCURRENT_KERNELS, concurrentKernels),
	P(ECC_ENABLED, ECCEnabled),
	P(PCI_BUS_ID, pciBusID),
	P(PCI_DEVICE_ID, pciDeviceID),
	P(PCI_DOMAIN_ID, pciDomainID),
	P(TCC_DRIVER, tccDriver),
	P(ASYNC_ENGINE_COUNT, asyncEngineCount),
	P(UNIFIED_ADDRESSING, unifiedAddressing),
	P(GLOBAL_MEMORY_BUS_WIDTH, memoryBusWidth),
	P(L2_CACHE_SIZE, l2CacheSize),
	P(MAX_PERSISTING_L2_CACHE_SIZE, persistingL2CacheMaxSize),
	P(MAX_THREADS_PER_MULTIPROCESSOR, maxThreadsPerMultiProcessor),
	P(STREAM_PRIORITIES_SUPPORTED, streamPrioritiesSupported),
	P(GLOBAL_L1_CACHE_SUPPORTED, globalL1CacheSupported),
	P(LOCAL_L1_CACHE_SUPPORTED, localL1CacheSupported),
	P(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, sharedMemPerMultiprocessor),
	P(MAX_REGISTERS_PER_MULTIPROCESSOR, regsPerMultiprocessor),
	P(MANAGED_MEMORY, managedMemory),
	P(MULTI_GPU_BOARD, isMultiGpuBoard),
	P(MULTI_GPU_BOARD_GROUP_ID, multiGpuBoardGroupID),
	P(HOST_NATIVE_ATOMIC_SUPPORTED, hostNativeAtomicSupported),
	P(PAGEABLE_MEMORY_ACCESS, pageableMemoryAccess),
	P(CONCURRENT_MANAGED_ACCESS, concurrentManagedAccess),
	P(COMPUTE_PREEMPTION_SUPPORTED, computePreemptionSupported),
	P(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, canUseHostPointerForRegisteredMem),
	P(COOPERATIVE_LAUNCH, cooperativeLaunch),
	P(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, sharedMemPerBlockOptin),
	P(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, pageableMemoryAccessUsesHostPageTables),
	P(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, directManagedMemAccessFromHost),
	P(MAX_BLOCKS_PER_MULTIPROCESSOR, maxBlocksPerMultiProcessor),
	P(MAX_ACCESS_POLICY_WINDOW_SIZE, accessPolicyMaxWindowSize),
	P(RESERVED_SHARED_MEMORY_PER_BLOCK, reservedSharedMemPerBlock),
	P(HOST_REGISTER_SUPPORTED, hostRegisterSupported),
	P(SPARSE_CUDA_ARRAY_SUPPORTED, sparseCudaArraySupported),
	P(READ_ONLY_HOST_REGISTER_SUPPORTED, hostRegisterReadOnlySupported),
	P(TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, timelineSemaphoreInteropSupported),
	P(MEMORY_POOLS_SUPPORTED, memoryPoolsSupported),
	P(GPU_DIRECT_RDMA_SUPPORTED, gpuDirectRDMASupported),
	P(GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, gpuDirectRDMAFlushWritesOptions),
	P(GPU_DIRECT_RDMA_WRITES_ORDERING, gpuDirectRDMAWritesOrdering),
	P(MEMPOOL_SUPPORTED_HANDLE_TYPES, memoryPoolSupportedHandleTypes),
	P(DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, deferredMappingCudaArraySupported),
	P(IPC_EVENT_SUPPORTED, ipcEventSupported),
	P(CLUSTER_LAUNCH, clusterLaunch),
	P(UNIFIED_FUNCTION_POINTERS, unifiedFunctionPointers),
	P(NUMA_CONFIG, deviceNumaConfig),
	P(NUMA_ID, deviceNumaId),
	P(MPS_ENABLED, mpsEnabled),
	P(HOST_NUMA_ID, hostNumaId),
	P(GPU_PCI_DEVICE_ID, gpuPciDeviceID),
	P(GPU_PCI_SUBSYSTEM_ID, gpuPciSubsystemID),
	P(HOST_NUMA_MULTINODE_IPC_SUPPORTED, hostNumaMultinodeIpcSupported),
};

/* An attribute that the driver does not know is 0, as for a device without the feature. */
static cudaError_t read_property(const struct property *p, CUdevice handle,
				 struct cudaDeviceProp *ret)
{
	char *where = (char *)ret + p->offset;
	int value = 0;
	cudaError_t error = RT_CALL(RT_PLAIN, cuDeviceGetAttribute, &value, p->attribute, handle);

	if (error == cudaErrorInvalidValue || error == cudaErrorNotSupported)
		return cudaSuccess;
	if (p->bytes == sizeof(size_t))
		*(size_t *)where = (size_t)value;
	else
		*(int *)where = value;
	return error;
}

static cudaError_t read_properties(struct cudaDeviceProp *ret, int ordinal)
{
	CUdevice handle = rt_device_handle(ordinal);
	cudaError_t error;

	memset(ret, 0, sizeof(*ret));
	error = RT_CALL(RT_PLAIN, cuDeviceGetName, ret->name, sizeof(ret->name), handle);
	if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuDeviceGetUuid, &ret->uuid, handle);
	if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuDeviceTotalMem, &ret->totalGlobalMem, handle);
	for (size_t i = 0; i < sizeof(property) / sizeof(property[0]) && error == cudaSuccess; i++)
		error = read_property(&property[i], handle, ret);
	return error;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	cudaError_t error = rt_check_device(device);

	if (error == cudaSuccess && !prop)
		error = cudaErrorInvalidValue;
	return rt_leave(error != cudaSuccess ? error : read_properties(prop, device));
}

static int matches(const struct cudaDeviceProp *have, const struct cudaDeviceProp *want)
{
	int score = 0;

	if (want->major && have->major * 10 + have->minor >= want->major * 10 + want->minor)
		score += 8;
	if (want->totalGlobalMem && have->totalGlobalMem >= want->totalGlobalMem)
		score += 4;
	if (want->multiProcessorCount && have->multiProcessorCount >= want->multiProcessorCount)
		score += 2;
	if (want->name[0] && !strncmp(have->name, want->name, sizeof(have->name)))
		score += 1;
	return score;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
	struct cudaDeviceProp have;
	int best = -1;
	cudaError_t error = rt_load();

	if (error == cudaSuccess && (!device || !prop))
		error = cudaErrorInvalidValue;
	for (int i = 0; error == cudaSuccess && i < rt_device_count(); i++) {
		error = read_properties(&have, i);
		if (error == cudaSuccess && matches(&have, prop) > best) {
			best = matches(&have, prop);
			*device = i;
		}
	}
	return rt_leave(error);
}
