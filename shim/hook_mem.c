/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain, pitched and managed memory. Managed memory is charged in full to the device that is
 * current when it is made, wherever its pages are at a time. The entries without a version suffix
 * are those of CUDA before 3.2, with 32-bit addresses.
 */
#include "mem.h"

/* What drivers round a row to; what they really took is charged after the call. */
#define PITCH_ALIGN 512u

CUresult CUDAAPI cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytesize)
{
	MEM_ALLOC_HOOK(MEM_CONTEXT, mem_place_current(), bytesize, real.cuMemAlloc(dptr, bytesize),
		       *dptr);
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	MEM_ALLOC_HOOK(MEM_CONTEXT, mem_place_current(), bytesize,
		       real.cuMemAlloc_v2(dptr, bytesize), *dptr);
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	MEM_ALLOC_HOOK(MEM_CONTEXT, mem_place_current(), bytesize,
		       real.cuMemAllocManaged(dptr, bytesize, flags), *dptr);
}

/* Saturates: no quota holds it, and the driver refuses it as well. */
static uint64_t pitched_bytes(uint64_t pitch, uint64_t height)
{
	uint64_t bytes;

	return __builtin_mul_overflow(pitch, height, &bytes) ? UINT64_MAX : bytes;
}

static uint64_t pitch_guess(uint64_t width)
{
	uint64_t padded;

	return __builtin_add_overflow(width, PITCH_ALIGN - 1, &padded)
		       ? UINT64_MAX
		       : padded / PITCH_ALIGN * PITCH_ALIGN;
}

/* After a pitched allocation: the charge becomes what was taken, or the memory goes back. */
static CUresult pitched_book(struct mem_charge *charge, CUdeviceptr address, uint64_t bytes)
{
	CUresult result = mem_recharge(charge, bytes);

	if (result == CUDA_SUCCESS) {
		mem_book(charge, address);
		return CUDA_SUCCESS;
	}
	(void)real.cuMemFree_v2(address);
	mem_refund(charge);
	return result;
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
				    size_t Height, unsigned int ElementSizeBytes)
{
	struct mem_charge charge;
	CUresult result;

	if (!shim_enter())
		return real.cuMemAllocPitch_v2(dptr, pPitch, WidthInBytes, Height,
					       ElementSizeBytes);
	result = mem_charge(&charge, MEM_CONTEXT, mem_place_current(),
			    pitched_bytes(pitch_guess(WidthInBytes), Height));
	if (result == CUDA_SUCCESS) {
		result = real.cuMemAllocPitch_v2(dptr, pPitch, WidthInBytes, Height,
						 ElementSizeBytes);
		if (result == CUDA_SUCCESS)
			result = pitched_book(&charge, *dptr, pitched_bytes(*pPitch, Height));
		else
			mem_refund(&charge);
	}
	shim_leave();
	return result;
}

CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr_v1 *dptr, unsigned int *pPitch,
				 unsigned int WidthInBytes, unsigned int Height,
				 unsigned int ElementSizeBytes)
{
	struct mem_charge charge;
	CUresult result;

	if (!shim_enter())
		return real.cuMemAllocPitch(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
	result = mem_charge(&charge, MEM_CONTEXT, mem_place_current(),
			    pitched_bytes(pitch_guess(WidthInBytes), Height));
	if (result == CUDA_SUCCESS) {
		result = real.cuMemAllocPitch(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
		if (result == CUDA_SUCCESS)
			result = pitched_book(&charge, *dptr, pitched_bytes(*pPitch, Height));
		else
			mem_refund(&charge);
	}
	shim_leave();
	return result;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr_v1 dptr)
{
	MEM_FREE_HOOK(MEM_CONTEXT, dptr, real.cuMemFree(dptr));
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
	MEM_FREE_HOOK(MEM_CONTEXT, dptr, real.cuMemFree_v2(dptr));
}
