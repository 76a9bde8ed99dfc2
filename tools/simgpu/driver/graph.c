/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct graph *graph_new(void)
{
	struct graph *graph = calloc(1, sizeof(*graph));

	if (graph != NULL)
		graph->magic = SIM_MAGIC_GRAPH;
	return graph;
}

struct graph *graph_get(CUgraph handle)
{
	struct graph *graph = (struct graph *)handle;

	if ((uintptr_t)handle < 4096 || (uintptr_t)handle % sizeof(void *) != 0 ||
	    graph->magic != SIM_MAGIC_GRAPH)
		return NULL;
	return graph;
}

struct graph_node *graph_node_get(CUgraphNode handle)
{
	struct graph_node *node = (struct graph_node *)handle;

	if ((uintptr_t)handle < 4096 || (uintptr_t)handle % sizeof(void *) != 0 ||
	    node->magic != GRAPH_NODE_MAGIC)
		return NULL;
	return node;
}

static void node_free(struct graph_node *node)
{
	work_finish(&node->work);
	node->magic = 0;
	free(node->param_pointer);
	free(node->dep);
	free(node);
}

void graph_free(struct graph *graph)
{
	if (graph == NULL)
		return;
	for (size_t i = 0; i < graph->nodes; i++)
		node_free(graph->node[i]);
	graph->magic = 0;
	free(graph->node);
	free(graph);
}

static int grow(struct graph *graph)
{
	size_t room = graph->room ? 2 * graph->room : 16;
	struct graph_node **node;

	if (graph->nodes < graph->room)
		return 0;
	node = realloc(graph->node, room * sizeof(struct graph_node *));
	if (node == NULL)
		return -ENOMEM;
	graph->node = node;
	graph->room = room;
	return 0;
}

static bool are_deps_valid(const struct graph *graph, struct graph_node *const *dep, size_t deps)
{
	for (size_t i = 0; i < deps; i++) {
		if (dep[i] == NULL || dep[i]->magic != GRAPH_NODE_MAGIC || dep[i]->graph != graph)
			return false;
		for (size_t j = 0; j < i; j++)
			if (dep[j] == dep[i])
				return false;
	}
	return true;
}

CUresult graph_add(struct graph *graph, CUgraphNodeType type, struct work *work,
		   struct graph_node *const *dep, size_t deps, struct graph_node **ret_node)
{
	struct graph_node *node = NULL;
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	if ((deps > 0 && dep == NULL) || !are_deps_valid(graph, dep, deps)) {
		result = CUDA_ERROR_INVALID_VALUE;
		goto fail;
	}
	node = calloc(1, sizeof(*node));
	if (node == NULL || grow(graph) != 0)
		goto fail;
	if (deps > 0) {
		node->dep = malloc(deps * sizeof(struct graph_node *));
		if (node->dep == NULL)
			goto fail;
		memcpy(node->dep, dep, deps * sizeof(struct graph_node *));
		node->deps = deps;
	}
	node->magic = GRAPH_NODE_MAGIC;
	node->type = type;
	node->graph = graph;
	node->work = *work;
	work->kind = WORK_NONE;
	node->index = graph->nodes;
	graph->node[graph->nodes++] = node;
	*ret_node = node;
	return CUDA_SUCCESS;
fail:
	work_finish(work);
	free(node);
	return result;
}

int graph_link(struct graph_node *from, struct graph_node *to)
{
	struct graph_node **dep;

	for (size_t i = 0; i < to->deps; i++)
		if (to->dep[i] == from)
			return -EEXIST;
	dep = realloc(to->dep, (to->deps + 1) * sizeof(struct graph_node *));
	if (dep == NULL)
		return -ENOMEM;
	to->dep = dep;
	to->dep[to->deps++] = from;
	return 0;
}

int graph_unlink(struct graph_node *from, struct graph_node *to)
{
	for (size_t i = 0; i < to->deps; i++)
		if (to->dep[i] == from) {
			to->deps--;
			memmove(&to->dep[i], &to->dep[i + 1],
				(to->deps - i) * sizeof(struct graph_node *));
			return 0;
		}
	return -ENOENT;
}

void graph_remove(struct graph_node *node)
{
	struct graph *graph = node->graph;

	graph->nodes--;
	for (size_t i = node->index; i < graph->nodes; i++) {
		graph->node[i] = graph->node[i + 1];
		graph->node[i]->index = i;
	}
	for (size_t i = 0; i < graph->nodes; i++)
		(void)graph_unlink(node, graph->node[i]);
	node_free(node);
}

int graph_dup(const struct graph *graph, struct graph **ret_graph)
{
	struct graph *copy = graph_new();

	if (copy == NULL)
		return -ENOMEM;
	copy->flags = graph->flags;
	for (size_t i = 0; i < graph->nodes; i++) {
		const struct graph_node *from = graph->node[i];
		struct graph_node *node;
		struct work work;

		if (work_dup(&from->work, &work) != 0 ||
		    graph_add(copy, from->type, &work, NULL, 0, &node) != CUDA_SUCCESS) {
			graph_free(copy);
			return -ENOMEM;
		}
		node->source = from;
		node->disabled = from->disabled;
	}
	for (size_t i = 0; i < graph->nodes; i++)
		for (size_t j = 0; j < graph->node[i]->deps; j++)
			if (graph_link(copy->node[graph->node[i]->dep[j]->index], copy->node[i]) !=
			    0) {
				graph_free(copy);
				return -ENOMEM;
			}
	*ret_graph = copy;
	return 0;
}

struct graph_node *graph_find_copy(struct graph *copy, const struct graph_node *source)
{
	for (size_t i = 0; i < copy->nodes; i++)
		if (copy->node[i]->source == source)
			return copy->node[i];
	return NULL;
}

int graph_sort(struct graph *graph, struct graph_node ***ret_order)
{
	struct graph_node **order = calloc(graph->nodes + 1, sizeof(struct graph_node *));
	uint64_t mark = graph_new_mark();
	size_t placed = 0, before;

	if (order == NULL)
		return -ENOMEM;
	/* Nodes mostly come in order already, so few rounds are needed. */
	do {
		before = placed;
		for (size_t i = 0; i < graph->nodes; i++) {
			struct graph_node *node = graph->node[i];
			size_t j = 0;

			if (node->mark == mark)
				continue;
			while (j < node->deps && node->dep[j]->mark == mark)
				j++;
			if (j < node->deps)
				continue;
			node->mark = mark;
			order[placed++] = node;
		}
	} while (placed > before && placed < graph->nodes);
	if (placed < graph->nodes) {
		free(order);
		return -ELOOP;
	}
	*ret_order = order;
	return 0;
}

uint64_t graph_new_mark(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void graph_mark_before(struct graph_node *node, uint64_t mark)
{
	struct graph *graph = node->graph;
	bool again = true;

	/* Backwards over the list, as often as needed: no recursion over deep graphs. */
	node->mark = mark;
	while (again) {
		again = false;
		for (size_t i = graph->nodes; i-- > 0;) {
			struct graph_node *at = graph->node[i];

			for (size_t j = 0; at->mark == mark && j < at->deps; j++)
				if (at->dep[j]->mark != mark) {
					at->dep[j]->mark = mark;
					again = again || at->dep[j]->index > i;
				}
		}
	}
}
