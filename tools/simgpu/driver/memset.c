/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/memset.h"

#include <string.h>

#include "driver/copy_sides.h"
#include "driver/issue.h"

CUresult memset_prepare(CUdeviceptr dst, uint64_t pitch, uint32_t value, uint32_t element,
			uint64_t width, uint64_t height, struct work *ret_work)
{
	struct work_set *set = &ret_work->set;
	CUresult result;

	memset(ret_work, 0, sizeof(*ret_work));
	ret_work->kind = WORK_NONE;
	if (element != 1 && element != 2 && element != 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (width == 0 || height == 0)
		return CUDA_SUCCESS;
	if (dst % element != 0 || (height > 1 && (pitch < width * element || pitch % element != 0)))
		return CUDA_ERROR_INVALID_VALUE;
	set->dst.address = dst;
	set->dst.pitch = pitch;
	set->value = value;
	set->element = element;
	set->width = width;
	set->height = height;
	result = side_classify(&set->dst, SIDE_DEVICE, width * element, height, 1);
	if (result == CUDA_SUCCESS)
		ret_work->kind = WORK_SET;
	return result;
}

/* A blocking memset of device memory returns at once, as the driver's does. */
static CUresult run(CUdeviceptr dst, size_t pitch, uint32_t value, uint32_t element, size_t width,
		    size_t height, CUstream handle, bool per_thread, bool async)
{
	struct stream *stream;
	struct work work;
	bool wait;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result == CUDA_SUCCESS)
		result = memset_prepare(dst, pitch, value, element, width, height, &work);
	if (result != CUDA_SUCCESS || work.kind == WORK_NONE)
		return result;
	wait = !async && (work.set.dst.kind == SIM_PINNED || work.set.dst.kind == SIM_REGISTERED ||
			  exec_stream_is_capturing(stream));
	return issue(stream, &work, wait);
}

#define LINEAR(bits, type) \
	FORMS(cuMemsetD##bits##_v2, cuMemsetD##bits##_v2_ptds, \
	      (CUdeviceptr dstDevice, type value, size_t N), \
	      run(dstDevice, 0, value, bits / 8, N, 1, NULL, per_thread, false)) \
	FORMS(cuMemsetD##bits##Async, cuMemsetD##bits##Async_ptsz, \
	      (CUdeviceptr dstDevice, type value, size_t N, CUstream hStream), \
	      run(dstDevice, 0, value, bits / 8, N, 1, hStream, per_thread, true))

#define PITCHED(bits, type) \
	FORMS(cuMemsetD2D##bits##_v2, cuMemsetD2D##bits##_v2_ptds, \
	      (CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width, size_t Height), \
	      run(dstDevice, dstPitch, value, bits / 8, Width, Height, NULL, per_thread, false)) \
	FORMS(cuMemsetD2D##bits##Async, cuMemsetD2D##bits##Async_ptsz, \
	      (CUdeviceptr dstDevice, size_t dstPitch, type value, size_t Width, size_t Height, \
	       CUstream hStream), \
	      run(dstDevice, dstPitch, value, bits / 8, Width, Height, hStream, per_thread, true))

LINEAR(8, unsigned char)
LINEAR(16, unsigned short)
LINEAR(32, unsigned int)
PITCHED(8, unsigned char)
PITCHED(16, unsigned short)
PITCHED(32, unsigned int)
