/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Managed memory on its way, and what is decompressed: as copies. How much of a prefetch has to move
 * only the driver knows, so that these have kinds of their own.
 */
#include "copy.h"

static uint64_t batch_bytes(const size_t *sizes, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; sizes && i < count; i++)
		bytes += sizes[i];
	return bytes;
}

/* What it will write need not be said. */
static uint64_t decompressed_bytes(const CUmemDecompressParams *params, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; params && i < count; i++)
		bytes += params[i].dstNumBytes ? params[i].dstNumBytes : params[i].srcNumBytes;
	return bytes;
}

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
				    CUstream hStream)
{
	COPY_PIECES(PREDICT_PREFETCH, count, stream_key(hStream, false), 0, COPY_SHOWS_NOTHING,
		    real.cuMemPrefetchAsync(devPtr + done, piece, dstDevice, hStream));
}

CUresult CUDAAPI cuMemPrefetchAsync_ptsz(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
					 CUstream hStream)
{
	COPY_PIECES(PREDICT_PREFETCH, count, stream_key(hStream, true), 0, COPY_SHOWS_NOTHING,
		    real.cuMemPrefetchAsync_ptsz(devPtr + done, piece, dstDevice, hStream));
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
				       unsigned int flags, CUstream hStream)
{
	COPY_PIECES(PREDICT_PREFETCH, count, stream_key(hStream, false), 0, COPY_SHOWS_NOTHING,
		    real.cuMemPrefetchAsync_v2(devPtr + done, piece, location, flags, hStream));
}

CUresult CUDAAPI cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count,
					    CUmemLocation location, unsigned int flags,
					    CUstream hStream)
{
	COPY_PIECES(
		PREDICT_PREFETCH, count, stream_key(hStream, true), 0, COPY_SHOWS_NOTHING,
		real.cuMemPrefetchAsync_v2_ptsz(devPtr + done, piece, location, flags, hStream));
}

CUresult CUDAAPI cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
					 CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
					 size_t numPrefetchLocs, unsigned long long flags,
					 CUstream hStream)
{
	COPY_WHOLE(PREDICT_PREFETCH, batch_bytes(sizes, count), stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
						numPrefetchLocs, flags, hStream));
}

CUresult CUDAAPI cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count,
					      CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
					      size_t numPrefetchLocs, unsigned long long flags,
					      CUstream hStream)
{
	COPY_WHOLE(PREDICT_PREFETCH, batch_bytes(sizes, count), stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemPrefetchBatchAsync_ptsz(dptrs, sizes, count, prefetchLocs,
						     prefetchLocIdxs, numPrefetchLocs, flags,
						     hStream));
}

CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
						   CUmemLocation *prefetchLocs,
						   size_t *prefetchLocIdxs, size_t numPrefetchLocs,
						   unsigned long long flags, CUstream hStream)
{
	COPY_WHOLE(PREDICT_PREFETCH, batch_bytes(sizes, count), stream_key(hStream, false), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemDiscardAndPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs,
							  prefetchLocIdxs, numPrefetchLocs, flags,
							  hStream));
}

CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes,
							size_t count, CUmemLocation *prefetchLocs,
							size_t *prefetchLocIdxs,
							size_t numPrefetchLocs,
							unsigned long long flags, CUstream hStream)
{
	COPY_WHOLE(PREDICT_PREFETCH, batch_bytes(sizes, count), stream_key(hStream, true), 0,
		   COPY_SHOWS_NOTHING,
		   real.cuMemDiscardAndPrefetchBatchAsync_ptsz(dptrs, sizes, count, prefetchLocs,
							       prefetchLocIdxs, numPrefetchLocs,
							       flags, hStream));
}

CUresult CUDAAPI cuMemBatchDecompressAsync(CUmemDecompressParams *paramsArray, size_t count,
					   unsigned int flags, size_t *errorIndex, CUstream stream)
{
	COPY_WHOLE(PREDICT_DECOMPRESS, decompressed_bytes(paramsArray, count),
		   stream_key(stream, false), 0, COPY_SHOWS_NOTHING,
		   real.cuMemBatchDecompressAsync(paramsArray, count, flags, errorIndex, stream));
}

CUresult CUDAAPI cuMemBatchDecompressAsync_ptsz(CUmemDecompressParams *paramsArray, size_t count,
						unsigned int flags, size_t *errorIndex,
						CUstream stream)
{
	COPY_WHOLE(
		PREDICT_DECOMPRESS, decompressed_bytes(paramsArray, count),
		stream_key(stream, true), 0, COPY_SHOWS_NOTHING,
		real.cuMemBatchDecompressAsync_ptsz(paramsArray, count, flags, errorIndex, stream));
}
