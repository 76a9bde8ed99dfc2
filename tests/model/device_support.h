/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DEVICE_SUPPORT_H
#define TESTS_DEVICE_SUPPORT_H

/* A small device to test in virtual time, short ways to submit to it, and what must hold in it
 * after every call. */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "device/model_impl.h"

#define US 1000ull
#define MS 1000000ull

/* Seeds tried, in quarters: the thread sanitizer finds nothing more in more of them. */
#ifdef __SANITIZE_THREAD__
#define EFFORT 1
#else
#define EFFORT 4
#endif

static inline struct model_desc device_desc(uint32_t sms, bool mps)
{
	return (struct model_desc){.name = "test",
				   .sms = sms,
				   .copy_engines = 2,
				   .mps = mps,
				   .memory_bytes = 1ull << 30,
				   .slice_ns = 2 * MS,
				   .switch_ns = 100 * US,
				   .idle_hold_ns = 50 * US};
}

/* All effects of sharing, strong enough to show on a few SMs. */
static inline void device_share(struct model_desc *desc)
{
	desc->saturation_sms[MODEL_CLASS_UNKNOWN] = 6;
	desc->saturation_sms[MODEL_CLASS_MEMORY] = 2;
	desc->saturation_sms[MODEL_CLASS_COMPUTE] = 12;
	desc->corun_permille = 100;
	desc->stagger_permille = 120;
	desc->merge_ns = 100;
	desc->coalesce_ns = 8;
	desc->age_from_ready = 1;
}

static inline struct model *device_create(const struct model_desc *desc)
{
	size_t size = (model_size() + 63) & ~63ull;
	struct model *model = aligned_alloc(64, size);

	ck_assert_ptr_nonnull(model);
	memset(model, 0, size);
	model_init(model, desc, 0);
	return model;
}

static inline uint32_t device_proc(struct model *model)
{
	static uint32_t pid = 100;
	uint32_t proc;

	pid++;
	ck_assert_int_eq(model_attach(model, model->now_ns, pid, pid * 3ull, &proc), 0);
	return proc;
}

static inline uint32_t device_stream(struct model *model, uint32_t proc, int32_t priority)
{
	uint32_t stream;

	ck_assert_int_eq(model_stream_create(model, proc, priority, &stream), 0);
	return stream;
}

static inline uint64_t device_submit(struct model *model, uint64_t now_ns, uint32_t stream,
				     struct model_op_desc desc)
{
	uint64_t op = 0;

	ck_assert_int_eq(model_submit(model, now_ns, stream, &desc, &op), 0);
	ck_assert_uint_ne(op, 0);
	return op;
}

static inline struct model_op_desc kernel_of(uint32_t blocks, uint64_t block_ns)
{
	return (struct model_op_desc){
		.kind = MODEL_KERNEL, .blocks = blocks, .blocks_per_sm = 1, .block_ns = block_ns};
}

static inline struct model_op_desc copy_of(enum model_op_kind kind, uint64_t duration_ns)
{
	return (struct model_op_desc){.kind = kind, .duration_ns = duration_ns};
}

/* Takes the one operation that must be done by now. */
static inline struct model_done device_take(struct model *model, uint32_t proc, uint64_t op)
{
	struct model_done done;

	ck_assert_uint_eq(model_collect(model, proc, 1, &done), 1);
	ck_assert_uint_eq(done.op, op);
	return done;
}

static inline void device_expect(struct model *model, uint32_t proc, uint64_t op, uint64_t start_ns,
				 uint64_t end_ns)
{
	struct model_done done = device_take(model, proc, op);

	ck_assert_uint_eq(done.start_ns, start_ns);
	ck_assert_uint_eq(done.end_ns, end_ns);
}

/* Plays event by event until nothing is scheduled. */
static inline void device_run(struct model *model, void (*each)(struct model *model))
{
	for (;;) {
		struct model_done done[16];
		uint64_t next = MODEL_NEVER;

		for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++)
			if (!model->proc[p].used || model->proc[p].done_head == MODEL_NONE)
				continue;
			else
				while (model_collect(model, p, 16, done) == 16)
					;
		next = model_next_ns(model, UINT32_MAX);
		if (next == MODEL_NEVER)
			return;
		ck_assert_uint_ge(next, model->now_ns);
		model_advance(model, next);
		if (each)
			each(model);
	}
}

/* ---- what must always hold ---- */

/* Check's own assertions make a system call each; these are looked at millions of times. */
#define MUST(condition) \
	do { \
		if (!(condition)) \
			ck_abort_msg("%s", #condition); \
	} while (0)
#define MUST_COMPARE(a, operator, b) \
	do { \
		uint64_t left_ = (uint64_t)(a), right_ = (uint64_t)(b); \
\
		if (!(left_ operator right_)) \
			ck_abort_msg("%s " #operator" %s: %lu, %lu", #a, #b, left_, right_); \
	} while (0)
#define MUST_EQ(a, b) MUST_COMPARE(a, ==, b)
#define MUST_NE(a, b) MUST_COMPARE(a, !=, b)
#define MUST_GT(a, b) MUST_COMPARE(a, >, b)
#define MUST_GE(a, b) MUST_COMPARE(a, >=, b)
#define MUST_LT(a, b) MUST_COMPARE(a, <, b)
#define MUST_LE(a, b) MUST_COMPARE(a, <=, b)

static inline void check_heap(const struct model *model, const struct heap *heap,
			      enum heap_kind kind)
{
	for (uint32_t i = 0; i < heap->count; i++) {
		const struct stream *stream = &model->stream[heap->item[i]];
		const struct stream *up = &model->stream[heap->item[i ? (i - 1) / 2 : 0]];

		MUST_EQ(stream->pos[kind], i);
		MUST_NE(stream->proc, MODEL_NONE);
		MUST_EQ(stream->head_id, model->op[stream->head].id);
		MUST(up->key[kind] < stream->key[kind] ||
		     (up->key[kind] == stream->key[kind] && up->head_id <= stream->head_id));
	}
}

/* Returns the SMs that it holds. */
static inline uint32_t check_kernel(const struct model *model, const struct op *op)
{
	uint64_t blocks = (uint64_t)op->blocks_left + op->blocks_done, before = 0;
	const struct stream *stream = &model->stream[op->stream];
	const struct runq *runq = &model->runq[model->desc.mps ? 0 : op->proc];
	uint32_t sms = 0;

	for (uint32_t g = op->group_head; g != MODEL_NONE; g = model->group[g].next) {
		const struct group *group = &model->group[g];

		MUST_EQ(group->op_id, op->id);
		MUST_GT(group->sms, 0);
		MUST_GT(group->blocks, 0);
		MUST_LE(group->blocks, (uint64_t)group->sms * op->blocks_per_sm);
		MUST_GE(group->end_vns, before);
		before = group->end_vns;
		blocks += group->blocks;
		sms += group->sms;
		if (group->next == MODEL_NONE)
			MUST_EQ(op->group_tail, g);
	}
	MUST_EQ(blocks, op->blocks);
	MUST_EQ(sms, op->sms);
	MUST_LE(sms, op->asked_sms);
	MUST_EQ(stream->pos[HEAP_HUNGRY] != HEAP_NOT,
		(op->state == OP_READY || op->state == OP_RUNNING) && op->blocks_left &&
			op->sms < op->max_sms);
	MUST_EQ(stream->pos[HEAP_TIMER] != HEAP_NOT,
		op->state == OP_TIMER ||
			(sms && op->cost_ns != MODEL_UNKNOWN && runq->paused_ns == MODEL_NEVER));
	return sms;
}

static inline void check_stream(const struct model *model, uint32_t s,
				uint32_t (*sms)[MODEL_CLASSES])
{
	const struct stream *stream = &model->stream[s];
	uint32_t depth = 0;
	uint64_t before = 0;

	for (uint32_t slot = stream->head; slot != MODEL_NONE; slot = model->op[slot].next) {
		const struct op *op = &model->op[slot];

		MUST_GT(op->id, before);
		before = op->id;
		MUST_EQ(op->stream, s);
		MUST_EQ(op->proc, stream->proc);
		if (depth++) {
			MUST_EQ(op->state, OP_QUEUED);
		} else {
			MUST_GE(op->state, OP_TIMER);
			MUST_LT(op->state, OP_DONE);
			MUST(op->state != OP_HELD || op->pending);
			if (op->kind == MODEL_KERNEL)
				sms[model->desc.mps ? 0 : op->proc][op->bw_class] +=
					check_kernel(model, op);
		}
		if (op->next == MODEL_NONE)
			MUST_EQ(stream->tail, slot);
	}
	MUST_EQ(stream->depth, depth);
	if (!depth)
		MUST_EQ(stream->pos[HEAP_TIMER], HEAP_NOT);
}

static inline uint32_t check_done(const struct model *model, const struct proc *proc)
{
	uint64_t before = 0;
	uint32_t count = 0;

	for (uint32_t slot = proc->done_head; slot != MODEL_NONE; slot = model->op[slot].next) {
		const struct op *op = &model->op[slot];

		MUST_EQ(op->state, OP_DONE);
		MUST_GE(op->end_ns, before);
		MUST_LE(op->start_ns, op->end_ns);
		before = op->end_ns;
		count++;
	}
	return count;
}

static inline void check_engines(const struct model *model)
{
	for (int e = 0; e < ENGINES; e++) {
		const struct engine *engine = &model->engine[e];

		MUST_LE(engine->count, engine->slots);
		if (engine->queue_head != MODEL_NONE)
			MUST_EQ(engine->count, engine->slots);
		for (uint32_t i = 0; i < engine->count; i++)
			MUST_EQ(model->op[model->stream[engine->run[i]].head].state, OP_RUNNING);
		for (uint32_t s = engine->queue_head; s != MODEL_NONE; s = model->stream[s].link)
			MUST_EQ(model->op[model->stream[s].head].state, OP_READY);
	}
}

static inline void check_classes(const struct model *model, const struct runq *runq,
				 const uint32_t sms[MODEL_CLASSES])
{
	uint32_t held = 0;

	for (int bw = 0; bw < MODEL_CLASSES; bw++) {
		MUST_EQ(runq->class_sms[bw], sms[bw]);
		held += sms[bw];
	}
	MUST_EQ(runq->free_sms + held, model->desc.sms);
}

static inline void device_check(const struct model *model)
{
	uint32_t sms[MODEL_MAX_PROCS][MODEL_CLASSES] = {0}, ops = 0, free_ops = 0;
	uint64_t mem = 0;

	for (uint32_t s = 0; s < model->stream_top; s++) {
		if (model->stream[s].proc == MODEL_NONE)
			continue;
		check_stream(model, s, sms);
		ops += model->stream[s].depth;
	}
	for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++) {
		const struct proc *proc = &model->proc[p];
		const struct runq *runq = &model->runq[p];
		bool owns = proc->used && !model->desc.mps;

		mem += proc->mem_bytes;
		MUST_EQ((model->procs_used >> p) & 1, proc->used != 0);
		MUST_EQ((model->procs_done >> p) & 1, proc->used && proc->done_head != MODEL_NONE);
		if (proc->used) {
			check_heap(model, &proc->timers, HEAP_TIMER);
			ops += check_done(model, proc);
		}
		if (!owns && (!model->desc.mps || p))
			continue;
		check_heap(model, &runq->hungry, HEAP_HUNGRY);
		check_classes(model, runq, sms[p]);
		/* The heart of it: without MPS only the active process's kernels move. */
		if (owns)
			MUST_EQ(runq->paused_ns == MODEL_NEVER,
				model->slice.phase == SLICE_ACTIVE && model->slice.proc == p);
		/* Nothing idles that could run. */
		if (runq->paused_ns == MODEL_NEVER)
			MUST(!runq->hungry.count || !runq->free_sms);
	}
	MUST_EQ(mem, model->mem_used);
	for (uint32_t slot = model->op_free; slot != MODEL_NONE; slot = model->op[slot].next)
		free_ops++;
	MUST_EQ(ops + free_ops, model->op_top);
	MUST_EQ(model->step_head, MODEL_NONE);
	check_engines(model);
}

static inline int device_main(const char *name, void (*add)(TCase *tcase))
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	add(tcase);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}

#endif
