/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays and mipmapped arrays, charged by their descriptors (mem_array.h). A sparse or deferred
 * one costs nothing: what is mapped into it was charged when it was created.
 */
#include "mem.h"
#include "mem_array.h"

/* The most that a 2^32 wide array has. */
#define MAX_LEVELS 33u

static uint64_t bytes_2d(const CUDA_ARRAY_DESCRIPTOR *array)
{
	CUDA_ARRAY3D_DESCRIPTOR full;

	if (!array)
		return 0;
	full = (CUDA_ARRAY3D_DESCRIPTOR){.Width = array->Width,
					 .Height = array->Height,
					 .Format = array->Format,
					 .NumChannels = array->NumChannels};
	return mem_array_bytes(&full, 1);
}

static uint64_t bytes_2d_v1(const CUDA_ARRAY_DESCRIPTOR_v1 *array)
{
	CUDA_ARRAY_DESCRIPTOR full;

	if (!array)
		return 0;
	full = (CUDA_ARRAY_DESCRIPTOR){.Width = array->Width,
				       .Height = array->Height,
				       .Format = array->Format,
				       .NumChannels = array->NumChannels};
	return bytes_2d(&full);
}

static uint64_t bytes_3d(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned int levels)
{
	if (!array)
		return 0;
	return mem_array_bytes(array, levels < MAX_LEVELS ? levels : MAX_LEVELS);
}

static uint64_t bytes_3d_v1(const CUDA_ARRAY3D_DESCRIPTOR_v1 *array)
{
	CUDA_ARRAY3D_DESCRIPTOR full;

	if (!array)
		return 0;
	full = (CUDA_ARRAY3D_DESCRIPTOR){.Width = array->Width,
					 .Height = array->Height,
					 .Depth = array->Depth,
					 .Format = array->Format,
					 .NumChannels = array->NumChannels,
					 .Flags = array->Flags};
	return mem_array_bytes(&full, 1);
}

CUresult CUDAAPI cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *pAllocateArray)
{
	MEM_ALLOC_HOOK(MEM_ARRAY, mem_place_current(), bytes_2d_v1(pAllocateArray),
		       real.cuArrayCreate(pHandle, pAllocateArray), (uintptr_t)*pHandle);
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
	MEM_ALLOC_HOOK(MEM_ARRAY, mem_place_current(), bytes_2d(pAllocateArray),
		       real.cuArrayCreate_v2(pHandle, pAllocateArray), (uintptr_t)*pHandle);
}

CUresult CUDAAPI cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *pAllocateArray)
{
	MEM_ALLOC_HOOK(MEM_ARRAY, mem_place_current(), bytes_3d_v1(pAllocateArray),
		       real.cuArray3DCreate(pHandle, pAllocateArray), (uintptr_t)*pHandle);
}

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
	MEM_ALLOC_HOOK(MEM_ARRAY, mem_place_current(), bytes_3d(pAllocateArray, 1),
		       real.cuArray3DCreate_v2(pHandle, pAllocateArray), (uintptr_t)*pHandle);
}

CUresult CUDAAPI cuArrayDestroy(CUarray hArray)
{
	MEM_FREE_HOOK(MEM_ARRAY, (uintptr_t)hArray, real.cuArrayDestroy(hArray));
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
					const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
					unsigned int numMipmapLevels)
{
	MEM_ALLOC_HOOK(MEM_ARRAY, mem_place_current(),
		       bytes_3d(pMipmappedArrayDesc, numMipmapLevels),
		       real.cuMipmappedArrayCreate(pHandle, pMipmappedArrayDesc, numMipmapLevels),
		       (uintptr_t)*pHandle);
}

CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
	MEM_FREE_HOOK(MEM_ARRAY, (uintptr_t)hMipmappedArray,
		      real.cuMipmappedArrayDestroy(hMipmappedArray));
}
