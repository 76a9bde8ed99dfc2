/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures: the shim must know that one may be open before it is, and errs upwards. While any is,
 * every launch asks the driver about its own stream.
 */
#include "capture.h"

/* From here on no marker is placed without asking whether the stream captures. */
static void opened(void)
{
	shim_capture_opened();
	stream_await_marks();
}

static CUresult begun(CUstream key, CUresult result)
{
	if (result == CUDA_SUCCESS)
		capture_origin_add(key);
	else
		shim_capture_closed();
	return result;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream hStream)
{
	opened();
	return begun(stream_key(hStream, false), real.cuStreamBeginCapture(hStream));
}

CUresult CUDAAPI cuStreamBeginCapture_ptsz(CUstream hStream)
{
	opened();
	return begun(stream_key(hStream, true), real.cuStreamBeginCapture_ptsz(hStream));
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	opened();
	return begun(stream_key(hStream, false), real.cuStreamBeginCapture_v2(hStream, mode));
}

CUresult CUDAAPI cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
	opened();
	return begun(stream_key(hStream, true), real.cuStreamBeginCapture_v2_ptsz(hStream, mode));
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
					     const CUgraphNode *dependencies,
					     const CUgraphEdgeData *dependencyData,
					     size_t numDependencies, CUstreamCaptureMode mode)
{
	opened();
	return begun(stream_key(hStream, false),
		     real.cuStreamBeginCaptureToGraph(hStream, hGraph, dependencies, dependencyData,
						      numDependencies, mode));
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph,
						  const CUgraphNode *dependencies,
						  const CUgraphEdgeData *dependencyData,
						  size_t numDependencies, CUstreamCaptureMode mode)
{
	opened();
	return begun(stream_key(hStream, true),
		     real.cuStreamBeginCaptureToGraph_ptsz(hStream, hGraph, dependencies,
							   dependencyData, numDependencies, mode));
}

/* A failed end may have ended the capture or not: the driver is asked. */
static CUresult ended(CUstream key, CUresult result)
{
	if (result == CUDA_SUCCESS || !capture_is_open(key)) {
		if (capture_origin_remove(key))
			shim_capture_closed();
	}
	return result;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	return ended(stream_key(hStream, false), real.cuStreamEndCapture(hStream, phGraph));
}

CUresult CUDAAPI cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
	return ended(stream_key(hStream, true), real.cuStreamEndCapture_ptsz(hStream, phGraph));
}
