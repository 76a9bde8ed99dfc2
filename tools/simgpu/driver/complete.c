/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

/* The end of operations, in the order in which the model ended them. */

static void store_value(struct op *op)
{
	const struct work_memop *memop = &op->work.memop;
	struct sim_range range;

	if (atomic_load_explicit(&op->home->stop, memory_order_relaxed))
		return;
	if (!sim_memory_find(memop->address, &range)) {
		compute_fault(op->home, CUDA_ERROR_ILLEGAL_ADDRESS,
			      "a value written to memory that is gone");
		return;
	}
	/* Whoever reads the value also sees what the stream did before it. */
	if (memop->size == 4)
		atomic_store_explicit((_Atomic uint32_t *)(uintptr_t)memop->address,
				      (uint32_t)memop->value, memory_order_release);
	else
		atomic_store_explicit((_Atomic uint64_t *)(uintptr_t)memop->address, memop->value,
				      memory_order_release);
}

static void count(struct exec *exec, const struct op *op, const struct model_done *done)
{
	switch (op->work.kind) {
	case WORK_KERNEL:
	case WORK_COPY:
	case WORK_SET:
		exec->counters.ops++;
		exec->counters.late_ops += done->late;
		break;
	default: break;
	}
}

static void complete(struct op *op, const struct model_done *done)
{
	struct exec *exec = op->exec;
	struct stream *stream = op->stream;
	struct op *next = op->next;

	if (op->work.kind == WORK_WRITE)
		store_value(op);
	if (op->result.fault != PTX_OK)
		compute_fault(op->home, run_fault_error(op->result.fault), op->result.text);
	op->start_ns = done->start_ns;
	op->end_ns = done->end_ns;
	count(exec, op, done);
	/* Read without the lock by threads that spin for it; what they go on to read they read
	 * under the lock. */
	atomic_store_explicit(&op->complete, true, memory_order_release);
	exec->timely -= op->is_timely;
	stream->oldest = next;
	op->next = NULL;
	if (stream->last_write == op) {
		stream->last_write = NULL;
		op_put(op);
	}
	if (op->behind != NULL) {
		op_put(op->behind);
		op->behind = NULL;
	}
	if (next != NULL)
		compute_start(next);
	compute_release(&op->followers);
	op_drop_work(op);
	if (op->awaited)
		keeper_announce(exec);
	if (stream->last == op) {
		stream->last = NULL;
		op_put(op);
	}
	op_put(op);
}

void complete_ops(struct exec *exec, const struct model_done *done, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct op *op = (struct op *)(uintptr_t)done[i].cookie;

		if (op->work.kind == WORK_CALL) {
			/* It may take the caller's locks, so ours is dropped; nobody else hands
			 * out meanwhile, so the order stays. */
			pthread_mutex_unlock(&exec->lock);
			op->work.call.fn(op->work.call.arg);
			pthread_mutex_lock(&exec->lock);
		}
		complete(op, &done[i]);
	}
}
