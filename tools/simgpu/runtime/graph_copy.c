/* SPDX-License-Identifier: Apache-2.0 */
/* Copy nodes of graphs, and the entry that adds a node of any type. */
#include "runtime.h"

typedef const cudaGraphNode_t *deps_t;

static cudaError_t to_copy(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret,
			   CUcontext *ret_context)
{
	cudaError_t error = rt_copy3d(p, ret);

	return error != cudaSuccess ? error : RT_CALL(RT_PLAIN, cuCtxGetCurrent, ret_context);
}

static cudaError_t add_copy(cudaGraphNode_t *ret_node, cudaGraph_t graph, deps_t deps, size_t count,
			    const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D copy;
	CUcontext context;
	cudaError_t error = to_copy(p, &copy, &context);

	return error != cudaSuccess ? error
				    : RT_CALL(RT_PLAIN, cuGraphAddMemcpyNode, ret_node, graph, deps,
					      count, &copy, context);
}

static cudaError_t get_copy(cudaGraphNode_t node, struct cudaMemcpy3DParms *ret)
{
	CUDA_MEMCPY3D copy;
	cudaError_t error = ret ? RT_CALL(RT_PLAIN, cuGraphMemcpyNodeGetParams, node, &copy)
				: cudaErrorInvalidValue;

	return error != cudaSuccess ? error : rt_copy3d_back(&copy, ret);
}

static cudaError_t set_copy(cudaGraphExec_t exec, cudaGraphNode_t node,
			    const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D copy;
	CUcontext context;
	cudaError_t error = to_copy(p, &copy, &context);

	if (error != cudaSuccess)
		return error;
	return exec ? RT_CALL(RT_PLAIN, cuGraphExecMemcpyNodeSetParams, exec, node, &copy, context)
		    : RT_CALL(RT_PLAIN, cuGraphMemcpyNodeSetParams, node, &copy);
}

RT_ENTRY(cudaGraphAddMemcpyNode,
	 (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	  size_t numDependencies, const struct cudaMemcpy3DParms *pCopyParams),
	 add_copy(pGraphNode, graph, pDependencies, numDependencies, pCopyParams))
RT_ENTRY(cudaGraphMemcpyNodeGetParams,
	 (cudaGraphNode_t node, struct cudaMemcpy3DParms *pNodeParams), get_copy(node, pNodeParams))
RT_ENTRY(cudaGraphMemcpyNodeSetParams,
	 (cudaGraphNode_t node, const struct cudaMemcpy3DParms *pNodeParams),
	 set_copy(NULL, node, pNodeParams))
RT_ENTRY(cudaGraphExecMemcpyNodeSetParams,
	 (cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
	  const struct cudaMemcpy3DParms *pNodeParams),
	 set_copy(hGraphExec, node, pNodeParams))

/* ---- one dimension ---- */

static struct cudaMemcpy3DParms line(void *dst, const void *src, size_t bytes,
				     enum cudaMemcpyKind kind)
{
	return (struct cudaMemcpy3DParms){
		.srcPtr = {(void *)(uintptr_t)src, bytes, bytes, 1},
		.dstPtr = {dst, bytes, bytes, 1},
		.extent = {bytes, 1, 1},
		.kind = kind,
	};
}

static cudaError_t add_line(cudaGraphNode_t *ret_node, cudaGraph_t graph, deps_t deps, size_t count,
			    void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms p = line(dst, src, bytes, kind);

	return add_copy(ret_node, graph, deps, count, &p);
}

static cudaError_t set_line(cudaGraphExec_t exec, cudaGraphNode_t node, void *dst, const void *src,
			    size_t bytes, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms p = line(dst, src, bytes, kind);

	return set_copy(exec, node, &p);
}

RT_ENTRY(cudaGraphAddMemcpyNode1D,
	 (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	  size_t numDependencies, void *dst, const void *src, size_t count,
	  enum cudaMemcpyKind kind),
	 add_line(pGraphNode, graph, pDependencies, numDependencies, dst, src, count, kind))
RT_ENTRY(cudaGraphMemcpyNodeSetParams1D,
	 (cudaGraphNode_t node, void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
	 set_line(NULL, node, dst, src, count, kind))
RT_ENTRY(cudaGraphExecMemcpyNodeSetParams1D,
	 (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst, const void *src,
	  size_t count, enum cudaMemcpyKind kind),
	 set_line(hGraphExec, node, dst, src, count, kind))

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

#define SYMBOL_NODE(add, set, exec_set, PARAMS, symbol, dst, src) \
	RT_ENTRY(add, \
		 (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, \
		  const cudaGraphNode_t *pDependencies, size_t numDependencies, PARAMS, \
		  size_t count, size_t offset, enum cudaMemcpyKind kind), \
		 ({ \
			 void *part; \
			 cudaError_t e = symbol_part(symbol, offset, count, &part); \
			 e != cudaSuccess ? e \
					  : add_line(pGraphNode, graph, pDependencies, \
						     numDependencies, dst, src, count, kind); \
		 })) \
	RT_ENTRY(set, \
		 (cudaGraphNode_t node, PARAMS, size_t count, size_t offset, \
		  enum cudaMemcpyKind kind), \
		 ({ \
			 void *part; \
			 cudaError_t e = symbol_part(symbol, offset, count, &part); \
			 e != cudaSuccess ? e : set_line(NULL, node, dst, src, count, kind); \
		 })) \
	RT_ENTRY(exec_set, \
		 (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, PARAMS, size_t count, \
		  size_t offset, enum cudaMemcpyKind kind), \
		 ({ \
			 void *part; \
			 cudaError_t e = symbol_part(symbol, offset, count, &part); \
			 e != cudaSuccess ? e : set_line(hGraphExec, node, dst, src, count, kind); \
		 }))
#define TO_SYMBOL const void *symbol, const void *src
#define FROM_SYMBOL void *dst, const void *symbol

SYMBOL_NODE(cudaGraphAddMemcpyNodeToSymbol, cudaGraphMemcpyNodeSetParamsToSymbol,
	    cudaGraphExecMemcpyNodeSetParamsToSymbol, TO_SYMBOL, symbol, part, src)
SYMBOL_NODE(cudaGraphAddMemcpyNodeFromSymbol, cudaGraphMemcpyNodeSetParamsFromSymbol,
	    cudaGraphExecMemcpyNodeSetParamsFromSymbol, FROM_SYMBOL, symbol, dst, part)

/* ---- a node of any type ---- */

static bool is_plain(const cudaGraphEdgeData *edges, size_t count)
{
	static const cudaGraphEdgeData plain;

	for (size_t i = 0; edges && i < count; i++)
		if (memcmp(&edges[i], &plain, sizeof(plain)))
			return false;
	return true;
}

static cudaError_t add_alloc(cudaGraphNode_t *ret_node, cudaGraph_t graph, deps_t deps,
			     size_t count, struct cudaMemAllocNodeParamsV2 *p)
{
	struct cudaMemAllocNodeParams v1 = {.poolProps = p->poolProps,
					    .accessDescs = p->accessDescs,
					    .accessDescCount = p->accessDescCount,
					    .bytesize = p->bytesize};
	cudaError_t error = cudaGraphAddMemAllocNode(ret_node, graph, deps, count, &v1);

	p->dptr = v1.dptr;
	return error;
}

static cudaError_t add_fill_v2(cudaGraphNode_t *ret_node, cudaGraph_t graph, deps_t deps,
			       size_t count, const struct cudaMemsetParamsV2 *p)
{
	struct cudaMemsetParams v1 = {.dst = p->dst,
				      .pitch = p->pitch,
				      .value = p->value,
				      .elementSize = p->elementSize,
				      .width = p->width,
				      .height = p->height};

	return cudaGraphAddMemsetNode(ret_node, graph, deps, count, &v1);
}

static cudaError_t add_kernel_v2(cudaGraphNode_t *ret_node, cudaGraph_t graph, deps_t deps,
				 size_t count, const struct cudaKernelNodeParamsV2 *p)
{
	struct cudaKernelNodeParams v1 = {p->func,	     p->gridDim,      p->blockDim,
					  p->sharedMemBytes, p->kernelParams, p->extra};

	return cudaGraphAddKernelNode(ret_node, graph, deps, count, &v1);
}

static cudaError_t add_any(cudaGraphNode_t *ret_node, cudaGraph_t graph, deps_t deps, size_t count,
			   struct cudaGraphNodeParams *p)
{
	struct cudaHostNodeParams host;

	switch (p->type) {
	case cudaGraphNodeTypeKernel:
		return add_kernel_v2(ret_node, graph, deps, count, &p->kernel);
	case cudaGraphNodeTypeMemcpy:
		return add_copy(ret_node, graph, deps, count, &p->memcpy.copyParams);
	case cudaGraphNodeTypeMemset: return add_fill_v2(ret_node, graph, deps, count, &p->memset);
	case cudaGraphNodeTypeHost:
		host = (struct cudaHostNodeParams){p->host.fn, p->host.userData};
		return cudaGraphAddHostNode(ret_node, graph, deps, count, &host);
	case cudaGraphNodeTypeGraph:
		return cudaGraphAddChildGraphNode(ret_node, graph, deps, count, p->graph.graph);
	case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(ret_node, graph, deps, count);
	case cudaGraphNodeTypeWaitEvent:
		return cudaGraphAddEventWaitNode(ret_node, graph, deps, count, p->eventWait.event);
	case cudaGraphNodeTypeEventRecord:
		return cudaGraphAddEventRecordNode(ret_node, graph, deps, count,
						   p->eventRecord.event);
	case cudaGraphNodeTypeMemAlloc: return add_alloc(ret_node, graph, deps, count, &p->alloc);
	case cudaGraphNodeTypeMemFree:
		return cudaGraphAddMemFreeNode(ret_node, graph, deps, count, p->free.dptr);
	default: return rt_refuse("cudaGraphAddNode of this type");
	}
}

static cudaError_t add_node(cudaGraphNode_t *ret_node, cudaGraph_t graph, deps_t deps,
			    const cudaGraphEdgeData *edges, size_t count,
			    struct cudaGraphNodeParams *p)
{
	if (!p)
		return cudaErrorInvalidValue;
	if (!is_plain(edges, count))
		return rt_refuse("cudaGraphAddNode with programmatic edges");
	return add_any(ret_node, graph, deps, count, p);
}

RT_ENTRY(cudaGraphAddNode,
	 (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	  const cudaGraphEdgeData *dependencyData, size_t numDependencies,
	  struct cudaGraphNodeParams *nodeParams),
	 add_node(pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams))
