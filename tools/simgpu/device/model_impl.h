/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_MODEL_IMPL_H
#define SIMGPU_MODEL_IMPL_H

/*
 * What the files model*.c know of one another; its tests look in here too. As all of the model:
 * one caller at a time, times in ns of the model's clock.
 */

#include <assert.h>
#include <stddef.h>

#include "device/model_records.h"

/* Orders stores as a killed process leaves them. */
static inline void model_commit(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void op_set_state(struct op *op, enum op_state state)
{
	model_commit();
	*(volatile uint8_t *)&op->state = (uint8_t)state;
	model_commit();
}

static inline uint32_t op_slot(const struct model *model, const struct op *op)
{
	return (uint32_t)(op - model->op);
}

static inline bool op_is_copy(const struct op *op)
{
	return op->kind == MODEL_COPY_H2D || op->kind == MODEL_COPY_D2H ||
	       op->kind == MODEL_COPY_D2D;
}

static inline uint64_t proc_bit(uint32_t proc)
{
	return 1ull << proc;
}

static inline struct runq *runq_of(struct model *model, uint32_t proc)
{
	return &model->runq[model->desc.mps ? 0 : proc];
}

/* A run queue's own clock. */
static inline uint64_t runq_now(const struct model *model, const struct runq *runq)
{
	return (runq->paused_ns != MODEL_NEVER ? runq->paused_ns : model->now_ns) - runq->shift_ns;
}

static inline uint64_t timer_first(const struct model *model, uint32_t proc)
{
	const struct heap *timers = &model->proc[proc].timers;

	return timers->count ? model->stream[timers->item[0]].key[HEAP_TIMER] : MODEL_NEVER;
}

/* model_heap.c; setting a stream that is in changes its key, removing one that is not is fine. */
void heap_set(struct model *model, struct heap *heap, enum heap_kind kind, uint32_t stream,
	      uint64_t key);
void heap_remove(struct model *model, struct heap *heap, enum heap_kind kind, uint32_t stream);
void timer_set(struct model *model, uint32_t stream, uint64_t at_ns);
void timer_clear(struct model *model, uint32_t stream);

/* model_op.c */
struct op *op_find(struct model *model, uint64_t id); /* not done yet, or NULL */
void op_free(struct model *model, struct op *op);
void op_schedule_over(struct model *model, struct op *op); /* hardware is released now */
void op_finish(struct model *model, struct op *op, bool late);
void op_finish_held(struct model *model, struct op *op);
void op_wake_waiters(struct model *model, struct op *op, uint32_t except_proc);
void op_unwait(struct model *model, uint32_t stream);
void step_push(struct model *model, uint32_t stream, bool follows);
void step_all(struct model *model);

/* model_stream.c */
void stream_release(struct model *model, uint32_t stream);
void stream_append(struct model *model, uint32_t stream, struct op *op);
void stream_pop(struct model *model, uint32_t stream);
void done_append(struct model *model, struct op *op);

/* model_control.c */
uint64_t kernel_rank(const struct model *model, const struct op *op);

/* model_effect.c */
void effect_init(struct model *model);
/* Of the blocks that `sms` SMs more would be given now */
uint64_t effect_block_ns(const struct model *model, const struct runq *runq, const struct op *op,
			 uint32_t sms);
/* The SMs that a kernel gets at once are in so many parts, whose blocks differ in length. */
uint32_t effect_parts(const struct model *model, const struct op *op, uint32_t sms);
uint64_t effect_stagger(const struct model *model, uint64_t block_ns, uint32_t part,
			uint32_t parts);
/* Turns short waves into fewer that take as long together. */
void effect_merge(const struct model *model, uint64_t per_wave, uint32_t *blocks,
		  uint64_t *block_ns);
uint64_t effect_least_ns(const struct model *model, const struct op *op); /* of any block */

/* model_kernel.c */
void kernel_set_shape(struct model *model, struct op *op, const struct model_op_desc *desc);
void kernel_set_cost(struct op *op, uint64_t block_ns);
void kernel_ready(struct model *model, struct op *op);
void kernel_fire(struct model *model, struct op *op);
/* Its cost is known at last, after it has started. */
void kernel_resolve(struct model *model, struct op *op);
void kernel_stop(struct model *model, struct op *op); /* off the hardware, for good */
void kernel_retime(struct model *model, struct op *op);
void kernel_dispatch(struct model *model);

/* model_runq.c */
void kernel_enter(struct model *model, struct op *op); /* SMs are held: the run list */
void kernel_leave(struct model *model, struct op *op);
void kernel_set_hungry(struct model *model, struct op *op, bool hungry);
void runq_clear(struct model *model, uint32_t index);
void runq_reset(struct model *model, uint32_t index, bool paused);
void runq_pause(struct model *model, uint32_t index);
void runq_resume(struct model *model, uint32_t index);

/* model_copy.c */
void copy_reset(struct model *model);
void copy_ready(struct model *model, struct op *op);
void copy_fire(struct model *model, struct op *op);
void copy_resolve(struct model *model, struct op *op);
void copy_stop(struct model *model, struct op *op);
uint64_t copy_next_ns(const struct model *model, uint32_t proc);
/* For model_repair: the copies that run or could, in the order in which engines take them. */
void copy_rebuild(struct model *model, const uint16_t *slots, uint32_t count);

/* model_slice.c */
void slice_update(struct model *model);
uint64_t slice_event_ns(const struct model *model);
bool slice_is_running(const struct model *model, uint32_t proc);
void slice_forget(struct model *model, uint32_t proc);

/* model.c */
void model_settle(struct model *model);
void proc_update_busy(struct model *model, uint32_t proc);

#endif
