/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/copy_sides.h"

#include <string.h>

/* Mappings that lie side by side are one piece of memory, allocations never. */
static bool reaches(struct sim_range range, uint64_t end)
{
	uint64_t at;

	while ((at = range.base + range.size) < end)
		if (range.kind != SIM_VMM || !sim_memory_find(at, &range) || range.kind != SIM_VMM)
			return false;
	return true;
}

CUresult side_classify(struct work_side *side, enum side_need need, uint64_t width, uint64_t height,
		       uint64_t depth)
{
	uint64_t bytes = (depth - 1) * side->slice + (height - 1) * side->pitch + width;
	struct sim_range range;

	if (side->address == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_memory_find(side->address, &range)) {
		side->kind = SIM_PAGEABLE;
		return need == SIDE_DEVICE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	}
	side->kind = range.kind;
	if (bytes > UINT64_MAX - side->address || !reaches(range, side->address + bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

void side_2d_to_3d(const CUDA_MEMCPY2D *from, CUDA_MEMCPY3D *ret_copy)
{
	*ret_copy = (CUDA_MEMCPY3D){
		.srcXInBytes = from->srcXInBytes,
		.srcY = from->srcY,
		.srcMemoryType = from->srcMemoryType,
		.srcHost = from->srcHost,
		.srcDevice = from->srcDevice,
		.srcPitch = from->srcPitch,
		.dstXInBytes = from->dstXInBytes,
		.dstY = from->dstY,
		.dstMemoryType = from->dstMemoryType,
		.dstHost = from->dstHost,
		.dstDevice = from->dstDevice,
		.dstPitch = from->dstPitch,
		.WidthInBytes = from->WidthInBytes,
		.Height = from->Height,
		.Depth = 1,
	};
}

struct half {
	CUmemorytype type;
	uint64_t host, device, x, y, z, pitch, height;
};

static CUresult place(const char *call, const struct half *half, const CUDA_MEMCPY3D *copy,
		      struct work_side *ret_side)
{
	uint64_t pitch = half->pitch ? half->pitch : copy->WidthInBytes + half->x;
	uint64_t height = half->height ? half->height : copy->Height + half->y;
	enum side_need need = SIDE_ANY;

	if (half->type == CU_MEMORYTYPE_ARRAY)
		return sim_refuse(call, "arrays");
	if (half->type == CU_MEMORYTYPE_HOST)
		need = SIDE_HOST;
	else if (half->type == CU_MEMORYTYPE_DEVICE)
		need = SIDE_DEVICE;
	else if (half->type != CU_MEMORYTYPE_UNIFIED)
		return CUDA_ERROR_INVALID_VALUE;
	if (copy->Height > 1 && pitch < copy->WidthInBytes + half->x)
		return CUDA_ERROR_INVALID_VALUE;
	if (copy->Depth > 1 && height < copy->Height + half->y)
		return CUDA_ERROR_INVALID_VALUE;
	ret_side->pitch = pitch;
	ret_side->slice = pitch * height;
	ret_side->address = need == SIDE_HOST ? half->host : half->device;
	if (ret_side->address == 0)
		return CUDA_ERROR_INVALID_VALUE;
	ret_side->address += (half->z * height + half->y) * pitch + half->x;
	return side_classify(ret_side, need, copy->WidthInBytes, copy->Height, copy->Depth);
}

CUresult side_from_3d(const char *call, const CUDA_MEMCPY3D *copy, struct work *ret_work)
{
	struct half src, dst;
	struct work_copy *to = &ret_work->copy;
	CUresult result;

	if (copy->srcLOD != 0 || copy->dstLOD != 0)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret_work, 0, sizeof(*ret_work));
	ret_work->kind = WORK_NONE;
	if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0)
		return CUDA_SUCCESS;
	src = (struct half){copy->srcMemoryType, (uintptr_t)copy->srcHost,
			    copy->srcDevice,	 copy->srcXInBytes,
			    copy->srcY,		 copy->srcZ,
			    copy->srcPitch,	 copy->srcHeight};
	dst = (struct half){copy->dstMemoryType, (uintptr_t)copy->dstHost,
			    copy->dstDevice,	 copy->dstXInBytes,
			    copy->dstY,		 copy->dstZ,
			    copy->dstPitch,	 copy->dstHeight};
	to->width = copy->WidthInBytes;
	to->height = copy->Height;
	to->depth = copy->Depth;
	result = place(call, &src, copy, &to->src);
	if (result == CUDA_SUCCESS)
		result = place(call, &dst, copy, &to->dst);
	if (result == CUDA_SUCCESS)
		ret_work->kind = WORK_COPY;
	return result;
}
