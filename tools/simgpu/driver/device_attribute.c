/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Device attributes. What the description gives is answered from it; features that the simulated
 * device lacks are answered 0, so that programs take their other path; texture limits and the like
 * are those of current devices.
 */

#include "driver/device_attribute.h"

#define MEMORY_BUS_BITS 5120
#define DEFAULT_SHARED (48 << 10)
#define RESERVED_SHARED (1 << 10) /* per block, by the driver, since compute capability 8.0 */

#define A(name) CU_DEVICE_ATTRIBUTE_##name

struct constant {
	CUdevice_attribute attribute;
	int value;
};

/* The same for every device of ours. Those of no row here and no case below are 0. */
static const struct constant constants[] = {
	{A(MAX_THREADS_PER_BLOCK), 1024},
	{A(MAX_BLOCK_DIM_X), 1024},
	{A(MAX_BLOCK_DIM_Y), 1024},
	{A(MAX_BLOCK_DIM_Z), 64},
	{A(MAX_GRID_DIM_X), 2147483647},
	{A(MAX_GRID_DIM_Y), 65535},
	{A(MAX_GRID_DIM_Z), 65535},
	{A(TOTAL_CONSTANT_MEMORY), 65536},
	{A(WARP_SIZE), 32},
	{A(MAX_PITCH), 2147483647},
	{A(TEXTURE_ALIGNMENT), 512},
	{A(GPU_OVERLAP), 1},
	{A(CAN_MAP_HOST_MEMORY), 1},
	{A(MAXIMUM_TEXTURE1D_WIDTH), 131072},
	{A(MAXIMUM_TEXTURE2D_WIDTH), 131072},
	{A(MAXIMUM_TEXTURE2D_HEIGHT), 65536},
	{A(MAXIMUM_TEXTURE3D_WIDTH), 16384},
	{A(MAXIMUM_TEXTURE3D_HEIGHT), 16384},
	{A(MAXIMUM_TEXTURE3D_DEPTH), 16384},
	{A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH), 32768},
	{A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT), 32768},
	{A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS), 2048},
	{A(SURFACE_ALIGNMENT), 512},
	{A(CONCURRENT_KERNELS), 1},
	{A(ECC_ENABLED), 1},
	{A(GLOBAL_MEMORY_BUS_WIDTH), MEMORY_BUS_BITS},
	{A(UNIFIED_ADDRESSING), 1},
	{A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH), 32768},
	{A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS), 2048},
	{A(MAXIMUM_TEXTURE2D_GATHER_WIDTH), 32768},
	{A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT), 32768},
	{A(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE), 8192},
	{A(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE), 8192},
	{A(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE), 32768},
	{A(TEXTURE_PITCH_ALIGNMENT), 32},
	{A(MAXIMUM_TEXTURECUBEMAP_WIDTH), 32768},
	{A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH), 32768},
	{A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS), 2046},
	{A(MAXIMUM_SURFACE1D_WIDTH), 32768},
	{A(MAXIMUM_SURFACE2D_WIDTH), 131072},
	{A(MAXIMUM_SURFACE2D_HEIGHT), 65536},
	{A(MAXIMUM_SURFACE3D_WIDTH), 16384},
	{A(MAXIMUM_SURFACE3D_HEIGHT), 16384},
	{A(MAXIMUM_SURFACE3D_DEPTH), 16384},
	{A(MAXIMUM_SURFACE1D_LAYERED_WIDTH), 32768},
	{A(MAXIMUM_SURFACE1D_LAYERED_LAYERS), 2048},
	{A(MAXIMUM_SURFACE2D_LAYERED_WIDTH), 32768},
	{A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT), 32768},
	{A(MAXIMUM_SURFACE2D_LAYERED_LAYERS), 2048},
	{A(MAXIMUM_SURFACECUBEMAP_WIDTH), 32768},
	{A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH), 32768},
	{A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS), 2046},
	{A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH), 268435456},
	{A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH), 131072},
	{A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT), 65000},
	{A(MAXIMUM_TEXTURE2D_LINEAR_PITCH), 2097120},
	{A(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH), 32768},
	{A(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT), 32768},
	{A(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH), 32768},
	{A(STREAM_PRIORITIES_SUPPORTED), 1},
	{A(GLOBAL_L1_CACHE_SUPPORTED), 1},
	{A(LOCAL_L1_CACHE_SUPPORTED), 1},
	{A(MANAGED_MEMORY), 1},
	{A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO), 2},
	{A(CONCURRENT_MANAGED_ACCESS), 1},
	{A(COMPUTE_PREEMPTION_SUPPORTED), 1},
	{A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), 1},
	{A(CAN_USE_STREAM_MEM_OPS_V1), 1},
	{A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1), 1},
	{A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1), 1},
	{A(COOPERATIVE_LAUNCH), 1},
	{A(HOST_REGISTER_SUPPORTED), 1},
	{A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1},
	{A(MEMORY_POOLS_SUPPORTED), 1},
	{A(CAN_USE_64_BIT_STREAM_MEM_OPS), 1},
	{A(CAN_USE_STREAM_WAIT_VALUE_NOR), 1},
	{A(MEM_SYNC_DOMAIN_COUNT), 1},
	{A(NUMA_ID), -1},
	{A(HOST_NUMA_ID), -1},
};

static int l2_bytes(const struct model_desc *desc)
{
	if (desc->cc_major >= 9)
		return 50 << 20;
	if (desc->cc_major == 8)
		return desc->cc_minor == 9 ? 48 << 20 : 40 << 20;
	return 6 << 20;
}

int device_attribute_shared_default(const struct model_desc *desc)
{
	return desc->smem_per_block_bytes < DEFAULT_SHARED ? (int)desc->smem_per_block_bytes
							   : DEFAULT_SHARED;
}

int device_attribute_shared_reserved(const struct model_desc *desc)
{
	return desc->cc_major >= 8 ? RESERVED_SHARED : 0;
}

/* Such that twice the clock times the bus width is the bandwidth. */
static int memory_khz(const struct model_desc *desc)
{
	return (int)(desc->memory_bytes_per_us * 1000 / (2 * (MEMORY_BUS_BITS / 8)));
}

static int from_description(const struct sim_device *device, CUdevice_attribute attribute)
{
	const struct model_desc *desc = &device->desc;

	switch ((int)attribute) {
	case A(MAX_SHARED_MEMORY_PER_BLOCK): return device_attribute_shared_default(desc);
	case A(MAX_REGISTERS_PER_BLOCK): return (int)desc->regs_per_sm;
	case A(CLOCK_RATE): return (int)desc->clock_khz;
	case A(MULTIPROCESSOR_COUNT): return (int)desc->sms;
	case A(PCI_BUS_ID): return device->physical + 1;
	case A(MEMORY_CLOCK_RATE): return memory_khz(desc);
	case A(L2_CACHE_SIZE): return l2_bytes(desc);
	case A(MAX_THREADS_PER_MULTIPROCESSOR): return (int)desc->threads_per_sm;
	case A(ASYNC_ENGINE_COUNT): return (int)desc->copy_engines;
	case A(COMPUTE_CAPABILITY_MAJOR): return (int)desc->cc_major;
	case A(COMPUTE_CAPABILITY_MINOR): return (int)desc->cc_minor;
	case A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR): return (int)desc->smem_per_sm_bytes;
	case A(MAX_REGISTERS_PER_MULTIPROCESSOR): return (int)desc->regs_per_sm;
	case A(MULTI_GPU_BOARD_GROUP_ID): return device->physical;
	case A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN): return (int)desc->smem_per_block_bytes;
	case A(MAX_BLOCKS_PER_MULTIPROCESSOR): return (int)desc->blocks_per_sm;
	case A(RESERVED_SHARED_MEMORY_PER_BLOCK): return device_attribute_shared_reserved(desc);
	case A(MPS_ENABLED): return desc->mps != 0;
	default: return 0;
	}
}

int device_attribute_get(const struct sim_device *device, CUdevice_attribute attribute)
{
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		if (constants[i].attribute == attribute)
			return constants[i].value;
	return from_description(device, attribute);
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!pi || (int)attrib < 1 || attrib >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!state_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*pi = device_attribute_get(state_device(dev), attrib);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	const struct sim_device *device;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	device = state_device(dev);
	if (!prop)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	prop->maxThreadsPerBlock = device_attribute_get(device, A(MAX_THREADS_PER_BLOCK));
	for (int i = 0; i < 3; i++) {
		prop->maxThreadsDim[i] = device_attribute_get(device, A(MAX_BLOCK_DIM_X) + i);
		prop->maxGridSize[i] = device_attribute_get(device, A(MAX_GRID_DIM_X) + i);
	}
	prop->sharedMemPerBlock = device_attribute_get(device, A(MAX_SHARED_MEMORY_PER_BLOCK));
	prop->totalConstantMemory = device_attribute_get(device, A(TOTAL_CONSTANT_MEMORY));
	prop->SIMDWidth = device_attribute_get(device, A(WARP_SIZE));
	prop->memPitch = device_attribute_get(device, A(MAX_PITCH));
	prop->regsPerBlock = device_attribute_get(device, A(MAX_REGISTERS_PER_BLOCK));
	prop->clockRate = device_attribute_get(device, A(CLOCK_RATE));
	prop->textureAlign = device_attribute_get(device, A(TEXTURE_ALIGNMENT));
	return CUDA_SUCCESS;
}

/* A linear texture holds 2^28 elements at most, less where they are wide. */
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, CUarray_format format,
					    unsigned numChannels, CUdevice dev)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!maxWidthInElements || (numChannels != 1 && numChannels != 2 && numChannels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	if (!state_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*maxWidthInElements = (size_t)1 << 28;
	return CUDA_SUCCESS;
}
