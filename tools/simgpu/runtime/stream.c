/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events. */
#include "runtime.h"

static cudaError_t create_stream(cudaStream_t *ret_stream, unsigned int flags, int priority)
{
	if (!ret_stream || flags & ~(unsigned int)cudaStreamNonBlocking)
		return cudaErrorInvalidValue;
	return RT_CALL(RT_PLAIN, cuStreamCreateWithPriority, ret_stream, flags, priority);
}

/* Only by an explicit priority can one be other than the default, 0. */
RT_ENTRY(cudaStreamCreate, (cudaStream_t * pStream), create_stream(pStream, 0, 0))
RT_ENTRY(cudaStreamCreateWithFlags, (cudaStream_t * pStream, unsigned int flags),
	 create_stream(pStream, flags, 0))
RT_ENTRY(cudaStreamCreateWithPriority, (cudaStream_t * pStream, unsigned int flags, int priority),
	 create_stream(pStream, flags, priority))
RT_FORWARD(cudaStreamDestroy, (cudaStream_t stream), cuStreamDestroy, stream)

RT_FORWARD_BOTH(cudaStreamGetPriority, _ptsz, (cudaStream_t hStream, int *priority),
		cuStreamGetPriority, hStream, priority)
RT_FORWARD_BOTH(cudaStreamGetFlags, _ptsz, (cudaStream_t hStream, unsigned int *flags),
		cuStreamGetFlags, hStream, flags)
RT_FORWARD_BOTH(cudaStreamGetId, _ptsz, (cudaStream_t hStream, unsigned long long *streamId),
		cuStreamGetId, hStream, streamId)
RT_FORWARD_BOTH(cudaStreamSynchronize, _ptsz, (cudaStream_t stream), cuStreamSynchronize, stream)
RT_FORWARD_BOTH(cudaStreamQuery, _ptsz, (cudaStream_t stream), cuStreamQuery, stream)
RT_FORWARD_BOTH(cudaStreamWaitEvent, _ptsz,
		(cudaStream_t stream, cudaEvent_t event, unsigned int flags), cuStreamWaitEvent,
		stream, event, flags)
RT_FORWARD_BOTH(cudaStreamAttachMemAsync, _ptsz,
		(cudaStream_t stream, void *devPtr, size_t length, unsigned int flags),
		cuStreamAttachMemAsync, stream, (CUdeviceptr)(uintptr_t)devPtr, length, flags)

_Static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUstreamAttrValue),
	       "same attribute value");

RT_FORWARD_BOTH(cudaStreamCopyAttributes, _ptsz, (cudaStream_t dst, cudaStream_t src),
		cuStreamCopyAttributes, dst, src)
RT_FORWARD_BOTH(cudaStreamGetAttribute, _ptsz,
		(cudaStream_t hStream, cudaLaunchAttributeID attr,
		 cudaLaunchAttributeValue *value_out),
		cuStreamGetAttribute, hStream, (CUstreamAttrID)attr, (CUstreamAttrValue *)value_out)
RT_FORWARD_BOTH(cudaStreamSetAttribute, _ptsz,
		(cudaStream_t hStream, cudaLaunchAttributeID attr,
		 const cudaLaunchAttributeValue *value),
		cuStreamSetAttribute, hStream, (CUstreamAttrID)attr,
		(const CUstreamAttrValue *)value)

static cudaError_t stream_device(const struct rt_driver *d, cudaStream_t stream, int *ret_ordinal)
{
	CUdevice handle;
	cudaError_t error = RT_CALL(d, cuStreamGetDevice, stream, &handle);

	for (int i = 0; error == cudaSuccess && i < rt_device_count(); i++)
		if (rt_device_handle(i) == handle)
			*ret_ordinal = i;
	return error;
}

RT_BOTH(cudaStreamGetDevice, _ptsz, (cudaStream_t hStream, int *device), stream_device, hStream,
	device)

/* cudaStreamCallback_t and CUstreamCallback differ in the type of the status alone, an enum of
 * the same numbers in both. */
static cudaError_t add_callback(const struct rt_driver *d, cudaStream_t stream,
				cudaStreamCallback_t callback, void *data, unsigned int flags)
{
	CUstreamCallback driver_callback;

	memcpy(&driver_callback, &callback, sizeof(driver_callback));
	return RT_CALL(d, cuStreamAddCallback, stream, driver_callback, data, flags);
}

RT_BOTH(cudaStreamAddCallback, _ptsz,
	(cudaStream_t stream, cudaStreamCallback_t callback, void *userData, unsigned int flags),
	add_callback, stream, callback, userData, flags)

/* ---- events ---- */

RT_FORWARD(cudaEventCreate, (cudaEvent_t * event), cuEventCreate, event, CU_EVENT_DEFAULT)
RT_FORWARD(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), cuEventCreate,
	   event, flags)
RT_FORWARD(cudaEventDestroy, (cudaEvent_t event), cuEventDestroy, event)
RT_FORWARD(cudaEventQuery, (cudaEvent_t event), cuEventQuery, event)
RT_FORWARD(cudaEventSynchronize, (cudaEvent_t event), cuEventSynchronize, event)
RT_FORWARD(cudaEventElapsedTime, (float *ms, cudaEvent_t start, cudaEvent_t end),
	   cuEventElapsedTime, ms, start, end)
RT_FORWARD_BOTH(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream),
		cuEventRecordWithFlags, event, stream, CU_EVENT_RECORD_DEFAULT)
RT_FORWARD_BOTH(cudaEventRecordWithFlags, _ptsz,
		(cudaEvent_t event, cudaStream_t stream, unsigned int flags),
		cuEventRecordWithFlags, event, stream, flags)

/* ---- capture ---- */

RT_FORWARD_BOTH(cudaStreamBeginCapture, _ptsz,
		(cudaStream_t stream, enum cudaStreamCaptureMode mode), cuStreamBeginCapture,
		stream, (CUstreamCaptureMode)mode)
RT_FORWARD_BOTH(cudaStreamBeginCaptureToGraph, _ptsz,
		(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
		 const cudaGraphEdgeData *dependencyData, size_t numDependencies,
		 enum cudaStreamCaptureMode mode),
		cuStreamBeginCaptureToGraph, stream, graph, dependencies,
		(const CUgraphEdgeData *)dependencyData, numDependencies, (CUstreamCaptureMode)mode)
RT_FORWARD_BOTH(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t *pGraph),
		cuStreamEndCapture, stream, pGraph)
RT_FORWARD_BOTH(cudaStreamIsCapturing, _ptsz,
		(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus),
		cuStreamIsCapturing, stream, (CUstreamCaptureStatus *)pCaptureStatus)
RT_FORWARD_BOTH(cudaStreamGetCaptureInfo, _ptsz,
		(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
		 unsigned long long *id_out, cudaGraph_t *graph_out,
		 const cudaGraphNode_t **dependencies_out, const cudaGraphEdgeData **edgeData_out,
		 size_t *numDependencies_out),
		cuStreamGetCaptureInfo, stream, (CUstreamCaptureStatus *)captureStatus_out,
		(cuuint64_t *)id_out, graph_out, dependencies_out,
		(const CUgraphEdgeData **)edgeData_out, numDependencies_out)
RT_FORWARD_BOTH(cudaStreamUpdateCaptureDependencies, _ptsz,
		(cudaStream_t stream, cudaGraphNode_t *dependencies,
		 const cudaGraphEdgeData *dependencyData, size_t numDependencies,
		 unsigned int flags),
		cuStreamUpdateCaptureDependencies, stream, dependencies,
		(const CUgraphEdgeData *)dependencyData, numDependencies, flags)
RT_FORWARD(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode),
	   cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *)mode)
