/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memsets: small kernels.
 */
#include "copy.h"

CUresult CUDAAPI cuMemsetD16(CUdeviceptr_v1 dstDevice, unsigned short us, unsigned int N)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 2, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemsetD16(dstDevice, us, N));
}

CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 2, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemsetD16_v2(dstDevice, us, N));
}

CUresult CUDAAPI cuMemsetD16_v2_ptds(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 2, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemsetD16_v2_ptds(dstDevice, us, N));
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
				  CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 2, stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING, real.cuMemsetD16Async(dstDevice, us, N, hStream));
}

CUresult CUDAAPI cuMemsetD16Async_ptsz(CUdeviceptr dstDevice, unsigned short us, size_t N,
				       CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 2, stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING, real.cuMemsetD16Async_ptsz(dstDevice, us, N, hStream));
}

CUresult CUDAAPI cuMemsetD2D16(CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned short us,
			       unsigned int Width, unsigned int Height)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 2, stream_key(NULL, false),
		   LAUNCH_UNTIMED, COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D16(dstDevice, dstPitch, us, Width, Height));
}

CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
				  size_t Width, size_t Height)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 2, stream_key(NULL, false),
		   LAUNCH_UNTIMED, COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D16_v2(dstDevice, dstPitch, us, Width, Height));
}

CUresult CUDAAPI cuMemsetD2D16_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
				       size_t Width, size_t Height)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 2, stream_key(NULL, true),
		   LAUNCH_UNTIMED, COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D16_v2_ptds(dstDevice, dstPitch, us, Width, Height));
}

CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
				    size_t Width, size_t Height, CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 2, stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, hStream));
}

CUresult CUDAAPI cuMemsetD2D16Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
					 size_t Width, size_t Height, CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 2, stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D16Async_ptsz(dstDevice, dstPitch, us, Width, Height, hStream));
}

CUresult CUDAAPI cuMemsetD2D32(CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned int ui,
			       unsigned int Width, unsigned int Height)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 4, stream_key(NULL, false),
		   LAUNCH_UNTIMED, COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D32(dstDevice, dstPitch, ui, Width, Height));
}

CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
				  size_t Width, size_t Height)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 4, stream_key(NULL, false),
		   LAUNCH_UNTIMED, COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D32_v2(dstDevice, dstPitch, ui, Width, Height));
}

CUresult CUDAAPI cuMemsetD2D32_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
				       size_t Width, size_t Height)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 4, stream_key(NULL, true),
		   LAUNCH_UNTIMED, COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D32_v2_ptds(dstDevice, dstPitch, ui, Width, Height));
}

CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
				    size_t Width, size_t Height, CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 4, stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, hStream));
}

CUresult CUDAAPI cuMemsetD2D32Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
					 size_t Width, size_t Height, CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height * 4, stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D32Async_ptsz(dstDevice, dstPitch, ui, Width, Height, hStream));
}

CUresult CUDAAPI cuMemsetD2D8(CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned char uc,
			      unsigned int Width, unsigned int Height)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height, stream_key(NULL, false),
		   LAUNCH_UNTIMED, COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D8(dstDevice, dstPitch, uc, Width, Height));
}

CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
				 size_t Width, size_t Height)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height, stream_key(NULL, false),
		   LAUNCH_UNTIMED, COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D8_v2(dstDevice, dstPitch, uc, Width, Height));
}

CUresult CUDAAPI cuMemsetD2D8_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
				      size_t Width, size_t Height)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D8_v2_ptds(dstDevice, dstPitch, uc, Width, Height));
}

CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
				   size_t Width, size_t Height, CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height, stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, hStream));
}

CUresult CUDAAPI cuMemsetD2D8Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
					size_t Width, size_t Height, CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)Width * Height, stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemsetD2D8Async_ptsz(dstDevice, dstPitch, uc, Width, Height, hStream));
}

CUresult CUDAAPI cuMemsetD32(CUdeviceptr_v1 dstDevice, unsigned int ui, unsigned int N)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 4, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemsetD32(dstDevice, ui, N));
}

CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 4, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemsetD32_v2(dstDevice, ui, N));
}

CUresult CUDAAPI cuMemsetD32_v2_ptds(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 4, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemsetD32_v2_ptds(dstDevice, ui, N));
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
				  CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 4, stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING, real.cuMemsetD32Async(dstDevice, ui, N, hStream));
}

CUresult CUDAAPI cuMemsetD32Async_ptsz(CUdeviceptr dstDevice, unsigned int ui, size_t N,
				       CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N * 4, stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING, real.cuMemsetD32Async_ptsz(dstDevice, ui, N, hStream));
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr_v1 dstDevice, unsigned char uc, unsigned int N)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemsetD8(dstDevice, uc, N));
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N, stream_key(NULL, false), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemsetD8_v2(dstDevice, uc, N));
}

CUresult CUDAAPI cuMemsetD8_v2_ptds(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N, stream_key(NULL, true), LAUNCH_UNTIMED,
		   COPY_SHOWS_NOTHING, real.cuMemsetD8_v2_ptds(dstDevice, uc, N));
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
				 CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N, stream_key(hStream, false), 0, COPY_SHOWS_NOTHING,
		   real.cuMemsetD8Async(dstDevice, uc, N, hStream));
}

CUresult CUDAAPI cuMemsetD8Async_ptsz(CUdeviceptr dstDevice, unsigned char uc, size_t N,
				      CUstream hStream)
{
	COPY_WHOLE(PREDICT_MEMSET, (uint64_t)N, stream_key(hStream, true), 0, COPY_SHOWS_NOTHING,
		   real.cuMemsetD8Async_ptsz(dstDevice, uc, N, hStream));
}
