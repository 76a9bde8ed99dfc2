/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/graph_exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/error.h"
#include "driver/graph_node.h"
#include "driver/issue.h"
#include "driver/queue.h"

#define KNOWN_FLAGS \
	(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | \
	 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

struct graph_exec *graph_exec_get(CUgraphExec handle)
{
	struct graph_exec *exec = (struct graph_exec *)handle;

	if ((uintptr_t)handle < 4096 || (uintptr_t)handle % sizeof(void *) != 0 ||
	    exec->magic != SIM_MAGIC_GRAPH_EXEC)
		return NULL;
	return exec;
}

/* ---- life ---- */

static CUresult create_lanes(struct graph_exec *exec)
{
	for (uint32_t i = 1; i < exec->lanes; i++) {
		struct stream *stream =
			stream_new(exec->home, CU_STREAM_NON_BLOCKING, exec->lane[i].priority);

		if (stream == NULL)
			return CUDA_ERROR_OUT_OF_MEMORY;
		stream->is_internal = true;
		stream->refs++;
		exec->lane[i].stream = stream;
	}
	return CUDA_SUCCESS;
}

static void destroy(struct graph_exec *exec)
{
	exec->magic = 0;
	for (uint32_t i = 1; i < exec->lanes; i++) {
		struct stream *stream = exec->lane[i].stream;

		if (stream == NULL)
			continue;
		if (!stream->is_released) /* the context's end does it, too */
			stream_drop(stream);
		stream_put(stream);
	}
	op_put(exec->last);
	if (exec->home != NULL)
		home_put(exec->home);
	graph_exec_drop_plan(exec);
	graph_free(exec->graph);
	free(exec);
}

static CUresult create(struct home *home, struct graph *graph, unsigned long long flags,
		       struct graph_exec **ret_exec)
{
	struct graph_exec *exec = calloc(1, sizeof(*exec));
	CUresult result = CUDA_SUCCESS;
	int err;

	if (exec == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->flags = flags;
	exec->home = home;
	home->refs++;
	err = graph_dup(graph, &exec->graph);
	if (err == 0)
		err = graph_exec_plan(exec);
	if (err == 0)
		result = create_lanes(exec);
	else
		result = err == -ELOOP ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	if (result != CUDA_SUCCESS) {
		destroy(exec);
		return result;
	}
	exec->magic = SIM_MAGIC_GRAPH_EXEC;
	*ret_exec = exec;
	return CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *ret_handle, CUgraph handle, unsigned long long flags)
{
	struct graph *graph = graph_get(handle);
	struct sim_context *context;
	struct graph_exec *exec;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (graph == NULL || ret_handle == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return sim_refuse("cuGraphInstantiate", "launches from the device");
	if (flags & ~(unsigned long long)KNOWN_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&context->legacy->exec->lock);
	result = create(context->legacy->home, graph, flags, &exec);
	pthread_mutex_unlock(&context->legacy->exec->lock);
	if (result == CUDA_SUCCESS)
		*ret_handle = (CUgraphExec)exec;
	return result;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
				     unsigned long long flags)
{
	return instantiate(phGraphExec, hGraph, flags);
}

static CUresult instantiate_logged(CUgraphExec *ret_handle, CUgraph handle,
				   CUgraphNode *ret_error_node, char *log, size_t log_bytes)
{
	if (ret_error_node != NULL)
		*ret_error_node = NULL;
	if (log != NULL && log_bytes > 0)
		*log = '\0';
	return instantiate(ret_handle, handle, 0);
}

CUresult cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
			    char *logBuffer, size_t bufferSize)
{
	return instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
			       char *logBuffer, size_t bufferSize)
{
	return instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

static CUresult instantiate_with(CUgraphExec *ret_handle, CUgraph handle,
				 CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult result;

	if (params == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	result = instantiate(ret_handle, handle, params->flags);
	params->hErrNode_out = NULL;
	params->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
			     : result == CUDA_ERROR_INVALID_VALUE
				     ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
				     : CUDA_GRAPH_INSTANTIATE_ERROR;
	return result;
}

FORMS(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz,
      (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
      instantiate_with(phGraphExec, hGraph, instantiateParams))

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	struct graph_exec *exec = graph_exec_get(hGraphExec);
	struct exec *executor;

	if (exec == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	executor = exec->home->exec;
	pthread_mutex_lock(&executor->lock);
	destroy(exec);
	pthread_mutex_unlock(&executor->lock);
	return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
	struct graph_exec *exec = graph_exec_get(hGraphExec);

	if (exec == NULL || flags == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags;
	return CUDA_SUCCESS;
}

/* ---- changes ---- */

static CUresult update(CUgraphExec exec_handle, CUgraph handle, CUgraphExecUpdateResult *ret_result,
		       CUgraphNode *ret_node)
{
	struct graph_exec *exec = graph_exec_get(exec_handle);
	struct graph *graph = graph_get(handle);
	struct graph_node *node;

	if (exec == NULL || graph == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&exec->home->exec->lock);
	*ret_result = graph_exec_update(exec->graph, graph, &node);
	pthread_mutex_unlock(&exec->home->exec->lock);
	*ret_node = (CUgraphNode)node;
	return *ret_result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
							   : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
			   CUgraphExecUpdateResult *updateResult_out)
{
	if (hErrorNode_out == NULL || updateResult_out == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return update(hGraphExec, hGraph, updateResult_out, hErrorNode_out);
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
			      CUgraphExecUpdateResultInfo *resultInfo)
{
	if (resultInfo == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	resultInfo->errorFromNode = NULL;
	return update(hGraphExec, hGraph, &resultInfo->result, &resultInfo->errorNode);
}

/* The node is one of the graph that was instantiated. */
static CUresult set(CUgraphExec handle, CUgraphNode node, CUgraphNodeType type, CUresult result,
		    struct work *work)
{
	struct graph_exec *exec = graph_exec_get(handle);

	if (result != CUDA_SUCCESS)
		return result;
	if (exec == NULL) {
		work_finish(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_lock(&exec->home->exec->lock);
	result =
		node_set(graph_find_copy(exec->graph, (const struct graph_node *)node), type, work);
	pthread_mutex_unlock(&exec->home->exec->lock);
	return result;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	struct work work;
	CUresult result = node_kernel_work_1(nodeParams, &work);

	return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, result, &work);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
					   const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct work work;
	CUresult result = node_kernel_work(nodeParams, &work);

	return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, result, &work);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	struct work work;
	CUresult result = node_copy_work(copyParams, &work);

	return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, result, &work);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
	struct work work;
	CUresult result = node_set_work(memsetParams, &work);

	return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET, result, &work);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
				      const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct work work;
	CUresult result = node_host_work(nodeParams, &work);

	return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST, result, &work);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
					    CUevent event)
{
	struct work work;
	CUresult result = node_event_work(event, WORK_RECORD, &work);

	return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, result, &work);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
	struct work work;
	CUresult result = node_event_work(event, WORK_EVENT, &work);

	return set(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, result, &work);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					    CUgraph childGraph)
{
	struct graph_exec *exec = graph_exec_get(hGraphExec);
	struct graph *child = graph_get(childGraph);
	struct graph_node *node, *error;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (exec == NULL || child == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&exec->home->exec->lock);
	node = graph_find_copy(exec->graph, (const struct graph_node *)hNode);
	if (node != NULL && node->work.kind == WORK_CHILD &&
	    graph_exec_update(node->work.child, child, &error) == CU_GRAPH_EXEC_UPDATE_SUCCESS)
		result = CUDA_SUCCESS;
	pthread_mutex_unlock(&exec->home->exec->lock);
	return result;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
	struct graph_exec *exec = graph_exec_get(hGraphExec);
	struct graph_node *node = NULL;

	if (exec != NULL)
		node = graph_find_copy(exec->graph, (const struct graph_node *)hNode);
	if (node == NULL ||
	    (node->type != CU_GRAPH_NODE_TYPE_KERNEL && node->type != CU_GRAPH_NODE_TYPE_MEMSET &&
	     node->type != CU_GRAPH_NODE_TYPE_MEMCPY))
		return CUDA_ERROR_INVALID_VALUE;
	node->disabled = isEnabled == 0;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled)
{
	struct graph_exec *exec = graph_exec_get(hGraphExec);
	struct graph_node *node = NULL;

	if (exec != NULL)
		node = graph_find_copy(exec->graph, (const struct graph_node *)hNode);
	if (node == NULL || isEnabled == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*isEnabled = !node->disabled;
	return CUDA_SUCCESS;
}
