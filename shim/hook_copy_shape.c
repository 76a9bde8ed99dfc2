/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of shapes, arrays, peers and batches: each is one launch unit, however large.
 */
#include "copy.h"

static uint64_t batch_bytes(const size_t *sizes, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; sizes && i < count; i++)
		bytes += sizes[i];
	return bytes;
}

/* Extents may count elements of arrays: taken as bytes, for a first guess. */
static uint64_t batch_3d_bytes(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops)
{
	uint64_t bytes = 0;

	for (size_t i = 0; ops && i < count; i++)
		bytes += (uint64_t)ops[i].extent.width * ops[i].extent.height * ops[i].extent.depth;
	return bytes;
}

static uint64_t peer_bytes(const CUDA_MEMCPY3D_PEER *copy)
{
	return copy ? (uint64_t)copy->WidthInBytes * copy->Height * copy->Depth : 0;
}

static uint64_t old_2d_bytes(const CUDA_MEMCPY2D_v1 *copy)
{
	return copy ? (uint64_t)copy->WidthInBytes * copy->Height : 0;
}

static uint64_t old_3d_bytes(const CUDA_MEMCPY3D_v1 *copy)
{
	return copy ? (uint64_t)copy->WidthInBytes * copy->Height * copy->Depth : 0;
}

static enum predict_kind kind_2d(const CUDA_MEMCPY2D *copy)
{
	return copy ? copy_kind(copy->dstMemoryType, copy->srcMemoryType) : PREDICT_COPY;
}

static enum predict_kind kind_3d(const CUDA_MEMCPY3D *copy)
{
	return copy ? copy_kind(copy->dstMemoryType, copy->srcMemoryType) : PREDICT_COPY;
}

static enum copy_shows shows(CUmemorytype type, const void *host, CUdeviceptr address,
			     bool is_blocking)
{
	if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_UNIFIED)
		return COPY_SHOWS_NOTHING;
	if (type == CU_MEMORYTYPE_HOST)
		address = (uintptr_t)host;
	if (!is_blocking)
		return copy_async_shows(address);
	return type == CU_MEMORYTYPE_HOST ? COPY_SHOWS_DRAIN : copy_shows(address);
}

static enum copy_shows shows_2d(const CUDA_MEMCPY2D *copy, bool is_blocking)
{
	return copy ? shows(copy->dstMemoryType, copy->dstHost, copy->dstDevice, is_blocking)
		    : COPY_SHOWS_NOTHING;
}

static enum copy_shows shows_3d(const CUDA_MEMCPY3D *copy, bool is_blocking)
{
	return copy ? shows(copy->dstMemoryType, copy->dstHost, copy->dstDevice, is_blocking)
		    : COPY_SHOWS_NOTHING;
}

CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D_v1 *pCopy)
{
	COPY_WHOLE(PREDICT_COPY, old_2d_bytes(pCopy), stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemcpy2D(pCopy));
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
	COPY_WHOLE(kind_2d(pCopy), copy_2d_bytes(pCopy), stream_key(NULL, false), LAUNCH_UNTIMED,
		   shows_2d(pCopy, true), real.cuMemcpy2D_v2(pCopy));
}

CUresult CUDAAPI cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *pCopy)
{
	COPY_WHOLE(kind_2d(pCopy), copy_2d_bytes(pCopy), stream_key(NULL, true), LAUNCH_UNTIMED,
		   shows_2d(pCopy, true), real.cuMemcpy2D_v2_ptds(pCopy));
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1 *pCopy, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, old_2d_bytes(pCopy), stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING, real.cuMemcpy2DAsync(pCopy, hStream));
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	COPY_WHOLE(kind_2d(pCopy), copy_2d_bytes(pCopy), stream_key(hStream, false), 0,
		   shows_2d(pCopy, false), real.cuMemcpy2DAsync_v2(pCopy, hStream));
}

CUresult CUDAAPI cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	COPY_WHOLE(kind_2d(pCopy), copy_2d_bytes(pCopy), stream_key(hStream, true), 0,
		   shows_2d(pCopy, false), real.cuMemcpy2DAsync_v2_ptsz(pCopy, hStream));
}

CUresult CUDAAPI cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1 *pCopy)
{
	COPY_WHOLE(PREDICT_COPY, old_2d_bytes(pCopy), stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemcpy2DUnaligned(pCopy));
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
	COPY_WHOLE(kind_2d(pCopy), copy_2d_bytes(pCopy), stream_key(NULL, false), LAUNCH_UNTIMED,
		   shows_2d(pCopy, true), real.cuMemcpy2DUnaligned_v2(pCopy));
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *pCopy)
{
	COPY_WHOLE(kind_2d(pCopy), copy_2d_bytes(pCopy), stream_key(NULL, true), LAUNCH_UNTIMED,
		   shows_2d(pCopy, true), real.cuMemcpy2DUnaligned_v2_ptds(pCopy));
}

CUresult CUDAAPI cuMemcpy3D(const CUDA_MEMCPY3D_v1 *pCopy)
{
	COPY_WHOLE(PREDICT_COPY, old_3d_bytes(pCopy), stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemcpy3D(pCopy));
}

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
	COPY_WHOLE(kind_3d(pCopy), copy_3d_bytes(pCopy), stream_key(NULL, false), LAUNCH_UNTIMED,
		   shows_3d(pCopy, true), real.cuMemcpy3D_v2(pCopy));
}

CUresult CUDAAPI cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *pCopy)
{
	COPY_WHOLE(kind_3d(pCopy), copy_3d_bytes(pCopy), stream_key(NULL, true), LAUNCH_UNTIMED,
		   shows_3d(pCopy, true), real.cuMemcpy3D_v2_ptds(pCopy));
}

CUresult CUDAAPI cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1 *pCopy, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, old_3d_bytes(pCopy), stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING, real.cuMemcpy3DAsync(pCopy, hStream));
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	COPY_WHOLE(kind_3d(pCopy), copy_3d_bytes(pCopy), stream_key(hStream, false), 0,
		   shows_3d(pCopy, false), real.cuMemcpy3DAsync_v2(pCopy, hStream));
}

CUresult CUDAAPI cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	COPY_WHOLE(kind_3d(pCopy), copy_3d_bytes(pCopy), stream_key(hStream, true), 0,
		   shows_3d(pCopy, false), real.cuMemcpy3DAsync_v2_ptsz(pCopy, hStream));
}

CUresult CUDAAPI cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
				      size_t *failIdx, unsigned long long flags, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, batch_3d_bytes(numOps, opList), stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpy3DBatchAsync(numOps, opList, failIdx, flags, hStream));
}

CUresult CUDAAPI cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
					 unsigned long long flags, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, batch_3d_bytes(numOps, opList), stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpy3DBatchAsync_v2(numOps, opList, flags, hStream));
}

CUresult CUDAAPI cuMemcpy3DBatchAsync_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
					   size_t *failIdx, unsigned long long flags,
					   CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, batch_3d_bytes(numOps, opList), stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpy3DBatchAsync_ptsz(numOps, opList, failIdx, flags, hStream));
}

CUresult CUDAAPI cuMemcpy3DBatchAsync_v2_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
					      unsigned long long flags, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, batch_3d_bytes(numOps, opList), stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpy3DBatchAsync_v2_ptsz(numOps, opList, flags, hStream));
}

CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
	COPY_WHOLE(PREDICT_COPY_PEER, peer_bytes(pCopy), stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemcpy3DPeer(pCopy));
}

CUresult CUDAAPI cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *pCopy)
{
	COPY_WHOLE(PREDICT_COPY_PEER, peer_bytes(pCopy), stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemcpy3DPeer_ptds(pCopy));
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY_PEER, peer_bytes(pCopy), stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING, real.cuMemcpy3DPeerAsync(pCopy, hStream));
}

CUresult CUDAAPI cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY_PEER, peer_bytes(pCopy), stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING, real.cuMemcpy3DPeerAsync_ptsz(pCopy, hStream));
}

CUresult CUDAAPI cuMemcpyAtoA(CUarray dstArray, unsigned int dstOffset, CUarray srcArray,
			      unsigned int srcOffset, unsigned int ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyAtoA(dstArray, dstOffset, srcArray, srcOffset, ByteCount));
}

CUresult CUDAAPI cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
				 size_t srcOffset, size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyAtoA_v2(dstArray, dstOffset, srcArray, srcOffset, ByteCount));
}

CUresult CUDAAPI cuMemcpyAtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUarray srcArray,
				      size_t srcOffset, size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyAtoA_v2_ptds(dstArray, dstOffset, srcArray, srcOffset, ByteCount));
}

CUresult CUDAAPI cuMemcpyAtoD(CUdeviceptr_v1 dstDevice, CUarray srcArray, unsigned int srcOffset,
			      unsigned int ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyAtoD(dstDevice, srcArray, srcOffset, ByteCount));
}

CUresult CUDAAPI cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
				 size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyAtoD_v2(dstDevice, srcArray, srcOffset, ByteCount));
}

CUresult CUDAAPI cuMemcpyAtoD_v2_ptds(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
				      size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyAtoD_v2_ptds(dstDevice, srcArray, srcOffset, ByteCount));
}

CUresult CUDAAPI cuMemcpyAtoH(void *dstHost, CUarray srcArray, unsigned int srcOffset,
			      unsigned int ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_TO_HOST, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_DRAIN, real.cuMemcpyAtoH(dstHost, srcArray, srcOffset, ByteCount));
}

CUresult CUDAAPI cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
				 size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_TO_HOST, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_DRAIN, real.cuMemcpyAtoH_v2(dstHost, srcArray, srcOffset, ByteCount));
}

CUresult CUDAAPI cuMemcpyAtoH_v2_ptds(void *dstHost, CUarray srcArray, size_t srcOffset,
				      size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_TO_HOST, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_DRAIN,
		   real.cuMemcpyAtoH_v2_ptds(dstHost, srcArray, srcOffset, ByteCount));
}

CUresult CUDAAPI cuMemcpyAtoHAsync(void *dstHost, CUarray srcArray, unsigned int srcOffset,
				   unsigned int ByteCount, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY_TO_HOST, ByteCount, stream_key(hStream, false), 0,
		   copy_async_shows((uintptr_t)dstHost),
		   real.cuMemcpyAtoHAsync(dstHost, srcArray, srcOffset, ByteCount, hStream));
}

CUresult CUDAAPI cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
				      size_t ByteCount, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY_TO_HOST, ByteCount, stream_key(hStream, false), 0,
		   copy_async_shows((uintptr_t)dstHost),
		   real.cuMemcpyAtoHAsync_v2(dstHost, srcArray, srcOffset, ByteCount, hStream));
}

CUresult CUDAAPI cuMemcpyAtoHAsync_v2_ptsz(void *dstHost, CUarray srcArray, size_t srcOffset,
					   size_t ByteCount, CUstream hStream)
{
	COPY_WHOLE(
		PREDICT_COPY_TO_HOST, ByteCount, stream_key(hStream, true), 0,
		copy_async_shows((uintptr_t)dstHost),
		real.cuMemcpyAtoHAsync_v2_ptsz(dstHost, srcArray, srcOffset, ByteCount, hStream));
}

CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
				    size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
				    size_t numAttrs, size_t *failIdx, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, batch_bytes(sizes, count), stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs,
					   failIdx, hStream));
}

CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
				       size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
				       size_t numAttrs, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, batch_bytes(sizes, count), stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs,
					      hStream));
}

CUresult CUDAAPI cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
					 size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
					 size_t numAttrs, size_t *failIdx, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, batch_bytes(sizes, count), stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyBatchAsync_ptsz(dsts, srcs, sizes, count, attrs, attrsIdxs,
						numAttrs, failIdx, hStream));
}

CUresult CUDAAPI cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
					    size_t count, CUmemcpyAttributes *attrs,
					    size_t *attrsIdxs, size_t numAttrs, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY, batch_bytes(sizes, count), stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyBatchAsync_v2_ptsz(dsts, srcs, sizes, count, attrs, attrsIdxs,
						   numAttrs, hStream));
}

CUresult CUDAAPI cuMemcpyDtoA(CUarray dstArray, unsigned int dstOffset, CUdeviceptr_v1 srcDevice,
			      unsigned int ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyDtoA(dstArray, dstOffset, srcDevice, ByteCount));
}

CUresult CUDAAPI cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
				 size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyDtoA_v2(dstArray, dstOffset, srcDevice, ByteCount));
}

CUresult CUDAAPI cuMemcpyDtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
				      size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyDtoA_v2_ptds(dstArray, dstOffset, srcDevice, ByteCount));
}

CUresult CUDAAPI cuMemcpyHtoA(CUarray dstArray, unsigned int dstOffset, const void *srcHost,
			      unsigned int ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemcpyHtoA(dstArray, dstOffset, srcHost, ByteCount));
}

CUresult CUDAAPI cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
				 size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyHtoA_v2(dstArray, dstOffset, srcHost, ByteCount));
}

CUresult CUDAAPI cuMemcpyHtoA_v2_ptds(CUarray dstArray, size_t dstOffset, const void *srcHost,
				      size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyHtoA_v2_ptds(dstArray, dstOffset, srcHost, ByteCount));
}

CUresult CUDAAPI cuMemcpyHtoAAsync(CUarray dstArray, unsigned int dstOffset, const void *srcHost,
				   unsigned int ByteCount, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyHtoAAsync(dstArray, dstOffset, srcHost, ByteCount, hStream));
}

CUresult CUDAAPI cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
				      size_t ByteCount, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyHtoAAsync_v2(dstArray, dstOffset, srcHost, ByteCount, hStream));
}

CUresult CUDAAPI cuMemcpyHtoAAsync_v2_ptsz(CUarray dstArray, size_t dstOffset, const void *srcHost,
					   size_t ByteCount, CUstream hStream)
{
	COPY_WHOLE(
		PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(hStream, true), 0, COPY_SHOWS_NOTHING,
		real.cuMemcpyHtoAAsync_v2_ptsz(dstArray, dstOffset, srcHost, ByteCount, hStream));
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
			      CUcontext srcContext, size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_PEER, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyPeer(dstDevice, dstContext, srcDevice, srcContext, ByteCount));
}

CUresult CUDAAPI cuMemcpyPeer_ptds(CUdeviceptr dstDevice, CUcontext dstContext,
				   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount)
{
	COPY_WHOLE(PREDICT_COPY_PEER, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemcpyPeer_ptds(dstDevice, dstContext, srcDevice, srcContext, ByteCount));
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
				   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
				   CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY_PEER, ByteCount, stream_key(hStream, false), 0, COPY_SHOWS_NOTHING,
		   real.cuMemcpyPeerAsync(dstDevice, dstContext, srcDevice, srcContext, ByteCount,
					  hStream));
}

CUresult CUDAAPI cuMemcpyPeerAsync_ptsz(CUdeviceptr dstDevice, CUcontext dstContext,
					CUdeviceptr srcDevice, CUcontext srcContext,
					size_t ByteCount, CUstream hStream)
{
	COPY_WHOLE(PREDICT_COPY_PEER, ByteCount, stream_key(hStream, true), 0, COPY_SHOWS_NOTHING,
		   real.cuMemcpyPeerAsync_ptsz(dstDevice, dstContext, srcDevice, srcContext,
					       ByteCount, hStream));
}
