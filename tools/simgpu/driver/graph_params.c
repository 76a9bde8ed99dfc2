/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "driver/graph_node.h"

/* Parameters of nodes: reading them back and changing them before instantiation. */

static struct graph_node *typed(CUgraphNode handle, CUgraphNodeType type)
{
	struct graph_node *node = graph_node_get(handle);

	return node != NULL && node->type == type ? node : NULL;
}

/* The list of pointers that is handed back lives as long as the node does. */
static void **param_pointers(struct graph_node *node)
{
	const struct ptx_function_info *info = node->work.kernel.function->info;
	void **pointer;

	if (info == NULL || info->params == 0)
		return NULL;
	pointer = realloc(node->param_pointer, info->params * sizeof(void *));
	if (pointer == NULL)
		return NULL;
	node->param_pointer = pointer;
	for (uint32_t i = 0; i < info->params; i++)
		pointer[i] = (char *)node->work.kernel.params + info->param[i].offset_bytes;
	return pointer;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct graph_node *node = typed(hNode, CU_GRAPH_NODE_TYPE_KERNEL);
	const struct work_kernel *kernel;

	if (node == NULL || nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	kernel = &node->work.kernel;
	memset(nodeParams, 0, sizeof(*nodeParams));
	nodeParams->func = (CUfunction)kernel->function;
	nodeParams->gridDimX = kernel->grid[0];
	nodeParams->gridDimY = kernel->grid[1];
	nodeParams->gridDimZ = kernel->grid[2];
	nodeParams->blockDimX = kernel->block[0];
	nodeParams->blockDimY = kernel->block[1];
	nodeParams->blockDimZ = kernel->block[2];
	nodeParams->sharedMemBytes = kernel->shared_bytes;
	nodeParams->kernelParams = param_pointers(node);
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS full;
	CUresult result;

	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	result = cuGraphKernelNodeGetParams_v2(hNode, &full);
	if (result == CUDA_SUCCESS)
		memcpy(nodeParams, &full, sizeof(*nodeParams));
	return result;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	struct work work;
	CUresult result = node_kernel_work_1(nodeParams, &work);

	return result == CUDA_SUCCESS
		       ? node_set(graph_node_get(hNode), CU_GRAPH_NODE_TYPE_KERNEL, &work)
		       : result;
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct work work;
	CUresult result = node_kernel_work(nodeParams, &work);

	return result == CUDA_SUCCESS
		       ? node_set(graph_node_get(hNode), CU_GRAPH_NODE_TYPE_KERNEL, &work)
		       : result;
}

static void fill_side(const struct work_side *side, bool host, CUmemorytype *ret_type,
		      void **ret_host, CUdeviceptr *ret_device)
{
	*ret_type = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	if (host)
		*ret_host = (void *)(uintptr_t)side->address;
	else
		*ret_device = side->address;
}

/* As the copy was understood: offsets are in the addresses. */
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
	struct graph_node *node = typed(hNode, CU_GRAPH_NODE_TYPE_MEMCPY);
	const struct work_copy *copy;
	void *src_host = NULL;

	if (node == NULL || nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	memset(nodeParams, 0, sizeof(*nodeParams));
	nodeParams->srcMemoryType = nodeParams->dstMemoryType = CU_MEMORYTYPE_HOST;
	if (node->work.kind != WORK_COPY)
		return CUDA_SUCCESS; /* of nothing */
	copy = &node->work.copy;
	fill_side(&copy->src, copy->src.kind == SIM_PAGEABLE, &nodeParams->srcMemoryType, &src_host,
		  &nodeParams->srcDevice);
	nodeParams->srcHost = src_host;
	fill_side(&copy->dst, copy->dst.kind == SIM_PAGEABLE, &nodeParams->dstMemoryType,
		  &nodeParams->dstHost, &nodeParams->dstDevice);
	nodeParams->srcPitch = copy->src.pitch ? copy->src.pitch : copy->width;
	nodeParams->dstPitch = copy->dst.pitch ? copy->dst.pitch : copy->width;
	nodeParams->srcHeight = copy->src.pitch ? copy->src.slice / copy->src.pitch : copy->height;
	nodeParams->dstHeight = copy->dst.pitch ? copy->dst.slice / copy->dst.pitch : copy->height;
	nodeParams->WidthInBytes = copy->width;
	nodeParams->Height = copy->height;
	nodeParams->Depth = copy->depth;
	return CUDA_SUCCESS;
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
	struct work work;
	CUresult result = node_copy_work(nodeParams, &work);

	return result == CUDA_SUCCESS
		       ? node_set(graph_node_get(hNode), CU_GRAPH_NODE_TYPE_MEMCPY, &work)
		       : result;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
	struct graph_node *node = typed(hNode, CU_GRAPH_NODE_TYPE_MEMSET);
	const struct work_set *set;

	if (node == NULL || nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	set = &node->work.set;
	*nodeParams = (CUDA_MEMSET_NODE_PARAMS){.elementSize = 1};
	if (node->work.kind == WORK_SET)
		*nodeParams = (CUDA_MEMSET_NODE_PARAMS){
			.dst = set->dst.address,
			.pitch = set->dst.pitch,
			.value = set->value,
			.elementSize = set->element,
			.width = set->width,
			.height = set->height,
		};
	return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
	struct work work;
	CUresult result = node_set_work(nodeParams, &work);

	return result == CUDA_SUCCESS
		       ? node_set(graph_node_get(hNode), CU_GRAPH_NODE_TYPE_MEMSET, &work)
		       : result;
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct graph_node *node = typed(hNode, CU_GRAPH_NODE_TYPE_HOST);

	if (node == NULL || nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	nodeParams->fn = node->work.host.fn;
	nodeParams->userData = node->work.host.arg;
	return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct work work;
	CUresult result = node_host_work(nodeParams, &work);

	return result == CUDA_SUCCESS
		       ? node_set(graph_node_get(hNode), CU_GRAPH_NODE_TYPE_HOST, &work)
		       : result;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
	struct graph_node *node = typed(hNode, CU_GRAPH_NODE_TYPE_GRAPH);

	if (node == NULL || phGraph == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*phGraph = (CUgraph)node->work.child;
	return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
	struct graph_node *node = typed(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE);

	if (node == NULL || dptr_out == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*dptr_out = node->work.memory.address;
	return CUDA_SUCCESS;
}

static CUresult get_event(CUgraphNode handle, CUgraphNodeType type, CUevent *ret_event)
{
	struct graph_node *node = typed(handle, type);

	if (node == NULL || ret_event == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_event = (CUevent)node->work.event;
	return CUDA_SUCCESS;
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
	return get_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
	return get_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
	struct work work;
	CUresult result = node_event_work(event, WORK_RECORD, &work);

	return result == CUDA_SUCCESS
		       ? node_set(graph_node_get(hNode), CU_GRAPH_NODE_TYPE_EVENT_RECORD, &work)
		       : result;
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
	struct work work;
	CUresult result = node_event_work(event, WORK_EVENT, &work);

	return result == CUDA_SUCCESS
		       ? node_set(graph_node_get(hNode), CU_GRAPH_NODE_TYPE_WAIT_EVENT, &work)
		       : result;
}
