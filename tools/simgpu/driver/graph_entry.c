/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "driver/error.h"

/* Entry points that build a graph's structure and look at it; nodes with work are in
 * graph_node.c. */

CUresult cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);
	struct graph *graph;

	if (result != CUDA_SUCCESS)
		return result;
	if (phGraph == NULL || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	graph = graph_new();
	if (graph == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*phGraph = (CUgraph)graph;
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph)
{
	struct graph *graph = graph_get(hGraph);

	if (graph == NULL || graph->is_child)
		return CUDA_ERROR_INVALID_VALUE;
	graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
	struct graph *graph = graph_get(originalGraph), *copy;
	int err;

	if (graph == NULL || phGraphClone == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	err = graph_dup(graph, &copy);
	if (err != 0)
		return error_from_errno(err);
	*phGraphClone = (CUgraph)copy;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
				CUgraph hClonedGraph)
{
	struct graph *copy = graph_get(hClonedGraph);
	struct graph_node *node;

	if (phNode == NULL || copy == NULL || graph_node_get(hOriginalNode) == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	node = graph_find_copy(copy, graph_node_get(hOriginalNode));
	if (node == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*phNode = (CUgraphNode)node;
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode hNode)
{
	struct graph_node *node = graph_node_get(hNode);

	if (node == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	graph_remove(node);
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	struct graph_node *node = graph_node_get(hNode);

	if (node == NULL || type == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->type;
	return CUDA_SUCCESS;
}

/* ---- lists: with a NULL array the count, else as many as fit, the rest filled with NULL ---- */

struct list_out {
	CUgraphNode *node;
	size_t room, count;
};

static void list_put(struct list_out *out, struct graph_node *node)
{
	if (out->node != NULL && out->count < out->room)
		out->node[out->count] = (CUgraphNode)node;
	out->count++;
}

static CUresult list_end(struct list_out *out, size_t *count)
{
	if (out->node == NULL) {
		*count = out->count;
		return CUDA_SUCCESS;
	}
	for (size_t i = out->count; i < out->room; i++)
		out->node[i] = NULL;
	if (*count > out->count)
		*count = out->count;
	return CUDA_SUCCESS;
}

static CUresult list_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count, bool only_roots)
{
	struct graph *graph = graph_get(handle);
	struct list_out out;

	if (graph == NULL || count == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	out = (struct list_out){nodes, *count, 0};
	for (size_t i = 0; i < graph->nodes; i++)
		if (!only_roots || graph->node[i]->deps == 0)
			list_put(&out, graph->node[i]);
	return list_end(&out, count);
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
	return list_nodes(hGraph, nodes, numNodes, false);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
	return list_nodes(hGraph, rootNodes, numRootNodes, true);
}

static void clear_data(CUgraphEdgeData *data, const size_t *count)
{
	for (size_t i = 0; data != NULL && i < *count; i++)
		data[i] = (CUgraphEdgeData){0};
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
			    CUgraphEdgeData *edgeData, size_t *numEdges)
{
	struct graph *graph = graph_get(hGraph);
	struct list_out starts, ends;
	size_t room;

	if (graph == NULL || numEdges == NULL || (from == NULL) != (to == NULL))
		return CUDA_ERROR_INVALID_VALUE;
	room = *numEdges;
	starts = (struct list_out){from, room, 0};
	ends = (struct list_out){to, room, 0};
	for (size_t i = 0; i < graph->nodes; i++)
		for (size_t j = 0; j < graph->node[i]->deps; j++) {
			list_put(&starts, graph->node[i]->dep[j]);
			list_put(&ends, graph->node[i]);
		}
	(void)list_end(&starts, numEdges);
	(void)list_end(&ends, &room);
	clear_data(edgeData, numEdges);
	return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
	return cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
				       CUgraphEdgeData *edgeData, size_t *numDependencies)
{
	struct graph_node *node = graph_node_get(hNode);
	struct list_out out;
	CUresult result;

	if (node == NULL || numDependencies == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	out = (struct list_out){dependencies, *numDependencies, 0};
	for (size_t i = 0; i < node->deps; i++)
		list_put(&out, node->dep[i]);
	result = list_end(&out, numDependencies);
	clear_data(edgeData, numDependencies);
	return result;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
				    size_t *numDependencies)
{
	return cuGraphNodeGetDependencies_v2(hNode, dependencies, NULL, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
					 CUgraphEdgeData *edgeData, size_t *numDependentNodes)
{
	struct graph_node *node = graph_node_get(hNode);
	struct list_out out;
	CUresult result;

	if (node == NULL || numDependentNodes == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	out = (struct list_out){dependentNodes, *numDependentNodes, 0};
	for (size_t i = 0; i < node->graph->nodes; i++)
		for (size_t j = 0; j < node->graph->node[i]->deps; j++)
			if (node->graph->node[i]->dep[j] == node)
				list_put(&out, node->graph->node[i]);
	result = list_end(&out, numDependentNodes);
	clear_data(edgeData, numDependentNodes);
	return result;
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
				      size_t *numDependentNodes)
{
	return cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, NULL, numDependentNodes);
}

/* ---- edges ---- */

static CUresult change_edges(const char *call, CUgraph handle, const CUgraphNode *from,
			     const CUgraphNode *to, const CUgraphEdgeData *data, size_t count,
			     int (*change)(struct graph_node *, struct graph_node *))
{
	struct graph *graph = graph_get(handle);

	if (graph == NULL || (count > 0 && (from == NULL || to == NULL)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		struct graph_node *a = graph_node_get(from[i]), *b = graph_node_get(to[i]);
		int err;

		if (a == NULL || b == NULL || a->graph != graph || b->graph != graph || a == b)
			return CUDA_ERROR_INVALID_VALUE;
		if (data != NULL && (data[i].from_port || data[i].to_port || data[i].type))
			return sim_refuse(call, "edges of programmatic launches");
		err = change(a, b);
		if (err != 0)
			return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
				size_t numDependencies)
{
	return change_edges("cuGraphAddDependencies", hGraph, from, to, NULL, numDependencies,
			    graph_link);
}

CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
				   const CUgraphEdgeData *edgeData, size_t numDependencies)
{
	return change_edges("cuGraphAddDependencies", hGraph, from, to, edgeData, numDependencies,
			    graph_link);
}

CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
				   size_t numDependencies)
{
	return change_edges("cuGraphRemoveDependencies", hGraph, from, to, NULL, numDependencies,
			    graph_unlink);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
				      const CUgraphNode *to, const CUgraphEdgeData *edgeData,
				      size_t numDependencies)
{
	return change_edges("cuGraphRemoveDependencies", hGraph, from, to, edgeData,
			    numDependencies, graph_unlink);
}
