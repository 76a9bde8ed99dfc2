/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain copies: between addresses, one run of bytes. Large ones go in pieces under the gate. A
 * blocking copy works on the default stream of its entry's kind; one that brings data to the host
 * shows that stream drained.
 */
#include "copy.h"

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	COPY_PIECES(PREDICT_COPY, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		    copy_shows(dst), real.cuMemcpy(dst + done, src + done, piece));
}

CUresult CUDAAPI cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	COPY_PIECES(PREDICT_COPY, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		    copy_shows(dst), real.cuMemcpy_ptds(dst + done, src + done, piece));
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY, ByteCount, stream_key(hStream, false), 0, copy_async_shows(dst),
		    real.cuMemcpyAsync(dst + done, src + done, piece, hStream));
}

CUresult CUDAAPI cuMemcpyAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
				    CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY, ByteCount, stream_key(hStream, true), 0, copy_async_shows(dst),
		    real.cuMemcpyAsync_ptsz(dst + done, src + done, piece, hStream));
}

CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice,
			      unsigned int ByteCount)
{
	COPY_PIECES(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyDtoD(dstDevice + (unsigned int)done,
				      srcDevice + (unsigned int)done, (unsigned int)piece));
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
	COPY_PIECES(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyDtoD_v2(dstDevice + done, srcDevice + done, piece));
}

CUresult CUDAAPI cuMemcpyDtoD_v2_ptds(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
				      size_t ByteCount)
{
	COPY_PIECES(PREDICT_COPY_DEVICE, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyDtoD_v2_ptds(dstDevice + done, srcDevice + done, piece));
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice,
				   unsigned int ByteCount, CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY_DEVICE, ByteCount, stream_key(hStream, false), 0,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyDtoDAsync(dstDevice + (unsigned int)done,
					   srcDevice + (unsigned int)done, (unsigned int)piece,
					   hStream));
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
				      size_t ByteCount, CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY_DEVICE, ByteCount, stream_key(hStream, false), 0,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyDtoDAsync_v2(dstDevice + done, srcDevice + done, piece, hStream));
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
					   size_t ByteCount, CUstream hStream)
{
	COPY_PIECES(
		PREDICT_COPY_DEVICE, ByteCount, stream_key(hStream, true), 0, COPY_SHOWS_NOTHING,
		real.cuMemcpyDtoDAsync_v2_ptsz(dstDevice + done, srcDevice + done, piece, hStream));
}

CUresult CUDAAPI cuMemcpyDtoH(void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount)
{
	COPY_PIECES(PREDICT_COPY_TO_HOST, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		    COPY_SHOWS_DRAIN,
		    real.cuMemcpyDtoH((char *)dstHost + done, srcDevice + (unsigned int)done,
				      (unsigned int)piece));
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
	COPY_PIECES(PREDICT_COPY_TO_HOST, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		    COPY_SHOWS_DRAIN,
		    real.cuMemcpyDtoH_v2((char *)dstHost + done, srcDevice + done, piece));
}

CUresult CUDAAPI cuMemcpyDtoH_v2_ptds(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
	COPY_PIECES(PREDICT_COPY_TO_HOST, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		    COPY_SHOWS_DRAIN,
		    real.cuMemcpyDtoH_v2_ptds((char *)dstHost + done, srcDevice + done, piece));
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void *dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount,
				   CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY_TO_HOST, ByteCount, stream_key(hStream, false), 0,
		    copy_async_shows((uintptr_t)dstHost),
		    real.cuMemcpyDtoHAsync((char *)dstHost + done, srcDevice + (unsigned int)done,
					   (unsigned int)piece, hStream));
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
				      CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY_TO_HOST, ByteCount, stream_key(hStream, false), 0,
		    copy_async_shows((uintptr_t)dstHost),
		    real.cuMemcpyDtoHAsync_v2((char *)dstHost + done, srcDevice + done, piece,
					      hStream));
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2_ptsz(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
					   CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY_TO_HOST, ByteCount, stream_key(hStream, true), 0,
		    copy_async_shows((uintptr_t)dstHost),
		    real.cuMemcpyDtoHAsync_v2_ptsz((char *)dstHost + done, srcDevice + done, piece,
						   hStream));
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr_v1 dstDevice, const void *srcHost, unsigned int ByteCount)
{
	COPY_PIECES(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyHtoD(dstDevice + (unsigned int)done, (const char *)srcHost + done,
				      (unsigned int)piece));
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
	COPY_PIECES(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(NULL, false), LAUNCH_UNTIMED,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyHtoD_v2(dstDevice + done, (const char *)srcHost + done, piece));
}

CUresult CUDAAPI cuMemcpyHtoD_v2_ptds(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
	COPY_PIECES(
		PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(NULL, true), LAUNCH_UNTIMED,
		COPY_SHOWS_NOTHING,
		real.cuMemcpyHtoD_v2_ptds(dstDevice + done, (const char *)srcHost + done, piece));
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr_v1 dstDevice, const void *srcHost,
				   unsigned int ByteCount, CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(hStream, false), 0,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyHtoDAsync(dstDevice + (unsigned int)done,
					   (const char *)srcHost + done, (unsigned int)piece,
					   hStream));
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
				      CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(hStream, false), 0,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyHtoDAsync_v2(dstDevice + done, (const char *)srcHost + done, piece,
					      hStream));
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr dstDevice, const void *srcHost,
					   size_t ByteCount, CUstream hStream)
{
	COPY_PIECES(PREDICT_COPY_TO_DEVICE, ByteCount, stream_key(hStream, true), 0,
		    COPY_SHOWS_NOTHING,
		    real.cuMemcpyHtoDAsync_v2_ptsz(dstDevice + done, (const char *)srcHost + done,
						   piece, hStream));
}
