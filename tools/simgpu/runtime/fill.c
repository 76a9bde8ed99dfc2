/* SPDX-License-Identifier: Apache-2.0 */
/* Memsets of one, two and three dimensions. */
#include "runtime.h"

#define DPTR(p) ((CUdeviceptr)(uintptr_t)(p))
#define BYTE(value) ((unsigned char)(value))

static cudaError_t fill(const struct rt_driver *d, void *dst, int value, size_t bytes)
{
	return bytes ? RT_CALL(d, cuMemsetD8, DPTR(dst), BYTE(value), bytes) : cudaSuccess;
}

static cudaError_t fill_async(const struct rt_driver *d, void *dst, int value, size_t bytes,
			      cudaStream_t stream)
{
	return bytes ? RT_CALL(d, cuMemsetD8Async, DPTR(dst), BYTE(value), bytes, stream)
		     : cudaSuccess;
}

RT_BOTH(cudaMemset, _ptds, (void *devPtr, int value, size_t count), fill, devPtr, value, count)
RT_BOTH(cudaMemsetAsync, _ptsz, (void *devPtr, int value, size_t count, cudaStream_t stream),
	fill_async, devPtr, value, count, stream)

static cudaError_t fill2d(const struct rt_driver *d, void *dst, size_t pitch, int value,
			  size_t width, size_t height)
{
	if (width == 0 || height == 0)
		return cudaSuccess;
	return RT_CALL(d, cuMemsetD2D8, DPTR(dst), pitch, BYTE(value), width, height);
}

static cudaError_t fill2d_async(const struct rt_driver *d, void *dst, size_t pitch, int value,
				size_t width, size_t height, cudaStream_t stream)
{
	if (width == 0 || height == 0)
		return cudaSuccess;
	return RT_CALL(d, cuMemsetD2D8Async, DPTR(dst), pitch, BYTE(value), width, height, stream);
}

RT_BOTH(cudaMemset2D, _ptds, (void *devPtr, size_t pitch, int value, size_t width, size_t height),
	fill2d, devPtr, pitch, value, width, height)
RT_BOTH(cudaMemset2DAsync, _ptsz,
	(void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
	fill2d_async, devPtr, pitch, value, width, height, stream)

/* Slices that touch are one rectangle. */
static void slices(const struct cudaPitchedPtr *p, const struct cudaExtent *extent,
		   size_t *ret_count, size_t *ret_rows, size_t *ret_step)
{
	bool whole = extent->height == p->ysize;

	*ret_count = whole ? 1 : extent->depth;
	*ret_rows = whole ? extent->height * extent->depth : extent->height;
	*ret_step = p->pitch * p->ysize;
}

static cudaError_t fill3d(const struct rt_driver *d, struct cudaPitchedPtr p, int value,
			  struct cudaExtent extent)
{
	size_t count, rows, step;
	cudaError_t error = cudaSuccess;

	slices(&p, &extent, &count, &rows, &step);
	for (size_t i = 0; i < count && error == cudaSuccess; i++)
		error = fill2d(d, (char *)p.ptr + i * step, p.pitch, value, extent.width, rows);
	return error;
}

static cudaError_t fill3d_async(const struct rt_driver *d, struct cudaPitchedPtr p, int value,
				struct cudaExtent extent, cudaStream_t stream)
{
	size_t count, rows, step;
	cudaError_t error = cudaSuccess;

	slices(&p, &extent, &count, &rows, &step);
	for (size_t i = 0; i < count && error == cudaSuccess; i++)
		error = fill2d_async(d, (char *)p.ptr + i * step, p.pitch, value, extent.width,
				     rows, stream);
	return error;
}

RT_BOTH(cudaMemset3D, _ptds,
	(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent), fill3d,
	pitchedDevPtr, value, extent)
RT_BOTH(cudaMemset3DAsync, _ptsz,
	(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
	 cudaStream_t stream),
	fill3d_async, pitchedDevPtr, value, extent, stream)
