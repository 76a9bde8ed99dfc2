/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/graph_node.h"

#include <string.h>

#include "driver/copy_sides.h"
#include "driver/error.h"
#include "driver/event.h"
#include "driver/launch.h"
#include "driver/memop.h"
#include "driver/memset.h"

/* ---- parameters to work ---- */

CUresult node_kernel_work(const CUDA_KERNEL_NODE_PARAMS *params, struct work *ret_work)
{
	struct sim_context *context;
	CUfunction function;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (params == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	function = params->func;
	if (function == NULL) {
		/* A kernel and a function are one thing here. */
		function = (CUfunction)params->kern;
		if (params->ctx != NULL)
			context = (struct sim_context *)params->ctx;
		if (context->magic != SIM_MAGIC_CONTEXT)
			return CUDA_ERROR_INVALID_CONTEXT;
	}
	return launch_prepare(
		context, function,
		&(struct launch_shape){{params->gridDimX, params->gridDimY, params->gridDimZ},
				       {params->blockDimX, params->blockDimY, params->blockDimZ},
				       params->sharedMemBytes},
		params->kernelParams, params->extra, ret_work);
}

CUresult node_kernel_work_1(const CUDA_KERNEL_NODE_PARAMS_v1 *params, struct work *ret_work)
{
	CUDA_KERNEL_NODE_PARAMS full;

	if (params == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	memset(&full, 0, sizeof(full));
	memcpy(&full, params, sizeof(*params));
	return node_kernel_work(&full, ret_work);
}

CUresult node_copy_work(const CUDA_MEMCPY3D *params, struct work *ret_work)
{
	return params == NULL ? CUDA_ERROR_INVALID_VALUE
			      : side_from_3d("cuGraphAddMemcpyNode", params, ret_work);
}

CUresult node_set_work(const CUDA_MEMSET_NODE_PARAMS *params, struct work *ret_work)
{
	if (params == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return memset_prepare(params->dst, params->pitch, params->value, params->elementSize,
			      params->width, params->height, ret_work);
}

CUresult node_host_work(const CUDA_HOST_NODE_PARAMS *params, struct work *ret_work)
{
	if (params == NULL || params->fn == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret_work, 0, sizeof(*ret_work));
	ret_work->kind = WORK_HOST;
	ret_work->host.fn = params->fn;
	ret_work->host.arg = params->userData;
	return CUDA_SUCCESS;
}

CUresult node_event_work(CUevent handle, enum work_kind kind, struct work *ret_work)
{
	struct event *event = event_get(handle);

	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	memset(ret_work, 0, sizeof(*ret_work));
	ret_work->kind = kind;
	ret_work->event = event;
	return CUDA_SUCCESS;
}

CUresult node_child_work(CUgraph handle, struct work *ret_work)
{
	struct graph *graph = graph_get(handle);
	int err;

	if (graph == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret_work, 0, sizeof(*ret_work));
	ret_work->kind = WORK_CHILD;
	err = graph_dup(graph, &ret_work->child);
	if (err != 0)
		return error_from_errno(err);
	ret_work->child->is_child = true;
	return CUDA_SUCCESS;
}

CUresult node_alloc_work(struct sim_context *context, const CUmemPoolProps *props, size_t bytes,
			 struct work *ret_work)
{
	if (bytes == 0 || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
		return sim_refuse("cuGraphAddMemAllocNode", "other than unshared device memory");
	return work_take_memory(context, bytes, ret_work);
}

CUresult node_set(struct graph_node *node, CUgraphNodeType type, struct work *work)
{
	if (node == NULL || node->type != type) {
		work_finish(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	work->priority = node->work.priority;
	work_finish(&node->work);
	node->work = *work;
	work->kind = WORK_NONE;
	return CUDA_SUCCESS;
}

/* ---- adding ---- */

static CUresult add(CUgraphNode *ret_handle, CUgraph handle, const CUgraphNode *dependencies,
		    size_t count, CUgraphNodeType type, CUresult result, struct work *work)
{
	struct graph *graph = graph_get(handle);
	struct graph_node *node;

	if (result != CUDA_SUCCESS)
		return result;
	if (graph == NULL || ret_handle == NULL) {
		work_finish(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	result = graph_add(graph, type, work,
			   (struct graph_node *const *)(const void *)dependencies, count, &node);
	if (result == CUDA_SUCCESS)
		*ret_handle = (CUgraphNode)node;
	return result;
}

CUresult cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			      const CUgraphNode *dependencies, size_t numDependencies,
			      const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	struct work work;
	CUresult result = node_kernel_work_1(nodeParams, &work);

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL,
		   result, &work);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
				 const CUgraphNode *dependencies, size_t numDependencies,
				 const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct work work;
	CUresult result = node_kernel_work(nodeParams, &work);

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL,
		   result, &work);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			      const CUgraphNode *dependencies, size_t numDependencies,
			      const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	struct work work;
	CUresult result = node_copy_work(copyParams, &work);

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMCPY,
		   result, &work);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			      const CUgraphNode *dependencies, size_t numDependencies,
			      const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
	struct work work;
	CUresult result = node_set_work(memsetParams, &work);

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMSET,
		   result, &work);
}

CUresult cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			    const CUgraphNode *dependencies, size_t numDependencies,
			    const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct work work;
	CUresult result = node_host_work(nodeParams, &work);

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_HOST,
		   result, &work);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			     const CUgraphNode *dependencies, size_t numDependencies)
{
	struct work work = {.kind = WORK_NONE};

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EMPTY,
		   CUDA_SUCCESS, &work);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				  const CUgraphNode *dependencies, size_t numDependencies,
				  CUgraph childGraph)
{
	struct work work;
	CUresult result = node_child_work(childGraph, &work);

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_GRAPH,
		   result, &work);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				   const CUgraphNode *dependencies, size_t numDependencies,
				   CUevent event)
{
	struct work work;
	CUresult result = node_event_work(event, WORK_RECORD, &work);

	return add(phGraphNode, hGraph, dependencies, numDependencies,
		   CU_GRAPH_NODE_TYPE_EVENT_RECORD, result, &work);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				 const CUgraphNode *dependencies, size_t numDependencies,
				 CUevent event)
{
	struct work work;
	CUresult result = node_event_work(event, WORK_EVENT, &work);

	return add(phGraphNode, hGraph, dependencies, numDependencies,
		   CU_GRAPH_NODE_TYPE_WAIT_EVENT, result, &work);
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				  const CUgraphNode *dependencies, size_t numDependencies,
				  const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
	struct work work;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (nodeParams != NULL && nodeParams->flags == 0)
		result = memop_prepare(nodeParams->paramArray, nodeParams->count, &work);
	return add(phGraphNode, hGraph, dependencies, numDependencies,
		   CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, result, &work);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				const CUgraphNode *dependencies, size_t numDependencies,
				CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	struct sim_context *context;
	struct work work;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	result = node_alloc_work(context, &nodeParams->poolProps, nodeParams->bytesize, &work);
	if (result == CUDA_SUCCESS)
		nodeParams->dptr = work.memory.address;
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
		   result, &work);
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			       const CUgraphNode *dependencies, size_t numDependencies,
			       CUdeviceptr dptr)
{
	struct work work = {.kind = WORK_FREE};

	work.memory.address = dptr;
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_FREE,
		   dptr != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, &work);
}
