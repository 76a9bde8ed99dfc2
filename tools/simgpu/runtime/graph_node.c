/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of graphs that are no copies: kernels, memsets, host functions, events, memory. */
#include "runtime.h"

typedef const cudaGraphNode_t *deps_t;

static cudaError_t to_kernel(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret)
{
	CUkernel kernel;
	cudaError_t error = p ? rt_kernel_of(p->func, &kernel) : cudaErrorInvalidValue;

	if (error != cudaSuccess)
		return error;
	*ret = (CUDA_KERNEL_NODE_PARAMS){
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
		.kern = kernel,
	};
	return cudaSuccess;
}

static cudaError_t add_kernel(cudaGraphNode_t *ret_node, cudaGraph_t graph, deps_t deps,
			      size_t count, const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS params;
	cudaError_t error = to_kernel(p, &params);

	return error != cudaSuccess ? error
				    : RT_CALL(RT_PLAIN, cuGraphAddKernelNode, ret_node, graph, deps,
					      count, &params);
}

static cudaError_t get_kernel(cudaGraphNode_t node, struct cudaKernelNodeParams *ret)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t error = ret ? RT_CALL(RT_PLAIN, cuGraphKernelNodeGetParams, node, &p)
				: cudaErrorInvalidValue;

	if (error != cudaSuccess)
		return error;
	*ret = (struct cudaKernelNodeParams){
		.func = (void *)(uintptr_t)rt_host_of_kernel(p.func ? (CUkernel)p.func : p.kern),
		.gridDim = {p.gridDimX, p.gridDimY, p.gridDimZ},
		.blockDim = {p.blockDimX, p.blockDimY, p.blockDimZ},
		.sharedMemBytes = p.sharedMemBytes,
		.kernelParams = p.kernelParams,
		.extra = p.extra,
	};
	return cudaSuccess;
}

static cudaError_t set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node,
			      const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS params;
	cudaError_t error = to_kernel(p, &params);

	if (error != cudaSuccess)
		return error;
	return exec ? RT_CALL(RT_PLAIN, cuGraphExecKernelNodeSetParams, exec, node, &params)
		    : RT_CALL(RT_PLAIN, cuGraphKernelNodeSetParams, node, &params);
}

RT_ENTRY(cudaGraphAddKernelNode,
	 (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	  size_t numDependencies, const struct cudaKernelNodeParams *pNodeParams),
	 add_kernel(pGraphNode, graph, pDependencies, numDependencies, pNodeParams))
RT_ENTRY(cudaGraphKernelNodeGetParams,
	 (cudaGraphNode_t node, struct cudaKernelNodeParams *pNodeParams),
	 get_kernel(node, pNodeParams))
RT_ENTRY(cudaGraphKernelNodeSetParams,
	 (cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams),
	 set_kernel(NULL, node, pNodeParams))
RT_ENTRY(cudaGraphExecKernelNodeSetParams,
	 (cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
	  const struct cudaKernelNodeParams *pNodeParams),
	 set_kernel(hGraphExec, node, pNodeParams))
RT_FORWARD(cudaGraphKernelNodeCopyAttributes, (cudaGraphNode_t hDst, cudaGraphNode_t hSrc),
	   cuGraphKernelNodeCopyAttributes, hDst, hSrc)
RT_FORWARD(cudaGraphKernelNodeGetAttribute,
	   (cudaGraphNode_t hNode, cudaLaunchAttributeID attr, cudaLaunchAttributeValue *value_out),
	   cuGraphKernelNodeGetAttribute, hNode, (CUkernelNodeAttrID)attr,
	   (CUkernelNodeAttrValue *)value_out)
RT_FORWARD(cudaGraphKernelNodeSetAttribute,
	   (cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
	    const cudaLaunchAttributeValue *value),
	   cuGraphKernelNodeSetAttribute, hNode, (CUkernelNodeAttrID)attr,
	   (const CUkernelNodeAttrValue *)value)

/* ---- memsets ---- */

static cudaError_t to_fill(const struct cudaMemsetParams *p, CUDA_MEMSET_NODE_PARAMS *ret,
			   CUcontext *ret_context)
{
	if (!p)
		return cudaErrorInvalidValue;
	*ret = (CUDA_MEMSET_NODE_PARAMS){
		.dst = (CUdeviceptr)(uintptr_t)p->dst,
		.pitch = p->pitch,
		.value = p->value,
		.elementSize = p->elementSize,
		.width = p->width,
		.height = p->height,
	};
	return RT_CALL(RT_PLAIN, cuCtxGetCurrent, ret_context);
}

static cudaError_t add_fill(cudaGraphNode_t *ret_node, cudaGraph_t graph, deps_t deps, size_t count,
			    const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS params;
	CUcontext context;
	cudaError_t error = to_fill(p, &params, &context);

	return error != cudaSuccess ? error
				    : RT_CALL(RT_PLAIN, cuGraphAddMemsetNode, ret_node, graph, deps,
					      count, &params, context);
}

static cudaError_t get_fill(cudaGraphNode_t node, struct cudaMemsetParams *ret)
{
	CUDA_MEMSET_NODE_PARAMS p;
	cudaError_t error = ret ? RT_CALL(RT_PLAIN, cuGraphMemsetNodeGetParams, node, &p)
				: cudaErrorInvalidValue;

	if (error != cudaSuccess)
		return error;
	*ret = (struct cudaMemsetParams){
		.dst = (void *)(uintptr_t)p.dst,
		.pitch = p.pitch,
		.value = p.value,
		.elementSize = p.elementSize,
		.width = p.width,
		.height = p.height,
	};
	return cudaSuccess;
}

static cudaError_t set_fill(cudaGraphExec_t exec, cudaGraphNode_t node,
			    const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS params;
	CUcontext context;
	cudaError_t error = to_fill(p, &params, &context);

	if (error != cudaSuccess)
		return error;
	return exec ? RT_CALL(RT_PLAIN, cuGraphExecMemsetNodeSetParams, exec, node, &params,
			      context)
		    : RT_CALL(RT_PLAIN, cuGraphMemsetNodeSetParams, node, &params);
}

RT_ENTRY(cudaGraphAddMemsetNode,
	 (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	  size_t numDependencies, const struct cudaMemsetParams *pMemsetParams),
	 add_fill(pGraphNode, graph, pDependencies, numDependencies, pMemsetParams))
RT_ENTRY(cudaGraphMemsetNodeGetParams, (cudaGraphNode_t node, struct cudaMemsetParams *pNodeParams),
	 get_fill(node, pNodeParams))
RT_ENTRY(cudaGraphMemsetNodeSetParams,
	 (cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams),
	 set_fill(NULL, node, pNodeParams))
RT_ENTRY(cudaGraphExecMemsetNodeSetParams,
	 (cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
	  const struct cudaMemsetParams *pNodeParams),
	 set_fill(hGraphExec, node, pNodeParams))

/* ---- host functions, events, children, nothing ---- */

_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS),
	       "same host function");

RT_FORWARD(cudaGraphAddHostNode,
	   (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	    size_t numDependencies, const struct cudaHostNodeParams *pNodeParams),
	   cuGraphAddHostNode, pGraphNode, graph, pDependencies, numDependencies,
	   (const CUDA_HOST_NODE_PARAMS *)pNodeParams)
RT_FORWARD(cudaGraphHostNodeGetParams,
	   (cudaGraphNode_t node, struct cudaHostNodeParams *pNodeParams), cuGraphHostNodeGetParams,
	   node, (CUDA_HOST_NODE_PARAMS *)pNodeParams)
RT_FORWARD(cudaGraphHostNodeSetParams,
	   (cudaGraphNode_t node, const struct cudaHostNodeParams *pNodeParams),
	   cuGraphHostNodeSetParams, node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams)
RT_FORWARD(cudaGraphExecHostNodeSetParams,
	   (cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
	    const struct cudaHostNodeParams *pNodeParams),
	   cuGraphExecHostNodeSetParams, hGraphExec, node,
	   (const CUDA_HOST_NODE_PARAMS *)pNodeParams)
RT_FORWARD(cudaGraphAddEmptyNode,
	   (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	    size_t numDependencies),
	   cuGraphAddEmptyNode, pGraphNode, graph, pDependencies, numDependencies)
RT_FORWARD(cudaGraphAddChildGraphNode,
	   (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	    size_t numDependencies, cudaGraph_t childGraph),
	   cuGraphAddChildGraphNode, pGraphNode, graph, pDependencies, numDependencies, childGraph)
RT_FORWARD(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *pGraph),
	   cuGraphChildGraphNodeGetGraph, node, pGraph)
RT_FORWARD(cudaGraphExecChildGraphNodeSetParams,
	   (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, cudaGraph_t childGraph),
	   cuGraphExecChildGraphNodeSetParams, hGraphExec, node, childGraph)
RT_FORWARD(cudaGraphAddEventRecordNode,
	   (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	    size_t numDependencies, cudaEvent_t event),
	   cuGraphAddEventRecordNode, pGraphNode, graph, pDependencies, numDependencies, event)
RT_FORWARD(cudaGraphEventRecordNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event_out),
	   cuGraphEventRecordNodeGetEvent, node, event_out)
RT_FORWARD(cudaGraphEventRecordNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
	   cuGraphEventRecordNodeSetEvent, node, event)
RT_FORWARD(cudaGraphExecEventRecordNodeSetEvent,
	   (cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event),
	   cuGraphExecEventRecordNodeSetEvent, hGraphExec, hNode, event)
RT_FORWARD(cudaGraphAddEventWaitNode,
	   (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	    size_t numDependencies, cudaEvent_t event),
	   cuGraphAddEventWaitNode, pGraphNode, graph, pDependencies, numDependencies, event)
RT_FORWARD(cudaGraphEventWaitNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event_out),
	   cuGraphEventWaitNodeGetEvent, node, event_out)
RT_FORWARD(cudaGraphEventWaitNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
	   cuGraphEventWaitNodeSetEvent, node, event)
RT_FORWARD(cudaGraphExecEventWaitNodeSetEvent,
	   (cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event),
	   cuGraphExecEventWaitNodeSetEvent, hGraphExec, hNode, event)

/* ---- memory ---- */

_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1),
	       "same allocation");

RT_FORWARD(cudaGraphAddMemAllocNode,
	   (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	    size_t numDependencies, struct cudaMemAllocNodeParams *nodeParams),
	   cuGraphAddMemAllocNode, pGraphNode, graph, pDependencies, numDependencies,
	   (CUDA_MEM_ALLOC_NODE_PARAMS_v1 *)nodeParams)
RT_FORWARD(cudaGraphMemAllocNodeGetParams,
	   (cudaGraphNode_t node, struct cudaMemAllocNodeParams *params_out),
	   cuGraphMemAllocNodeGetParams, node, (CUDA_MEM_ALLOC_NODE_PARAMS_v1 *)params_out)
RT_FORWARD(cudaGraphAddMemFreeNode,
	   (cudaGraphNode_t * pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
	    size_t numDependencies, void *dptr),
	   cuGraphAddMemFreeNode, pGraphNode, graph, pDependencies, numDependencies,
	   (CUdeviceptr)(uintptr_t)dptr)
RT_FORWARD(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void *dptr_out),
	   cuGraphMemFreeNodeGetParams, node, (CUdeviceptr *)dptr_out)
