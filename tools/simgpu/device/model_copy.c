/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies: an engine serves up to `slots` copies at once, in the order in which they became ready,
 * and each at 1/n of the speed while n are served. Work is counted in 1/COPY_UNIT ns, so that
 * every share is exact.
 */

#include "device/model_impl.h"

void copy_reset(struct model *model)
{
	uint32_t engines = model->desc.copy_engines;

	if (engines > MODEL_MAX_ENGINES)
		engines = MODEL_MAX_ENGINES;
	for (int e = 0; e < ENGINES; e++) {
		struct engine *engine = &model->engine[e];

		engine->count = 0;
		engine->queue_head = engine->queue_tail = MODEL_NONE;
		engine->seen_ns = model->now_ns;
	}
	model->engine[ENGINE_IN].slots = engines > 1 ? (engines + 1) / 2 : 1;
	model->engine[ENGINE_OUT].slots = engines / 2; /* 0: the other serves both */
	model->engine[ENGINE_DEVICE].slots = 1;
}

static struct engine *copy_engine(struct model *model, const struct op *op)
{
	if (op->kind == MODEL_COPY_D2D)
		return &model->engine[ENGINE_DEVICE];
	if (op->kind == MODEL_COPY_D2H && model->engine[ENGINE_OUT].slots)
		return &model->engine[ENGINE_OUT];
	return &model->engine[ENGINE_IN];
}

static uint64_t copy_need(const struct op *op)
{
	return op->cost_ns == MODEL_UNKNOWN ? MODEL_NEVER : op->cost_ns * COPY_UNIT;
}

/* Brings `served` up to now; before anything changes who is served. */
static void engine_progress(struct model *model, struct engine *engine)
{
	uint64_t elapsed = model->now_ns - engine->seen_ns;

	engine->seen_ns = model->now_ns;
	for (uint32_t i = 0; i < engine->count; i++) {
		struct op *op = &model->op[model->stream[engine->run[i]].head];

		op->served += elapsed * (COPY_UNIT / engine->count);
	}
}

static void engine_retime(struct model *model, struct engine *engine)
{
	for (uint32_t i = 0; i < engine->count; i++) {
		uint32_t stream = engine->run[i];
		const struct op *op = &model->op[model->stream[stream].head];
		uint64_t need = copy_need(op), share = COPY_UNIT / engine->count, left = 0;

		if (need == MODEL_NEVER)
			continue;
		if (op->served < need)
			left = (need - op->served + share - 1) / share;
		timer_set(model, stream, model->now_ns + left);
	}
}

/* Room on the engine goes to those who wait longest; then everyone's end is known anew. */
static void engine_fill(struct model *model, struct engine *engine)
{
	while (engine->count < engine->slots && engine->queue_head != MODEL_NONE) {
		uint32_t index = engine->queue_head;
		struct stream *stream = &model->stream[index];
		struct op *op = &model->op[stream->head];

		engine->queue_head = stream->link;
		if (engine->queue_head == MODEL_NONE)
			engine->queue_tail = MODEL_NONE;
		stream->link = MODEL_NONE;
		if (op->start_ns == MODEL_NEVER)
			op->start_ns = model->now_ns;
		op_set_state(op, OP_RUNNING);
		engine->run[engine->count++] = index;
		model->proc[op->proc].copies_waiting[engine - model->engine]--;
		model->proc[op->proc].copies_running++;
		model->procs_touched |= proc_bit(op->proc);
	}
	engine_retime(model, engine);
}

static void engine_enqueue(struct model *model, struct engine *engine, uint32_t stream)
{
	model->stream[stream].link = MODEL_NONE;
	if (engine->queue_tail != MODEL_NONE)
		model->stream[engine->queue_tail].link = stream;
	else
		engine->queue_head = stream;
	engine->queue_tail = stream;
	model->proc[model->stream[stream].proc].copies_waiting[engine - model->engine]++;
}

static void engine_dequeue(struct model *model, struct engine *engine, uint32_t stream)
{
	uint32_t before = MODEL_NONE, at = engine->queue_head;

	while (at != stream) {
		before = at;
		at = model->stream[at].link;
	}
	if (before != MODEL_NONE)
		model->stream[before].link = model->stream[stream].link;
	else
		engine->queue_head = model->stream[stream].link;
	if (engine->queue_tail == stream)
		engine->queue_tail = before;
	model->stream[stream].link = MODEL_NONE;
	model->proc[model->stream[stream].proc].copies_waiting[engine - model->engine]--;
}

static void copy_enter(struct model *model, struct op *op)
{
	struct engine *engine = copy_engine(model, op);

	engine_progress(model, engine);
	engine_enqueue(model, engine, op->stream);
	engine_fill(model, engine);
}

void copy_ready(struct model *model, struct op *op)
{
	op->ready_ns = model->now_ns; /* its place in the queue, for model_repair */
	op_set_state(op, OP_READY);
	copy_enter(model, op);
}

void copy_stop(struct model *model, struct op *op)
{
	struct engine *engine = copy_engine(model, op);
	uint32_t i = 0;

	if (op->state == OP_READY) {
		engine_dequeue(model, engine, op->stream);
		return;
	}
	engine_progress(model, engine);
	while (engine->run[i] != op->stream)
		i++;
	engine->run[i] = engine->run[--engine->count];
	model->proc[op->proc].copies_running--;
	model->procs_touched |= proc_bit(op->proc);
	timer_clear(model, op->stream);
	engine_fill(model, engine);
}

void copy_fire(struct model *model, struct op *op)
{
	copy_stop(model, op);
	op_schedule_over(model, op);
}

void copy_resolve(struct model *model, struct op *op)
{
	struct engine *engine = copy_engine(model, op);
	uint64_t share;
	bool late;

	if (op->state != OP_RUNNING)
		return;
	engine_progress(model, engine);
	if (op->served < copy_need(op)) {
		engine_retime(model, engine);
		return;
	}
	share = COPY_UNIT / engine->count;
	late = op->served - copy_need(op) >= share;
	copy_stop(model, op);
	op_finish(model, op, late);
}

/* The first end of a copy on this engine; MODEL_NEVER too where it is no matter of `proc`. */
static uint64_t engine_next_ns(const struct model *model, const struct engine *engine,
			       uint32_t proc)
{
	bool concerns = model->proc[proc].copies_waiting[engine - model->engine] > 0;
	uint64_t first = MODEL_NEVER;

	for (uint32_t i = 0; i < engine->count; i++) {
		const struct stream *stream = &model->stream[engine->run[i]];

		concerns |= stream->proc == proc;
		if (stream->pos[HEAP_TIMER] != HEAP_NOT && stream->key[HEAP_TIMER] < first)
			first = stream->key[HEAP_TIMER];
	}
	return concerns ? first : MODEL_NEVER;
}

/* Copies that share an engine, or wait for it, move when the first of those on it ends. */
uint64_t copy_next_ns(const struct model *model, uint32_t proc)
{
	uint64_t first = MODEL_NEVER;

	for (int e = 0; e < ENGINES; e++) {
		uint64_t next = engine_next_ns(model, &model->engine[e], proc);

		if (next < first)
			first = next;
	}
	return first;
}

/* One that was about to leave its engine may count as running, so there can be one too many. */
void copy_rebuild(struct model *model, const uint16_t *slots, uint32_t count)
{
	uint32_t running[ENGINES] = {0};

	for (uint32_t i = 0; i < count; i++)
		if (model->op[slots[i]].state == OP_RUNNING)
			running[copy_engine(model, &model->op[slots[i]]) - model->engine]++;
	for (uint32_t i = 0; i < count; i++) {
		struct op *op = &model->op[slots[i]];
		struct engine *engine = copy_engine(model, op);
		uint32_t shares = running[engine - model->engine];

		if (op->state != OP_RUNNING)
			continue;
		if (shares > engine->slots)
			shares = engine->slots;
		op->served += (model->now_ns - engine->seen_ns) * (COPY_UNIT / shares);
	}
	copy_reset(model);
	for (uint32_t i = 0; i < count; i++) {
		op_set_state(&model->op[slots[i]], OP_READY);
		copy_enter(model, &model->op[slots[i]]);
	}
}
