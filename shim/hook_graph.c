/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: one launch unit each, timed as a whole. Until one has been timed its cost is guessed from
 * the number of its nodes.
 */
#include "collective.h"
#include "graph.h"
#include "known.h"
#include "launch.h"

#define NODE_GUESS_NS 20000u

static CUresult graph_slow(CUresult (*call)(CUgraphExec, CUstream), CUgraphExec exec,
			   CUstream stream, CUstream key)
{
	struct sample_what what = {.kind = PREDICT_GRAPH, .handle = exec};
	struct launch launch;
	CUresult result;

	launch_begin(&launch, predict_graph_tag(exec), PREDICT_GRAPH_NS, key, what, 0);
	result = call(exec, stream);
	launch_end(&launch, result);
	return result;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
	CUstream key = stream_key(hStream, false);

	if (launch_is_inert() || likely(launch_fast(predict_graph_tag(hGraph), key)))
		return real.cuGraphLaunch(hGraph, hStream);
	return graph_slow(real.cuGraphLaunch, hGraph, hStream, key);
}

CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec hGraph, CUstream hStream)
{
	CUstream key = stream_key(hStream, true);

	if (launch_is_inert() || likely(launch_fast(predict_graph_tag(hGraph), key)))
		return real.cuGraphLaunch_ptsz(hGraph, hStream);
	return graph_slow(real.cuGraphLaunch_ptsz, hGraph, hStream, key);
}

/* An upload moves the graph's own data, not the program's: it is small and is not held. */
CUresult CUDAAPI cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
	return real.cuGraphUpload(hGraph, hStream);
}

CUresult CUDAAPI cuGraphUpload_ptsz(CUgraphExec hGraph, CUstream hStream)
{
	return real.cuGraphUpload_ptsz(hGraph, hStream);
}

/* A handle may come back with other work behind it: what was known of it is forgotten. */
static CUresult instantiated(CUresult result, const CUgraphExec *exec, CUgraph graph)
{
	struct graph_facts facts;
	uint64_t guess_ns = PREDICT_GRAPH_NS, tag;

	if (result != CUDA_SUCCESS || !shim_enter())
		return result;
	graph_look(graph, &facts);
	if (facts.nodes)
		guess_ns = facts.nodes * NODE_GUESS_NS;
	tag = predict_graph_tag(*exec);
	if (guess_ns > PREDICT_MAX_NS)
		guess_ns = PREDICT_MAX_NS;
	predict_forget(&launch_predict, tag, (uint32_t)guess_ns);
	known_meet_graph(&launch_predict, predict_find(&launch_predict, tag, (uint32_t)guess_ns),
			 facts.digest);
	collective_graph_made(*exec, facts.is_collective);
	shim_leave();
	return result;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph,
				    CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
	return instantiated(
		real.cuGraphInstantiate(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize),
		phGraphExec, hGraph);
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
				       CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
	return instantiated(
		real.cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize),
		phGraphExec, hGraph);
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
					     unsigned long long flags)
{
	return instantiated(real.cuGraphInstantiateWithFlags(phGraphExec, hGraph, flags),
			    phGraphExec, hGraph);
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
					      CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	return instantiated(
		real.cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams),
		phGraphExec, hGraph);
}

CUresult CUDAAPI cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
						   CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	return instantiated(
		real.cuGraphInstantiateWithParams_ptsz(phGraphExec, hGraph, instantiateParams),
		phGraphExec, hGraph);
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	if (shim_enter()) {
		collective_graph_gone(hGraphExec);
		shim_leave();
	}
	return real.cuGraphExecDestroy(hGraphExec);
}
