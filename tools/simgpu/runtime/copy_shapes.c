/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and memsets of two and three dimensions, of linear memory: arrays are not modelled. */
#include "runtime.h"

static cudaError_t copy2d_params(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
				 size_t width, size_t height, enum cudaMemcpyKind kind,
				 CUDA_MEMCPY2D *ret_copy)
{
	CUmemorytype from, to;
	cudaError_t error = rt_memory_types(kind, &from, &to);

	if (error == cudaSuccess && (width > dst_pitch || width > src_pitch))
		error = cudaErrorInvalidPitchValue;
	if (error != cudaSuccess)
		return error;
	*ret_copy = (CUDA_MEMCPY2D){
		.srcMemoryType = from,
		.srcHost = src,
		.srcDevice = (CUdeviceptr)(uintptr_t)src,
		.srcPitch = src_pitch,
		.dstMemoryType = to,
		.dstHost = dst,
		.dstDevice = (CUdeviceptr)(uintptr_t)dst,
		.dstPitch = dst_pitch,
		.WidthInBytes = width,
		.Height = height,
	};
	return cudaSuccess;
}

static cudaError_t copy2d(const struct rt_driver *d, void *dst, size_t dpitch, const void *src,
			  size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D c;
	cudaError_t error = copy2d_params(dst, dpitch, src, spitch, width, height, kind, &c);

	if (error != cudaSuccess || width == 0 || height == 0)
		return error;
	return RT_CALL(d, cuMemcpy2DUnaligned, &c);
}

static cudaError_t copy2d_async(const struct rt_driver *d, void *dst, size_t dpitch,
				const void *src, size_t spitch, size_t width, size_t height,
				enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY2D c;
	cudaError_t error = copy2d_params(dst, dpitch, src, spitch, width, height, kind, &c);

	if (error != cudaSuccess || width == 0 || height == 0)
		return error;
	return RT_CALL(d, cuMemcpy2DAsync, &c, stream);
}

RT_BOTH(cudaMemcpy2D, _ptds,
	(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
	 enum cudaMemcpyKind kind),
	copy2d, dst, dpitch, src, spitch, width, height, kind)
RT_BOTH(cudaMemcpy2DAsync, _ptsz,
	(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
	 enum cudaMemcpyKind kind, cudaStream_t stream),
	copy2d_async, dst, dpitch, src, spitch, width, height, kind, stream)

/* ---- three dimensions ---- */

cudaError_t rt_copy3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret_copy)
{
	CUmemorytype from, to;
	cudaError_t error;

	if (!p)
		return cudaErrorInvalidValue;
	if (p->srcArray || p->dstArray)
		return rt_refuse("a copy of a CUDA array");
	error = rt_memory_types(p->kind, &from, &to);
	if (error != cudaSuccess)
		return error;
	*ret_copy = (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcPos.x,
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcMemoryType = from,
		.srcHost = p->srcPtr.ptr,
		.srcDevice = (CUdeviceptr)(uintptr_t)p->srcPtr.ptr,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x,
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstMemoryType = to,
		.dstHost = p->dstPtr.ptr,
		.dstDevice = (CUdeviceptr)(uintptr_t)p->dstPtr.ptr,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = p->extent.width,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};
	return cudaSuccess;
}

static enum cudaMemcpyKind kind_of(const CUDA_MEMCPY3D *copy)
{
	bool from_host = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
	bool to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;

	if (copy->srcMemoryType == CU_MEMORYTYPE_UNIFIED ||
	    copy->dstMemoryType == CU_MEMORYTYPE_UNIFIED)
		return cudaMemcpyDefault;
	if (from_host)
		return to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
	return to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

static void *pointer_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return (void *)(type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : (uintptr_t)device);
}

cudaError_t rt_copy3d_back(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *ret_p)
{
	*ret_p = (struct cudaMemcpy3DParms){
		.srcPos = {copy->srcXInBytes, copy->srcY, copy->srcZ},
		.srcPtr = {pointer_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
			   copy->srcPitch, copy->WidthInBytes, copy->srcHeight},
		.dstPos = {copy->dstXInBytes, copy->dstY, copy->dstZ},
		.dstPtr = {pointer_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
			   copy->dstPitch, copy->WidthInBytes, copy->dstHeight},
		.extent = {copy->WidthInBytes, copy->Height, copy->Depth},
		.kind = kind_of(copy),
	};
	return cudaSuccess;
}

static bool is_empty(const struct cudaExtent *extent)
{
	return extent->width == 0 || extent->height == 0 || extent->depth == 0;
}

static cudaError_t copy3d(const struct rt_driver *d, const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;
	cudaError_t error = rt_copy3d(p, &c);

	return error != cudaSuccess || is_empty(&p->extent) ? error : RT_CALL(d, cuMemcpy3D, &c);
}

static cudaError_t copy3d_async(const struct rt_driver *d, const struct cudaMemcpy3DParms *p,
				cudaStream_t stream)
{
	CUDA_MEMCPY3D c;
	cudaError_t error = rt_copy3d(p, &c);

	return error != cudaSuccess || is_empty(&p->extent)
		       ? error
		       : RT_CALL(d, cuMemcpy3DAsync, &c, stream);
}

RT_BOTH(cudaMemcpy3D, _ptds, (const struct cudaMemcpy3DParms *p), copy3d, p)
RT_BOTH(cudaMemcpy3DAsync, _ptsz, (const struct cudaMemcpy3DParms *p, cudaStream_t stream),
	copy3d_async, p, stream)

static cudaError_t peer_params(const struct cudaMemcpy3DPeerParms *p, CUDA_MEMCPY3D_PEER *ret_copy)
{
	CUcontext from, to;
	cudaError_t error;

	if (!p)
		return cudaErrorInvalidValue;
	if (p->srcArray || p->dstArray)
		return rt_refuse("a copy of a CUDA array");
	error = rt_primary(p->srcDevice, &from);
	if (error == cudaSuccess)
		error = rt_primary(p->dstDevice, &to);
	if (error != cudaSuccess)
		return error;
	*ret_copy = (CUDA_MEMCPY3D_PEER){
		.srcXInBytes = p->srcPos.x,
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = (CUdeviceptr)(uintptr_t)p->srcPtr.ptr,
		.srcContext = from,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x,
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = (CUdeviceptr)(uintptr_t)p->dstPtr.ptr,
		.dstContext = to,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = p->extent.width,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};
	return cudaSuccess;
}

static cudaError_t copy3d_peer(const struct rt_driver *d, const struct cudaMemcpy3DPeerParms *p)
{
	CUDA_MEMCPY3D_PEER c;
	cudaError_t error = peer_params(p, &c);

	return error != cudaSuccess ? error : RT_CALL(d, cuMemcpy3DPeer, &c);
}

static cudaError_t copy3d_peer_async(const struct rt_driver *d,
				     const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D_PEER c;
	cudaError_t error = peer_params(p, &c);

	return error != cudaSuccess ? error : RT_CALL(d, cuMemcpy3DPeerAsync, &c, stream);
}

RT_BOTH(cudaMemcpy3DPeer, _ptds, (const struct cudaMemcpy3DPeerParms *p), copy3d_peer, p)
RT_BOTH(cudaMemcpy3DPeerAsync, _ptsz, (const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream),
	copy3d_peer_async, p, stream)
