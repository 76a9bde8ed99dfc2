/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"

#include "sync.h"

size_t copy_piece(CUstream key, size_t bytes)
{
	return bytes > COPY_PIECE && launch_is_gated(key) ? COPY_PIECE : bytes;
}

void copy_begin(struct launch *launch, enum predict_kind kind, uint64_t bytes, CUstream key,
		uint32_t flags)
{
	struct sample_what what = {.kind = kind};
	uint32_t guess_ns;
	uint64_t tag = predict_bytes_tag(kind, bytes, &guess_ns);

	launch_begin(launch, tag, guess_ns, key, what, flags);
}

void copy_end(struct launch *launch, CUresult result, CUstream key, bool returned)
{
	if (result == CUDA_SUCCESS && returned && launch->way >= LAUNCH_ADMITTED)
		sync_blocking_copy(key);
	launch_end(launch, result);
}

bool copy_is_host(CUdeviceptr address)
{
	CUmemorytype type = CU_MEMORYTYPE_HOST;

	if (real.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) !=
	    CUDA_SUCCESS)
		return true;
	return type == CU_MEMORYTYPE_HOST;
}

uint64_t copy_2d_bytes(const CUDA_MEMCPY2D *copy)
{
	return copy ? (uint64_t)copy->WidthInBytes * copy->Height : 0;
}

uint64_t copy_3d_bytes(const CUDA_MEMCPY3D *copy)
{
	return copy ? (uint64_t)copy->WidthInBytes * copy->Height * copy->Depth : 0;
}

enum predict_kind copy_kind(CUmemorytype to, CUmemorytype from)
{
	if (to == CU_MEMORYTYPE_UNIFIED || from == CU_MEMORYTYPE_UNIFIED)
		return PREDICT_COPY;
	if (to == CU_MEMORYTYPE_HOST)
		return PREDICT_COPY_TO_HOST;
	return from == CU_MEMORYTYPE_HOST ? PREDICT_COPY_TO_DEVICE : PREDICT_COPY_DEVICE;
}
