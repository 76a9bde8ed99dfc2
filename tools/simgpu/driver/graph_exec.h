/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_GRAPH_EXEC_H
#define SIMGPU_GRAPH_EXEC_H

/*
 * An executable graph: its own copy of the graph, flattened into steps, each put into a lane. Lane
 * 0 is the stream that it is launched into, the others are streams of its own; so branches overlap,
 * and a chain costs nothing extra. exec->lock guards launches.
 */

#include "driver/graph.h"

struct graph_step {
	struct graph_node *node; /* NULL: begin or end of a child graph */
	uint32_t *dep, deps;	 /* earlier steps */
	uint32_t lane;
	bool has_dependents;
	bool waited_for; /* by another lane: its operation is kept during the launch */
};

struct graph_lane {
	struct stream *stream; /* counted; NULL for lane 0 */
	int priority;
};

struct graph_exec {
	uint32_t magic;
	unsigned long long flags;
	struct graph *graph;
	struct home *home; /* counted */
	struct graph_step *step;
	uint32_t steps, step_room;
	struct graph_lane *lane;
	uint32_t lanes;
	struct op **op;	 /* of steps, during a launch */
	struct op *last; /* counted; of the last launch */
};

struct graph_exec *graph_exec_get(CUgraphExec handle);
/* Steps and lanes of exec->graph. 0, -ENOMEM, -ELOOP. */
int graph_exec_plan(struct graph_exec *exec);
void graph_exec_drop_plan(struct graph_exec *exec);
/* Puts the work of `from` into `to`, which has the same nodes and edges, else says where not. */
CUgraphExecUpdateResult graph_exec_update(struct graph *to, struct graph *from,
					  struct graph_node **ret_error);

#endif
