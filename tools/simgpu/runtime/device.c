/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: count, attributes, limits, peers, versions, profiler, driver entry points. */
#include "registry.h"

cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t error = rt_load();

	if (!count)
		return rt_leave(cudaErrorInvalidValue);
	*count = error == cudaSuccess ? rt_device_count() : 0;
	return rt_leave(error);
}

/* Calls that name a device by its ordinal. */
#define DEVICE_FORWARD(name, params, ordinal, field, ...) \
	cudaError_t CUDARTAPI name params \
	{ \
		cudaError_t error = rt_check_device(ordinal); \
		return rt_leave(error != cudaSuccess ? error \
						     : RT_CALL(RT_PLAIN, field, __VA_ARGS__)); \
	}

DEVICE_FORWARD(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attr, int device), device,
	       cuDeviceGetAttribute, value, (CUdevice_attribute)attr, rt_device_handle(device))
DEVICE_FORWARD(cudaDeviceGetPCIBusId, (char *pciBusId, int len, int device), device,
	       cuDeviceGetPCIBusId, pciBusId, len, rt_device_handle(device))
DEVICE_FORWARD(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * memPool, int device), device,
	       cuDeviceGetDefaultMemPool, memPool, rt_device_handle(device))
DEVICE_FORWARD(cudaDeviceGetMemPool, (cudaMemPool_t * memPool, int device), device,
	       cuDeviceGetMemPool, memPool, rt_device_handle(device))
DEVICE_FORWARD(cudaDeviceSetMemPool, (int device, cudaMemPool_t memPool), device,
	       cuDeviceSetMemPool, rt_device_handle(device), memPool)
DEVICE_FORWARD(cudaDeviceGraphMemTrim, (int device), device, cuDeviceGraphMemTrim,
	       rt_device_handle(device))
DEVICE_FORWARD(cudaDeviceGetGraphMemAttribute,
	       (int device, enum cudaGraphMemAttributeType attr, void *value), device,
	       cuDeviceGetGraphMemAttribute, rt_device_handle(device), (CUgraphMem_attribute)attr,
	       value)
DEVICE_FORWARD(cudaDeviceSetGraphMemAttribute,
	       (int device, enum cudaGraphMemAttributeType attr, void *value), device,
	       cuDeviceSetGraphMemAttribute, rt_device_handle(device), (CUgraphMem_attribute)attr,
	       value)
DEVICE_FORWARD(cudaDeviceGetHostAtomicCapabilities,
	       (unsigned int *capabilities, const enum cudaAtomicOperation *operations,
		unsigned int count, int device),
	       device, cuDeviceGetHostAtomicCapabilities, capabilities,
	       (const CUatomicOperation *)operations, count, rt_device_handle(device))

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
	CUdevice handle;
	cudaError_t error = rt_load();

	if (error == cudaSuccess && (!device || !pciBusId))
		error = cudaErrorInvalidValue;
	if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuDeviceGetByPCIBusId, &handle, pciBusId);
	for (int i = 0; error == cudaSuccess && i < rt_device_count(); i++)
		if (rt_device_handle(i) == handle)
			*device = i;
	return rt_leave(error);
}

/* ---- peers ---- */

static cudaError_t check_pair(int a, int b)
{
	cudaError_t error = rt_check_device(a);

	return error != cudaSuccess ? error : rt_check_device(b);
}

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
	cudaError_t error = check_pair(device, peerDevice);

	return rt_leave(error != cudaSuccess
				? error
				: RT_CALL(RT_PLAIN, cuDeviceCanAccessPeer, canAccessPeer,
					  rt_device_handle(device), rt_device_handle(peerDevice)));
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice,
				      int dstDevice)
{
	cudaError_t error = check_pair(srcDevice, dstDevice);

	return rt_leave(error != cudaSuccess
				? error
				: RT_CALL(RT_PLAIN, cuDeviceGetP2PAttribute, value,
					  (CUdevice_P2PAttribute)attr, rt_device_handle(srcDevice),
					  rt_device_handle(dstDevice)));
}

cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
					       const enum cudaAtomicOperation *operations,
					       unsigned int count, int srcDevice, int dstDevice)
{
	cudaError_t error = check_pair(srcDevice, dstDevice);

	return rt_leave(error != cudaSuccess
				? error
				: RT_CALL(RT_PLAIN, cuDeviceGetP2PAtomicCapabilities, capabilities,
					  (const CUatomicOperation *)operations, count,
					  rt_device_handle(srcDevice),
					  rt_device_handle(dstDevice)));
}

static cudaError_t enable_peer(int peer, unsigned int flags)
{
	CUcontext context;
	cudaError_t error = rt_primary(peer, &context);

	return error != cudaSuccess ? error
				    : RT_CALL(RT_PLAIN, cuCtxEnablePeerAccess, context, flags);
}

static cudaError_t disable_peer(int peer)
{
	CUcontext context;
	cudaError_t error = rt_primary(peer, &context);

	return error != cudaSuccess ? error : RT_CALL(RT_PLAIN, cuCtxDisablePeerAccess, context);
}

RT_ENTRY(cudaDeviceEnablePeerAccess, (int peerDevice, unsigned int flags),
	 enable_peer(peerDevice, flags))
RT_ENTRY(cudaDeviceDisablePeerAccess, (int peerDevice), disable_peer(peerDevice))

/* ---- the current context ---- */

static cudaError_t synchronize(void)
{
	CUcontext context = NULL;
	cudaError_t error = RT_CALL(RT_PLAIN, cuCtxGetCurrent, &context);

	return error != cudaSuccess ? error : RT_CALL(RT_PLAIN, cuCtxSynchronize, context);
}

RT_ENTRY(cudaDeviceSynchronize, (void), synchronize())
RT_FORWARD(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value), cuCtxSetLimit, (CUlimit)limit,
	   value)
RT_FORWARD(cudaDeviceGetLimit, (size_t * pValue, enum cudaLimit limit), cuCtxGetLimit, pValue,
	   (CUlimit)limit)
RT_FORWARD(cudaDeviceGetCacheConfig, (enum cudaFuncCache * pCacheConfig), cuCtxGetCacheConfig,
	   (CUfunc_cache *)pCacheConfig)
RT_FORWARD(cudaDeviceSetCacheConfig, (enum cudaFuncCache cacheConfig), cuCtxSetCacheConfig,
	   (CUfunc_cache)cacheConfig)
RT_FORWARD(cudaDeviceGetSharedMemConfig, (enum cudaSharedMemConfig * pConfig),
	   cuCtxGetSharedMemConfig, (CUsharedconfig *)pConfig)
RT_FORWARD(cudaDeviceSetSharedMemConfig, (enum cudaSharedMemConfig config), cuCtxSetSharedMemConfig,
	   (CUsharedconfig)config)
RT_FORWARD(cudaDeviceGetStreamPriorityRange, (int *leastPriority, int *greatestPriority),
	   cuCtxGetStreamPriorityRange, leastPriority, greatestPriority)
RT_FORWARD(cudaCtxResetPersistingL2Cache, (void), cuCtxResetPersistingL2Cache)
RT_FORWARD(cudaDeviceFlushGPUDirectRDMAWrites,
	   (enum cudaFlushGPUDirectRDMAWritesTarget target,
	    enum cudaFlushGPUDirectRDMAWritesScope scope),
	   cuFlushGPUDirectRDMAWrites, (CUflushGPUDirectRDMAWritesTarget)target,
	   (CUflushGPUDirectRDMAWritesScope)scope)
RT_FORWARD(cudaProfilerStart, (void), cuProfilerStart)
RT_FORWARD(cudaProfilerStop, (void), cuProfilerStop)

/* ---- versions and entry points ---- */

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return rt_leave(cudaErrorInvalidValue);
	*driverVersion = 0; /* what a machine without a driver answers */
	return rt_leave(rt_bind() == cudaSuccess
				? RT_CALL(RT_PLAIN, cuDriverGetVersion, driverVersion)
				: cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
	if (!runtimeVersion)
		return rt_leave(cudaErrorInvalidValue);
	*runtimeVersion = CUDART_VERSION;
	return cudaSuccess;
}

static cudaError_t entry_point(const char *symbol, void **address, unsigned int version,
			       unsigned long long flags,
			       enum cudaDriverEntryPointQueryResult *ret_status)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	cudaError_t error = rt_load();

	if (error == cudaSuccess &&
	    (!symbol || !address || flags > cudaEnablePerThreadDefaultStream))
		error = cudaErrorInvalidValue;
	if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuGetProcAddress, symbol, address, (int)version, flags,
				&status);
	if (error == cudaSuccess && ret_status)
		*ret_status = (enum cudaDriverEntryPointQueryResult)status;
	/* Without a place for the status a missing symbol is an error. */
	if (error == cudaSuccess && !ret_status && !*address)
		error = cudaErrorSymbolNotFound;
	return rt_leave(error);
}

static unsigned long long per_thread(unsigned long long flags)
{
	return flags == cudaEnableDefault ? cudaEnablePerThreadDefaultStream : flags;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return entry_point(symbol, funcPtr, CUDART_VERSION, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **funcPtr,
					 unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return entry_point(symbol, funcPtr, CUDART_VERSION, per_thread(flags), driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
					     unsigned int cudaVersion, unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return entry_point(symbol, funcPtr, cudaVersion, flags, driverStatus);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(
	const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return entry_point(symbol, funcPtr, cudaVersion, per_thread(flags), driverStatus);
}

cudaError_t __cudaGetProcAddress(const char *name, void **ret_address, int version,
				 unsigned long long flags)
{
	return entry_point(name, ret_address, (unsigned int)version, flags, NULL);
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
						   enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, f};
}
