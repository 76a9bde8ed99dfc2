/* SPDX-License-Identifier: Apache-2.0 */
#include "mem_array.h"

#include <stddef.h>

/* Bytes of one texel with all its channels. */
static uint64_t texel_bytes(CUarray_format format, unsigned int channels)
{
	static const uint8_t normalised[] = {1, 2, 4, 2, 4, 8, 1, 2, 4, 2, 4, 8};

	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8: return channels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF: return 2ull * channels;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT: return 4ull * channels;
	default: break;
	}
	if (format >= CU_AD_FORMAT_UNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4)
		return normalised[format - CU_AD_FORMAT_UNORM_INT8X1];
	/* Block compression: at most 16 bytes for 4 x 4 texels. */
	if (format >= CU_AD_FORMAT_BC1_UNORM && format <= CU_AD_FORMAT_BC7_UNORM_SRGB)
		return 1;
	return 8;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t level_size(uint64_t size, unsigned int level)
{
	uint64_t smaller = level < 64 ? size >> level : 0;

	return smaller ? smaller : 1;
}

uint64_t mem_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned int levels)
{
	uint64_t texel = texel_bytes(array->Format, array->NumChannels);
	int layered = array->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
	uint64_t total = 0;

	if (array->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
		return 0;
	for (unsigned int level = 0; level < levels; level++) {
		uint64_t bytes =
			times(level_size(array->Width, level), level_size(array->Height, level));

		bytes = times(bytes, level_size(array->Depth, layered ? 0 : level));
		bytes = times(bytes, texel);
		if (__builtin_add_overflow(total, bytes, &total))
			return UINT64_MAX;
	}
	return total;
}
