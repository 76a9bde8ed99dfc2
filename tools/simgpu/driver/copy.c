/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "driver/copy_sides.h"
#include "driver/issue.h"
#include "driver/queue.h"

/* A blocking copy from pageable memory up to this size returns when it is staged. */
#define STAGED_RETURN_BYTES 65536

static bool is_host(enum sim_memory_kind kind)
{
	return kind == SIM_PINNED || kind == SIM_REGISTERED || kind == SIM_PAGEABLE;
}

/* The source as it is now, rows without gaps. */
static CUresult stage(struct work_copy *copy)
{
	char *to = malloc(work_copy_bytes(copy));

	if (to == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	copy->staged = to;
	for (uint64_t z = 0; z < copy->depth; z++)
		for (uint64_t y = 0; y < copy->height; y++, to += copy->width)
			memcpy(to,
			       (const void *)(uintptr_t)(copy->src.address + z * copy->src.slice +
							 y * copy->src.pitch),
			       copy->width);
	return CUDA_SUCCESS;
}

/*
 * When the call returns, by the driver's documentation ("API synchronization behavior"): from
 * pageable memory to the device once staged; to pageable memory when it is there; between pinned
 * memory and the device at once if asynchronous, else when done; within the device at once;
 * between host memory, unless all of it is pinned, when done.
 */
static CUresult run_copy(struct stream *stream, struct work *work, bool async)
{
	struct work_copy *copy = &work->copy;
	bool capturing = exec_stream_is_capturing(stream);
	bool from_host = is_host(copy->src.kind), to_host = is_host(copy->dst.kind);
	bool pageable = copy->src.kind == SIM_PAGEABLE || copy->dst.kind == SIM_PAGEABLE;
	bool wait = false, staged = false;
	CUresult result = CUDA_SUCCESS;

	if (work->kind == WORK_NONE)
		return CUDA_SUCCESS;
	if (capturing) {
		/* A node reads its source when the graph runs. */
		return issue(stream, work, !async);
	} else if (from_host && !to_host && pageable) {
		wait = !async && work_copy_bytes(copy) > STAGED_RETURN_BYTES;
		staged = !wait;
	} else if (from_host || to_host) {
		wait = !async || pageable;
	}
	if (staged)
		result = stage(copy);
	return result == CUDA_SUCCESS ? issue(stream, work, wait) : result;
}

static CUresult linear(uint64_t dst, enum side_need dst_need, uint64_t src, enum side_need src_need,
		       uint64_t bytes, CUstream handle, bool per_thread, bool async)
{
	struct work work = {.kind = WORK_COPY};
	struct work_copy *copy = &work.copy;
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS || bytes == 0)
		return result;
	copy->width = bytes;
	copy->height = copy->depth = 1;
	copy->src.address = src;
	copy->dst.address = dst;
	result = side_classify(&copy->src, src_need, bytes, 1, 1);
	if (result == CUDA_SUCCESS)
		result = side_classify(&copy->dst, dst_need, bytes, 1, 1);
	return result == CUDA_SUCCESS ? run_copy(stream, &work, async) : result;
}

FORMS(cuMemcpy, cuMemcpy_ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount),
      linear(dst, SIDE_ANY, src, SIDE_ANY, ByteCount, NULL, per_thread, false))
FORMS(cuMemcpyAsync, cuMemcpyAsync_ptsz,
      (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream),
      linear(dst, SIDE_ANY, src, SIDE_ANY, ByteCount, hStream, per_thread, true))
FORMS(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds,
      (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
      linear(dstDevice, SIDE_DEVICE, (uintptr_t)srcHost, SIDE_HOST, ByteCount, NULL, per_thread,
	     false))
FORMS(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz,
      (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
      linear(dstDevice, SIDE_DEVICE, (uintptr_t)srcHost, SIDE_HOST, ByteCount, hStream, per_thread,
	     true))
FORMS(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds,
      (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount),
      linear((uintptr_t)dstHost, SIDE_HOST, srcDevice, SIDE_DEVICE, ByteCount, NULL, per_thread,
	     false))
FORMS(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz,
      (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
      linear((uintptr_t)dstHost, SIDE_HOST, srcDevice, SIDE_DEVICE, ByteCount, hStream, per_thread,
	     true))
FORMS(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds,
      (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
      linear(dstDevice, SIDE_DEVICE, srcDevice, SIDE_DEVICE, ByteCount, NULL, per_thread, false))
FORMS(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz,
      (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
      linear(dstDevice, SIDE_DEVICE, srcDevice, SIDE_DEVICE, ByteCount, hStream, per_thread, true))

/* ---- two and three dimensions ---- */

static CUresult copy_3d(const char *call, const CUDA_MEMCPY3D *from, CUstream handle,
			bool per_thread, bool async)
{
	struct stream *stream;
	struct work work;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result == CUDA_SUCCESS && from == NULL)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = side_from_3d(call, from, &work);
	return result == CUDA_SUCCESS ? run_copy(stream, &work, async) : result;
}

static CUresult copy_2d(const char *call, const CUDA_MEMCPY2D *from, CUstream handle,
			bool per_thread, bool async)
{
	CUDA_MEMCPY3D copy;

	if (from == NULL)
		return copy_3d(call, NULL, handle, per_thread, async);
	side_2d_to_3d(from, &copy);
	return copy_3d(call, &copy, handle, per_thread, async);
}

FORMS(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D *pCopy),
      copy_2d("cuMemcpy2D", pCopy, NULL, per_thread, false))
FORMS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, (const CUDA_MEMCPY2D *pCopy),
      copy_2d("cuMemcpy2DUnaligned", pCopy, NULL, per_thread, false))
FORMS(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz, (const CUDA_MEMCPY2D *pCopy, CUstream hStream),
      copy_2d("cuMemcpy2DAsync", pCopy, hStream, per_thread, true))
FORMS(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, (const CUDA_MEMCPY3D *pCopy),
      copy_3d("cuMemcpy3D", pCopy, NULL, per_thread, false))
FORMS(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz, (const CUDA_MEMCPY3D *pCopy, CUstream hStream),
      copy_3d("cuMemcpy3DAsync", pCopy, hStream, per_thread, true))

/* ---- between contexts ---- */

static CUresult check_peers(const char *call, CUcontext dst, CUcontext src)
{
	const struct sim_context *to = (const struct sim_context *)dst;
	const struct sim_context *from = (const struct sim_context *)src;

	if (to == NULL || from == NULL || to->magic != SIM_MAGIC_CONTEXT ||
	    from->magic != SIM_MAGIC_CONTEXT)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (to->device != from->device)
		return sim_refuse(call, "copies between two devices");
	return CUDA_SUCCESS;
}

static CUresult peer(const char *call, CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
		     CUcontext src_context, size_t bytes, CUstream handle, bool per_thread,
		     bool async)
{
	CUresult result = check_peers(call, dst_context, src_context);

	return result == CUDA_SUCCESS
		       ? linear(dst, SIDE_ANY, src, SIDE_ANY, bytes, handle, per_thread, async)
		       : result;
}

FORMS(cuMemcpyPeer, cuMemcpyPeer_ptds,
      (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
       size_t ByteCount),
      peer("cuMemcpyPeer", dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL,
	   per_thread, false))
FORMS(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz,
      (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
       size_t ByteCount, CUstream hStream),
      peer("cuMemcpyPeerAsync", dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream,
	   per_thread, true))

static CUresult peer_3d(const char *call, const CUDA_MEMCPY3D_PEER *from, CUstream handle,
			bool per_thread, bool async)
{
	CUDA_MEMCPY3D copy;
	CUresult result;

	if (from == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_peers(call, from->dstContext, from->srcContext);
	if (result != CUDA_SUCCESS)
		return result;
	copy = (CUDA_MEMCPY3D){
		.srcXInBytes = from->srcXInBytes,
		.srcY = from->srcY,
		.srcZ = from->srcZ,
		.srcLOD = from->srcLOD,
		.srcMemoryType = from->srcMemoryType,
		.srcHost = from->srcHost,
		.srcDevice = from->srcDevice,
		.srcPitch = from->srcPitch,
		.srcHeight = from->srcHeight,
		.dstXInBytes = from->dstXInBytes,
		.dstY = from->dstY,
		.dstZ = from->dstZ,
		.dstLOD = from->dstLOD,
		.dstMemoryType = from->dstMemoryType,
		.dstHost = from->dstHost,
		.dstDevice = from->dstDevice,
		.dstPitch = from->dstPitch,
		.dstHeight = from->dstHeight,
		.WidthInBytes = from->WidthInBytes,
		.Height = from->Height,
		.Depth = from->Depth,
	};
	return copy_3d(call, &copy, handle, per_thread, async);
}

FORMS(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, (const CUDA_MEMCPY3D_PEER *pCopy),
      peer_3d("cuMemcpy3DPeer", pCopy, NULL, per_thread, false))
FORMS(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz,
      (const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream),
      peer_3d("cuMemcpy3DPeerAsync", pCopy, hStream, per_thread, true))
