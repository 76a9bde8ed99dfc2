/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cost.h"

/* Copies and memsets up to this size are done on the spot: handing them to another thread costs
 * more. */
#define INLINE_BYTES 65536

/* Nothing of it is computed: its context has stopped, or will when what it waited for ends. */
bool compute_is_dropped(const struct op *op)
{
	return op->is_poisoned || atomic_load_explicit(&op->home->stop, memory_order_relaxed);
}

static bool is_complete(const struct op *op)
{
	return atomic_load_explicit(&op->complete, memory_order_relaxed);
}

/* ---- what waits for what ---- */

static void list_add(struct op_list *list, struct op *op)
{
	uint32_t room = list->room;
	struct op **item;

	if (list->item == NULL) {
		list->item = list->first;
		list->room = sizeof(list->first) / sizeof(list->first[0]);
	} else if (list->count == room) {
		item = malloc(2 * room * sizeof(struct op *));
		if (item == NULL)
			abort(); /* an order that the program asked for would be lost */
		memcpy(item, list->item, room * sizeof(struct op *));
		if (list->item != list->first)
			free(list->item);
		list->item = item;
		list->room = 2 * room;
	}
	list->item[list->count++] = op_ref(op);
	op->waiting++;
}

static bool touches(uint64_t address, uint64_t bytes, const struct work_memop *memop)
{
	return address < memop->address + memop->size && memop->address < address + bytes;
}

static uint64_t span(const struct work_side *side, uint64_t width, uint64_t height, uint64_t depth)
{
	return (depth - 1) * side->slice + (height - 1) * side->pitch + width;
}

static bool work_touches(const struct work *work, const struct work_memop *memop)
{
	const struct work_copy *copy = &work->copy;
	const struct work_set *set = &work->set;

	if (work->kind == WORK_SET)
		return touches(set->dst.address,
			       span(&set->dst, set->width * set->element, set->height, 1), memop);
	return touches(copy->dst.address, span(&copy->dst, copy->width, copy->height, copy->depth),
		       memop) ||
	       (copy->staged == NULL &&
		touches(copy->src.address, span(&copy->src, copy->width, copy->height, copy->depth),
			memop));
}

/* A write-value's store is made at its simulated time, and what comes after it in its stream may be
 * computed before that, unless it touches the place: a kernel that does waits in run.c. */
static void link_writes(struct op *op, struct stream *stream)
{
	struct op *write = stream->last_write;

	if (write != NULL)
		op->behind = op_ref(write);
	if (op->work.kind == WORK_WRITE) {
		op_put(stream->last_write);
		stream->last_write = op_ref(op);
	}
	if (op->work.kind != WORK_COPY && op->work.kind != WORK_SET)
		return;
	for (; write != NULL && !is_complete(write); write = write->behind)
		if (work_touches(&op->work, &write->work.memop)) {
			list_add(&write->followers, op);
			break;
		}
}

/* After a join the way back to the other stream's writes is lost, so it waits for them. */
static void link_target(struct op *op, struct op *target)
{
	struct op *write = target->work.kind == WORK_WRITE ? target : target->behind;

	op->is_poisoned = op->is_poisoned || target->is_poisoned;
	if (!target->computed)
		list_add(&target->waiters, op);
	if (write != NULL && !is_complete(write))
		list_add(&write->followers, op);
}

void compute_link(struct op *op)
{
	struct op *prev = op->stream->last;

	op->is_poisoned = prev != NULL && prev->is_poisoned;
	if (prev != NULL && !prev->computed)
		list_add(&prev->waiters, op);
	link_writes(op, op->stream);
	if (op->work.kind == WORK_WAIT)
		link_target(op, op->work.wait.op);
}

/* ---- ready, computed ---- */

static uint64_t work_bytes(const struct work *work)
{
	return work->kind == WORK_COPY ? work_copy_bytes(&work->copy)
				       : work->set.width * work->set.height * work->set.element;
}

bool compute_is_small(const struct work *work)
{
	return (work->kind == WORK_COPY || work->kind == WORK_SET) &&
	       work_bytes(work) <= INLINE_BYTES && work_blocks(work) == 1;
}

static void tell_model(struct op *op, uint64_t duration_ns)
{
	struct exec *exec = op->exec;

	segment_lock(exec->segment);
	model_functional_done(exec->model, sim_now_ns(), op->model, duration_ns);
	exec->dirty = true;
	segment_unlock(exec->segment);
}

static bool is_functional(enum work_kind kind)
{
	return kind == WORK_KERNEL || kind == WORK_COPY || kind == WORK_SET || kind == WORK_HOST ||
	       kind == WORK_POLL;
}

/* Everything that it waited for is computed. Returns true if it is computed itself. */
static bool settle(struct op *op)
{
	struct work *work = &op->work;

	op->ready = true;
	switch (work->kind) {
	case WORK_KERNEL:
		if (compute_is_dropped(op))
			return true;
		cost_chunks(op);
		worker_push(op);
		return false;
	case WORK_COPY:
	case WORK_SET:
		if (compute_is_dropped(op) || op->is_early)
			return true;
		if (compute_is_small(work)) {
			work_run_block(work, 0);
			return true;
		}
		op->blocks = work_blocks(work);
		op->chunk = 1;
		worker_push(op);
		return false;
	case WORK_HOST:
	case WORK_POLL: return false;
	default: return true;
	}
}

/* Ops whose last hindrance went are chained by `link`, so that long streams need no stack. */
static struct op *unblock(struct op_list *list, bool is_poisoned, struct op *chain)
{
	for (uint32_t i = 0; i < list->count; i++) {
		struct op *op = list->item[i];

		op->is_poisoned = op->is_poisoned || is_poisoned;
		if (--op->waiting == 0 && !op->ready) {
			op->link = chain;
			chain = op; /* the list's reference goes along */
		} else {
			op_put(op);
		}
	}
	if (list->item != list->first)
		free(list->item);
	list->item = NULL;
	list->count = 0;
	return chain;
}

static struct op *set_computed(struct op *op, uint64_t duration_ns, struct op *chain)
{
	op->computed = true;
	op_leave_module(op);
	if (is_functional(op->work.kind))
		tell_model(op, duration_ns);
	return unblock(&op->waiters, op->is_poisoned, chain);
}

static void settle_chain(struct op *chain)
{
	while (chain != NULL) {
		struct op *op = chain;

		chain = op->link;
		op->link = NULL;
		if (settle(op))
			chain = set_computed(op, 1, chain);
		op_put(op);
	}
}

void compute_done(struct op *op, uint64_t duration_ns)
{
	settle_chain(set_computed(op, duration_ns, NULL));
}

void compute_release(struct op_list *list)
{
	settle_chain(unblock(list, false, NULL));
}

void compute_begin(struct op *op)
{
	if (op->waiting == 0)
		settle_chain(op_ref(op));
	if (op->at_head)
		compute_start(op);
}

void compute_start(struct op *op)
{
	op->at_head = true;
	if (op->work.kind == WORK_HOST)
		host_push(op);
	else if (op->work.kind == WORK_POLL)
		poll_add(op);
}

void compute_fault(struct home *home, CUresult error, const char *text)
{
	int none = CUDA_SUCCESS;

	if (!atomic_compare_exchange_strong(&home->sticky, &none, (int)error))
		return;
	fprintf(stderr, "simgpu: error %d, which stays in this context: %s\n", (int)error, text);
	if (home->context != NULL)
		sim_set_sticky(home->context, error);
	/* Read by every thread that computes for this context, between two warps. */
	atomic_store_explicit(&home->stop, true, memory_order_relaxed);
	if (home->exec->idle > 0)
		pthread_cond_signal(&home->exec->work);
	keeper_announce(home->exec);
}
