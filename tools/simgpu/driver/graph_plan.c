/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/graph_exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LANES 32
#define NO_STEP UINT32_MAX

/* ---- steps ---- */

static int add_step(struct graph_exec *exec, struct graph_node *node, uint32_t *ret_step)
{
	if (exec->steps == exec->step_room) {
		uint32_t room = exec->step_room ? 2 * exec->step_room : 32;
		struct graph_step *step = realloc(exec->step, room * sizeof(*step));

		if (step == NULL)
			return -ENOMEM;
		exec->step = step;
		exec->step_room = room;
	}
	memset(&exec->step[exec->steps], 0, sizeof(exec->step[0]));
	exec->step[exec->steps].node = node;
	*ret_step = exec->steps++;
	return 0;
}

static int add_dep(struct graph_exec *exec, uint32_t at, uint32_t dep)
{
	struct graph_step *step = &exec->step[at];
	uint32_t *grown = realloc(step->dep, (step->deps + 1) * sizeof(uint32_t));

	if (grown == NULL)
		return -ENOMEM;
	step->dep = grown;
	step->dep[step->deps++] = dep;
	exec->step[dep].has_dependents = true;
	return 0;
}

static int flatten(struct graph_exec *exec, struct graph *graph, uint32_t begin);

/* A child graph is a begin, its nodes, and an end that waits for those that nothing follows. */
static int flatten_child(struct graph_exec *exec, struct graph *child, uint32_t begin,
			 uint32_t *ret_end)
{
	uint32_t first = exec->steps, end;
	int err = flatten(exec, child, begin);

	if (err != 0 || exec->steps == first) {
		*ret_end = begin;
		return err;
	}
	err = add_step(exec, NULL, &end);
	for (uint32_t i = first; err == 0 && i < end; i++)
		if (!exec->step[i].has_dependents)
			err = add_dep(exec, end, i);
	*ret_end = end;
	return err;
}

static int flatten_node(struct graph_exec *exec, struct graph_node *node, const uint32_t *step_of,
			uint32_t begin, uint32_t *ret_step)
{
	bool is_child = node->work.kind == WORK_CHILD;
	uint32_t step;
	int err = add_step(exec, is_child ? NULL : node, &step);

	for (size_t i = 0; err == 0 && i < node->deps; i++)
		err = add_dep(exec, step, step_of[node->dep[i]->index]);
	if (err == 0 && node->deps == 0 && begin != NO_STEP)
		err = add_dep(exec, step, begin);
	*ret_step = step;
	return err == 0 && is_child ? flatten_child(exec, node->work.child, step, ret_step) : err;
}

static int flatten(struct graph_exec *exec, struct graph *graph, uint32_t begin)
{
	struct graph_node **order;
	uint32_t *step_of;
	int err = graph_sort(graph, &order);

	if (err != 0)
		return err;
	step_of = calloc(graph->nodes + 1, sizeof(*step_of));
	if (step_of == NULL)
		err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < graph->nodes; i++)
		err = flatten_node(exec, order[i], step_of, begin, &step_of[order[i]->index]);
	free(step_of);
	free(order);
	return err;
}

/* ---- lanes ---- */

/* The lane whose last step is one that this step follows, or a new one. */
static uint32_t choose_lane(const struct graph_exec *exec, uint32_t at, const uint32_t *tail)
{
	const struct graph_step *step = &exec->step[at];

	for (uint32_t i = 0; i < step->deps; i++) {
		uint32_t lane = exec->step[step->dep[i]].lane;

		if (tail[lane] == step->dep[i])
			return lane;
	}
	if (exec->lanes < MAX_LANES)
		return exec->lanes;
	return at % MAX_LANES; /* more order than asked for, never less */
}

static int assign_lanes(struct graph_exec *exec)
{
	uint32_t tail[MAX_LANES];

	exec->lane = calloc(MAX_LANES, sizeof(exec->lane[0]));
	exec->op = calloc(exec->steps + 1, sizeof(struct op *));
	if (exec->lane == NULL || exec->op == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < exec->steps; i++) {
		struct graph_step *step = &exec->step[i];

		step->lane = choose_lane(exec, i, tail);
		if (step->lane == exec->lanes) {
			exec->lane[exec->lanes++].priority =
				step->node != NULL ? step->node->work.priority : 0;
		}
		tail[step->lane] = i;
		for (uint32_t j = 0; j < step->deps; j++)
			if (exec->step[step->dep[j]].lane != step->lane)
				exec->step[step->dep[j]].waited_for = true;
		if (!step->has_dependents && step->lane != 0)
			step->waited_for = true; /* by the stream, at the end */
	}
	return 0;
}

int graph_exec_plan(struct graph_exec *exec)
{
	int err = flatten(exec, exec->graph, NO_STEP);

	return err == 0 ? assign_lanes(exec) : err;
}

void graph_exec_drop_plan(struct graph_exec *exec)
{
	for (uint32_t i = 0; i < exec->steps; i++)
		free(exec->step[i].dep);
	free(exec->step);
	free(exec->lane);
	free(exec->op);
}

/* ---- update ---- */

static bool has_same_deps(const struct graph_node *a, const struct graph_node *b)
{
	if (a->deps != b->deps)
		return false;
	for (size_t i = 0; i < a->deps; i++)
		if (a->dep[i]->index != b->dep[i]->index)
			return false;
	return true;
}

static CUgraphExecUpdateResult compare(const struct graph *to, const struct graph *from,
				       struct graph_node **ret_error)
{
	CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

	if (to->nodes != from->nodes)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (size_t i = 0; i < to->nodes && result == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++) {
		struct graph_node *node = from->node[i];

		*ret_error = node;
		if (node->type != to->node[i]->type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (!has_same_deps(node, to->node[i]))
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		if (node->work.kind == WORK_ALLOC || node->work.kind == WORK_FREE)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
		if (node->work.kind == WORK_CHILD)
			result = compare(to->node[i]->work.child, node->work.child, ret_error);
	}
	if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS)
		*ret_error = NULL;
	return result;
}

/* A child's nodes are where the plan's steps point, so they are changed in place. */
static int apply(struct graph *to, const struct graph *from)
{
	struct work work;
	int err = 0;

	for (size_t i = 0; i < to->nodes && err == 0; i++) {
		if (from->node[i]->work.kind == WORK_CHILD) {
			err = apply(to->node[i]->work.child, from->node[i]->work.child);
			continue;
		}
		err = work_dup(&from->node[i]->work, &work);
		if (err == 0) {
			work_finish(&to->node[i]->work);
			to->node[i]->work = work;
		}
	}
	return err;
}

CUgraphExecUpdateResult graph_exec_update(struct graph *to, struct graph *from,
					  struct graph_node **ret_error)
{
	CUgraphExecUpdateResult result;

	*ret_error = NULL;
	result = compare(to, from, ret_error);
	if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS && apply(to, from) != 0)
		result = CU_GRAPH_EXEC_UPDATE_ERROR;
	return result;
}
