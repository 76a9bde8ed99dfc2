/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "driver/graph_exec.h"
#include "driver/graph_node.h"
#include "driver/memop.h"

/* Entry points that take a node of any kind by one tagged structure, and attributes of kernel
 * nodes. */

static CUresult set_work(const CUDA_MEMSET_NODE_PARAMS_v2 *params, struct work *ret_work)
{
	const CUDA_MEMSET_NODE_PARAMS plain = {
		.dst = params->dst,
		.pitch = params->pitch,
		.value = params->value,
		.elementSize = params->elementSize,
		.width = params->width,
		.height = params->height,
	};

	return node_set_work(&plain, ret_work);
}

static CUresult kernel_work(const CUDA_KERNEL_NODE_PARAMS_v3 *params, struct work *ret_work)
{
	const CUDA_KERNEL_NODE_PARAMS plain = {
		.func = params->func,
		.gridDimX = params->gridDimX,
		.gridDimY = params->gridDimY,
		.gridDimZ = params->gridDimZ,
		.blockDimX = params->blockDimX,
		.blockDimY = params->blockDimY,
		.blockDimZ = params->blockDimZ,
		.sharedMemBytes = params->sharedMemBytes,
		.kernelParams = params->kernelParams,
		.extra = params->extra,
		.kern = params->kern,
		.ctx = params->ctx,
	};

	return node_kernel_work(&plain, ret_work);
}

static CUresult alloc_work(CUDA_MEM_ALLOC_NODE_PARAMS_v2 *params, struct work *ret_work)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	if (result == CUDA_SUCCESS)
		result = node_alloc_work(context, &params->poolProps, params->bytesize, ret_work);
	if (result == CUDA_SUCCESS)
		params->dptr = ret_work->memory.address;
	return result;
}

static CUresult any_work(const char *call, CUgraphNodeParams *params, struct work *ret_work)
{
	char what[64];

	memset(ret_work, 0, sizeof(*ret_work));
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: return kernel_work(&params->kernel, ret_work);
	case CU_GRAPH_NODE_TYPE_MEMCPY: return node_copy_work(&params->memcpy.copyParams, ret_work);
	case CU_GRAPH_NODE_TYPE_MEMSET: return set_work(&params->memset, ret_work);
	case CU_GRAPH_NODE_TYPE_HOST:
		return node_host_work(&(CUDA_HOST_NODE_PARAMS){.fn = params->host.fn,
							       .userData = params->host.userData},
				      ret_work);
	case CU_GRAPH_NODE_TYPE_GRAPH: return node_child_work(params->graph.graph, ret_work);
	case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return node_event_work(params->eventRecord.event, WORK_RECORD, ret_work);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return node_event_work(params->eventWait.event, WORK_EVENT, ret_work);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return alloc_work(&params->alloc, ret_work);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		ret_work->kind = WORK_FREE;
		ret_work->memory.address = params->free.dptr;
		return params->free.dptr != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return memop_prepare(params->memOp.paramArray, params->memOp.count, ret_work);
	default:
		snprintf(what, sizeof(what), "nodes of type %d", (int)params->type);
		return sim_refuse(call, what);
	}
}

static CUresult add_any(CUgraphNode *ret_handle, CUgraph handle, const CUgraphNode *dependencies,
			const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
	struct graph *graph = graph_get(handle);
	struct graph_node *node;
	struct work work;
	CUresult result;

	if (graph == NULL || ret_handle == NULL || params == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; data != NULL && i < count; i++)
		if (data[i].from_port || data[i].to_port || data[i].type)
			return sim_refuse("cuGraphAddNode", "edges of programmatic launches");
	result = any_work("cuGraphAddNode", params, &work);
	if (result == CUDA_SUCCESS)
		result = graph_add(graph, params->type, &work,
				   (struct graph_node *const *)(const void *)dependencies, count,
				   &node);
	if (result == CUDA_SUCCESS)
		*ret_handle = (CUgraphNode)node;
	return result;
}

CUresult cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
			size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	return add_any(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
			   const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
			   size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	return add_any(phGraphNode, hGraph, dependencies, dependencyData, numDependencies,
		       nodeParams);
}

/* Nodes whose place in a graph or plan depends on what they hold stay as they are. */
static CUresult set_any(const char *call, struct graph_node *node, CUgraphNodeParams *params)
{
	struct work work;
	CUresult result;

	if (node == NULL || params == NULL || node->type != params->type)
		return CUDA_ERROR_INVALID_VALUE;
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
	case CU_GRAPH_NODE_TYPE_GRAPH: return sim_refuse(call, "memory and child graph nodes");
	default: break;
	}
	result = any_work(call, params, &work);
	return result == CUDA_SUCCESS ? node_set(node, params->type, &work) : result;
}

CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	return set_any("cuGraphNodeSetParams", graph_node_get(hNode), nodeParams);
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
				  CUgraphNodeParams *nodeParams)
{
	struct graph_exec *exec = graph_exec_get(hGraphExec);
	CUresult result;

	if (exec == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&exec->home->exec->lock);
	result =
		set_any("cuGraphExecNodeSetParams",
			graph_find_copy(exec->graph, (const struct graph_node *)hNode), nodeParams);
	pthread_mutex_unlock(&exec->home->exec->lock);
	return result;
}

/* ---- attributes of kernel nodes ---- */

static struct graph_node *kernel_node(CUgraphNode handle)
{
	struct graph_node *node = graph_node_get(handle);

	return node != NULL && node->type == CU_GRAPH_NODE_TYPE_KERNEL ? node : NULL;
}

static CUresult refuse_attribute(const char *call, CUkernelNodeAttrID attr)
{
	char what[48];

	snprintf(what, sizeof(what), "attribute %d", (int)attr);
	return sim_refuse(call, what);
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
				       CUkernelNodeAttrValue *value_out)
{
	struct graph_node *node = kernel_node(hNode);

	if (node == NULL || value_out == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	memset(value_out, 0, sizeof(*value_out));
	if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		value_out->priority = node->work.priority;
	else if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		value_out->cooperative = node->work.kernel.cooperative;
	else
		return refuse_attribute("cuGraphKernelNodeGetAttribute", attr);
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
				       const CUkernelNodeAttrValue *value)
{
	struct graph_node *node = kernel_node(hNode);

	if (node == NULL || value == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		node->work.priority = value->priority;
	else if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		node->work.kernel.cooperative = value->cooperative != 0;
	else
		return refuse_attribute("cuGraphKernelNodeSetAttribute", attr);
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	struct graph_node *to = kernel_node(dst), *from = kernel_node(src);

	if (to == NULL || from == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	to->work.priority = from->work.priority;
	to->work.kernel.cooperative = from->work.kernel.cooperative;
	return CUDA_SUCCESS;
}
