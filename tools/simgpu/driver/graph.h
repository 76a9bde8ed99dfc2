/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_GRAPH_H
#define SIMGPU_GRAPH_H

/*
 * Graphs as the program builds them, and executable graphs: a flattened copy whose nodes are put
 * into streams ("lanes") once, so that a launch is a walk. A graph is used by one thread at a
 * time, as CUDA demands; an executable graph's launches are serialised by exec->lock.
 */

#include "driver/exec.h"

#define GRAPH_NODE_MAGIC 0x4e4f4430u

struct graph;

struct graph_node {
	uint32_t magic;
	CUgraphNodeType type;
	struct graph *graph;
	struct work work;
	struct graph_node **dep; /* what goes before; borrowed, of the same graph */
	size_t deps;
	const struct graph_node *source; /* of a copy: the original, perhaps gone; only compared */
	void **param_pointer;		 /* what cuGraphKernelNodeGetParams gave out */
	bool disabled;			 /* executable graphs */
	size_t index;			 /* in graph->node */
	uint64_t mark;			 /* of walks */
};

struct graph {
	uint32_t magic;
	unsigned int flags;
	struct graph_node **node; /* in the order in which they were added */
	size_t nodes, room;
	bool is_child; /* owned by a node */
};

struct graph *graph_new(void);
void graph_free(struct graph *graph); /* NULL is fine */
/* The copy's nodes name the originals as their source. */
int graph_dup(const struct graph *graph, struct graph **ret_graph);
struct graph *graph_get(CUgraph handle); /* NULL: not one */
struct graph_node *graph_node_get(CUgraphNode handle);
struct graph_node *graph_find_copy(struct graph *copy, const struct graph_node *source);
/* Takes over *work in any case. CUDA_ERROR_INVALID_VALUE: a dependency of another graph, or twice
 * the same. */
CUresult graph_add(struct graph *graph, CUgraphNodeType type, struct work *work,
		   struct graph_node *const *dep, size_t deps, struct graph_node **ret_node);
void graph_remove(struct graph_node *node);
int graph_link(struct graph_node *from, struct graph_node *to);	  /* -EEXIST: linked */
int graph_unlink(struct graph_node *from, struct graph_node *to); /* -ENOENT */
/* Nodes such that each comes after all it depends on; graph->nodes of them, to free. -ELOOP. */
int graph_sort(struct graph *graph, struct graph_node ***ret_order);
/* Marks `node` and everything that it depends on, transitively. */
void graph_mark_before(struct graph_node *node, uint64_t mark);
uint64_t graph_new_mark(void);

#endif
