/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"

size_t copy_piece(CUstream key, size_t bytes)
{
	return bytes > COPY_PIECE && launch_is_gated(key) ? COPY_PIECE : bytes;
}

void copy_begin(struct copy *copy, enum predict_kind kind, uint64_t bytes, CUstream key,
		uint32_t flags)
{
	uint32_t guess_ns;
	uint64_t tag = predict_bytes_tag(kind, bytes, &guess_ns);
	struct sample_what what = {.kind = kind, .shape = tag, .size = bytes};

	copy->shows = COPY_SHOWS_NOTHING;
	launch_begin(&copy->launch, tag, guess_ns, key, what, flags);
}

void copy_watch(struct copy *copy, CUstream key, enum copy_shows shows)
{
	copy->shows = shows;
	if (shows == COPY_SHOWS_DRAIN)
		sync_on_default(&copy->point, key);
}

void copy_end(struct copy *copy, CUresult result, CUstream key)
{
	if (result == CUDA_SUCCESS && copy->shows == COPY_SHOWS_DRAIN)
		sync_shown(&copy->point);
	else if (result == CUDA_SUCCESS && copy->shows == COPY_MAY_SHOW)
		sync_look(key);
	launch_end(&copy->launch, result);
}

/* Plain memory, which the driver knows nothing of, counts as the host's. */
static CUmemorytype type_of(CUdeviceptr address, bool *ret_known)
{
	CUmemorytype type = CU_MEMORYTYPE_HOST;

	*ret_known = real.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
		     CUDA_SUCCESS;
	return *ret_known ? type : CU_MEMORYTYPE_HOST;
}

enum copy_shows copy_shows(CUdeviceptr to)
{
	bool known;

	return type_of(to, &known) == CU_MEMORYTYPE_HOST ? COPY_SHOWS_DRAIN : COPY_SHOWS_NOTHING;
}

enum copy_shows copy_async_shows(CUdeviceptr to)
{
	bool known;

	if (!sync_is_requested())
		return COPY_SHOWS_NOTHING;
	(void)type_of(to, &known);
	return known ? COPY_SHOWS_NOTHING : COPY_MAY_SHOW;
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
