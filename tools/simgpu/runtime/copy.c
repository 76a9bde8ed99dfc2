/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of one dimension, to and from symbols, between devices. */
#include "runtime.h"

#define DPTR(p) ((CUdeviceptr)(uintptr_t)(p))

cudaError_t rt_memory_types(enum cudaMemcpyKind kind, CUmemorytype *ret_source,
			    CUmemorytype *ret_target)
{
	static const CUmemorytype source[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST,
					      CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE,
					      CU_MEMORYTYPE_UNIFIED};
	static const CUmemorytype target[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
					      CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
					      CU_MEMORYTYPE_UNIFIED};

	if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	*ret_source = source[kind];
	*ret_target = target[kind];
	return cudaSuccess;
}

static cudaError_t copy(const struct rt_driver *d, void *dst, const void *src, size_t bytes,
			enum cudaMemcpyKind kind)
{
	if (bytes == 0)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice: return RT_CALL(d, cuMemcpyHtoD, DPTR(dst), src, bytes);
	case cudaMemcpyDeviceToHost: return RT_CALL(d, cuMemcpyDtoH, dst, DPTR(src), bytes);
	case cudaMemcpyDeviceToDevice: return RT_CALL(d, cuMemcpyDtoD, DPTR(dst), DPTR(src), bytes);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault: return RT_CALL(d, cuMemcpy, DPTR(dst), DPTR(src), bytes);
	}
	return cudaErrorInvalidMemcpyDirection;
}

RT_BOTH(cudaMemcpy, _ptds, (void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
	copy, dst, src, count, kind)

static cudaError_t copy_async(const struct rt_driver *d, void *dst, const void *src, size_t bytes,
			      enum cudaMemcpyKind kind, cudaStream_t s)
{
	if (bytes == 0)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice: return RT_CALL(d, cuMemcpyHtoDAsync, DPTR(dst), src, bytes, s);
	case cudaMemcpyDeviceToHost: return RT_CALL(d, cuMemcpyDtoHAsync, dst, DPTR(src), bytes, s);
	case cudaMemcpyDeviceToDevice:
		return RT_CALL(d, cuMemcpyDtoDAsync, DPTR(dst), DPTR(src), bytes, s);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault: return RT_CALL(d, cuMemcpyAsync, DPTR(dst), DPTR(src), bytes, s);
	}
	return cudaErrorInvalidMemcpyDirection;
}

RT_BOTH(cudaMemcpyAsync, _ptsz,
	(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream),
	copy_async, dst, src, count, kind, stream)

/* ---- symbols ---- */

static cudaError_t symbol_part(const void *symbol, size_t offset, size_t bytes, void **ret_address)
{
	CUdeviceptr address;
	size_t size;
	cudaError_t error = rt_symbol_of(symbol, &address, &size);

	if (error == cudaSuccess && (offset > size || bytes > size - offset))
		error = cudaErrorInvalidValue;
	if (error == cudaSuccess)
		*ret_address = (void *)(uintptr_t)(address + offset);
	return error;
}

static bool is_to_device(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ||
	       kind == cudaMemcpyDefault;
}

static bool is_from_device(enum cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ||
	       kind == cudaMemcpyDefault;
}

static cudaError_t to_symbol(const struct rt_driver *d, const void *symbol, const void *src,
			     size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	void *dst;
	cudaError_t error = is_to_device(kind) ? symbol_part(symbol, offset, bytes, &dst)
					       : cudaErrorInvalidMemcpyDirection;

	return error != cudaSuccess ? error : copy(d, dst, src, bytes, kind);
}

static cudaError_t to_symbol_async(const struct rt_driver *d, const void *symbol, const void *src,
				   size_t bytes, size_t offset, enum cudaMemcpyKind kind,
				   cudaStream_t stream)
{
	void *dst;
	cudaError_t error = is_to_device(kind) ? symbol_part(symbol, offset, bytes, &dst)
					       : cudaErrorInvalidMemcpyDirection;

	return error != cudaSuccess ? error : copy_async(d, dst, src, bytes, kind, stream);
}

static cudaError_t from_symbol(const struct rt_driver *d, void *dst, const void *symbol,
			       size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	void *src;
	cudaError_t error = is_from_device(kind) ? symbol_part(symbol, offset, bytes, &src)
						 : cudaErrorInvalidMemcpyDirection;

	return error != cudaSuccess ? error : copy(d, dst, src, bytes, kind);
}

static cudaError_t from_symbol_async(const struct rt_driver *d, void *dst, const void *symbol,
				     size_t bytes, size_t offset, enum cudaMemcpyKind kind,
				     cudaStream_t stream)
{
	void *src;
	cudaError_t error = is_from_device(kind) ? symbol_part(symbol, offset, bytes, &src)
						 : cudaErrorInvalidMemcpyDirection;

	return error != cudaSuccess ? error : copy_async(d, dst, src, bytes, kind, stream);
}

RT_BOTH(cudaMemcpyToSymbol, _ptds,
	(const void *symbol, const void *src, size_t count, size_t offset,
	 enum cudaMemcpyKind kind),
	to_symbol, symbol, src, count, offset, kind)
RT_BOTH(cudaMemcpyToSymbolAsync, _ptsz,
	(const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind,
	 cudaStream_t stream),
	to_symbol_async, symbol, src, count, offset, kind, stream)
RT_BOTH(cudaMemcpyFromSymbol, _ptds,
	(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind),
	from_symbol, dst, symbol, count, offset, kind)
RT_BOTH(cudaMemcpyFromSymbolAsync, _ptsz,
	(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
	 cudaStream_t stream),
	from_symbol_async, dst, symbol, count, offset, kind, stream)

static cudaError_t symbol_address(void **address, size_t *bytes, const void *symbol)
{
	CUdeviceptr found;
	size_t size;
	cudaError_t error = rt_symbol_of(symbol, &found, &size);

	if (error == cudaSuccess && address)
		*address = (void *)(uintptr_t)found;
	if (error == cudaSuccess && bytes)
		*bytes = size;
	return error;
}

RT_ENTRY(cudaGetSymbolAddress, (void **devPtr, const void *symbol),
	 symbol_address(devPtr, NULL, symbol))
RT_ENTRY(cudaGetSymbolSize, (size_t * size, const void *symbol), symbol_address(NULL, size, symbol))

/* ---- between devices ---- */

static cudaError_t both_primaries(int dst_device, int src_device, CUcontext *ret_dst,
				  CUcontext *ret_src)
{
	cudaError_t error = rt_primary(dst_device, ret_dst);

	return error != cudaSuccess ? error : rt_primary(src_device, ret_src);
}

static cudaError_t copy_peer(void *dst, int dst_device, const void *src, int src_device,
			     size_t bytes)
{
	CUcontext to, from;
	cudaError_t error = both_primaries(dst_device, src_device, &to, &from);

	return error != cudaSuccess
		       ? error
		       : RT_CALL(RT_PLAIN, cuMemcpyPeer, DPTR(dst), to, DPTR(src), from, bytes);
}

static cudaError_t copy_peer_async(void *dst, int dst_device, const void *src, int src_device,
				   size_t bytes, cudaStream_t stream)
{
	CUcontext to, from;
	cudaError_t error = both_primaries(dst_device, src_device, &to, &from);

	return error != cudaSuccess ? error
				    : RT_CALL(RT_PLAIN, cuMemcpyPeerAsync, DPTR(dst), to, DPTR(src),
					      from, bytes, stream);
}

RT_ENTRY(cudaMemcpyPeer, (void *dst, int dstDevice, const void *src, int srcDevice, size_t count),
	 copy_peer(dst, dstDevice, src, srcDevice, count))
RT_ENTRY(cudaMemcpyPeerAsync,
	 (void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
	  cudaStream_t stream),
	 copy_peer_async(dst, dstDevice, src, srcDevice, count, stream))

/* ---- batches ---- */

_Static_assert(sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes),
	       "same copy attributes");

RT_FORWARD_BOTH(cudaMemcpyBatchAsync, _ptsz,
		(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
		 struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
		 cudaStream_t stream),
		cuMemcpyBatchAsync, (CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs,
		(size_t *)(uintptr_t)sizes, count, (CUmemcpyAttributes *)attrs, attrsIdxs, numAttrs,
		stream)
