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

	if (launch_is_inert() ||
	    likely(!launch_raise_first() && launch_fast(predict_graph_tag(hGraph), key)))
		return real.cuGraphLaunch(hGraph, hStream);
	return graph_slow(real.cuGraphLaunch, hGraph, hStream, key);
}

CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec hGraph, CUstream hStream)
{
	CUstream key = stream_key(hStream, true);

	if (launch_is_inert() ||
	    likely(!launch_raise_first() && launch_fast(predict_graph_tag(hGraph), key)))
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

/* A handle may come back with other work behind it: what was known of it is forgotten. One that is
 * updated mostly has the same work, on other data: then what was measured stays. */
static void look(CUgraphExec exec, CUgraph graph, bool is_update)
{
	uint64_t guess_ns = PREDICT_GRAPH_NS, tag = predict_graph_tag(exec);
	struct graph_facts facts;

	graph_look(graph, &facts);
	if (facts.nodes)
		guess_ns = facts.nodes * NODE_GUESS_NS;
	if (guess_ns > PREDICT_MAX_NS)
		guess_ns = PREDICT_MAX_NS;
	collective_graph_made(exec, facts.is_collective);
	if (is_update &&
	    known_is_graph(&launch_predict, predict_find(&launch_predict, tag, (uint32_t)guess_ns),
			   facts.digest))
		return;
	predict_forget(&launch_predict, tag, (uint32_t)guess_ns);
	known_meet_graph(&launch_predict, predict_find(&launch_predict, tag, (uint32_t)guess_ns),
			 facts.digest);
}

static CUresult instantiated(CUresult result, const CUgraphExec *exec, CUgraph graph)
{
	if (result == CUDA_SUCCESS && shim_enter()) {
		look(*exec, graph, false);
		shim_leave();
	}
	return result;
}

static CUresult updated(CUresult result, CUgraphExec exec, CUgraph graph)
{
	if (result == CUDA_SUCCESS && shim_enter()) {
		look(exec, graph, true);
		shim_leave();
	}
	return result;
}

/* One that a collective is put into is one; whether one without it is left no driver tells. */
static CUresult node_set(CUresult result, CUgraphExec exec, const void *kernel, CUgraph child)
{
	struct graph_facts facts = {0};

	if (result != CUDA_SUCCESS || !shim_enter())
		return result;
	if (child)
		graph_look(child, &facts);
	else if (kernel)
		facts.is_collective = graph_kernel_is_collective(kernel);
	if (facts.is_collective)
		collective_graph_made(exec, true);
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

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
				   CUgraphNode *hErrorNode_out,
				   CUgraphExecUpdateResult *updateResult_out)
{
	return updated(real.cuGraphExecUpdate(hGraphExec, hGraph, hErrorNode_out, updateResult_out),
		       hGraphExec, hGraph);
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
				      CUgraphExecUpdateResultInfo *resultInfo)
{
	return updated(real.cuGraphExecUpdate_v2(hGraphExec, hGraph, resultInfo), hGraphExec,
		       hGraph);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
						const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	return node_set(real.cuGraphExecKernelNodeSetParams(hGraphExec, hNode, nodeParams),
			hGraphExec, nodeParams ? nodeParams->func : NULL, NULL);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
						   const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	return node_set(real.cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, nodeParams),
			hGraphExec, nodeParams ? graph_kernel_of(nodeParams) : NULL, NULL);
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					  CUgraphNodeParams *nodeParams)
{
	const void *kernel = NULL;
	CUgraph child = NULL;

	if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_KERNEL)
		kernel = nodeParams->kernel.func ? (const void *)nodeParams->kernel.func
						 : (const void *)nodeParams->kernel.kern;
	else if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH)
		child = nodeParams->graph.graph;
	return node_set(real.cuGraphExecNodeSetParams(hGraphExec, hNode, nodeParams), hGraphExec,
			kernel, child);
}

CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
						    CUgraph childGraph)
{
	return node_set(real.cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode, childGraph),
			hGraphExec, NULL, childGraph);
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	if (shim_enter()) {
		collective_graph_gone(hGraphExec);
		shim_leave();
	}
	return real.cuGraphExecDestroy(hGraphExec);
}
