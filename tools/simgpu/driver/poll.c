/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

/*
 * Waits for a value in memory. Anybody may write it: another stream, the program, another process.
 * They are looked at whenever something ends and, by the keeper, between.
 */

static bool is_satisfied(struct op *op)
{
	const struct work_memop *memop = &op->work.memop;
	uint64_t seen, value = memop->value;
	struct sim_range range;

	if (atomic_load_explicit(&op->home->stop, memory_order_relaxed) || op->home->closing)
		return true;
	if (!sim_memory_find(memop->address, &range)) {
		compute_fault(op->home, CUDA_ERROR_ILLEGAL_ADDRESS,
			      "a wait for a value in memory that is gone");
		return true;
	}
	/* Pairs with whatever release the writer makes: another stream, process or the program. */
	if (memop->size == 4)
		seen = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)memop->address,
					    memory_order_acquire);
	else
		seen = atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)memop->address,
					    memory_order_acquire);
	switch (memop->flags & 3) {
	case CU_STREAM_WAIT_VALUE_EQ: return seen == value;
	case CU_STREAM_WAIT_VALUE_AND: return (seen & value) != 0;
	case CU_STREAM_WAIT_VALUE_NOR:
		return (memop->size == 4 ? (uint32_t) ~(seen | value) : ~(seen | value)) != 0;
	default:
		return memop->size == 4 ? (int32_t)((uint32_t)seen - (uint32_t)value) >= 0
					: (int64_t)(seen - value) >= 0;
	}
}

void poll_check(struct exec *exec)
{
	struct op **at = &exec->polls, *op, *satisfied = NULL;

	while ((op = *at) != NULL) {
		if (!is_satisfied(op)) {
			at = &op->link;
			continue;
		}
		*at = op->link;
		op->link = satisfied;
		satisfied = op;
	}
	while ((op = satisfied) != NULL) {
		satisfied = op->link;
		op->link = NULL;
		compute_done(op, 1);
		op_put(op);
	}
}

void poll_add(struct op *op)
{
	struct exec *exec = op->exec;

	op->link = exec->polls;
	exec->polls = op_ref(op);
	exec->poll_since_ns = sim_now_ns();
	poll_check(exec);
	if (exec->polls != NULL)
		segment_notify(exec->segment, exec->proc);
}

/* Sleep between two looks: short at first, since most waits are. */
uint64_t poll_interval_ns(const struct exec *exec, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - exec->poll_since_ns;

	if (age_ns < 1000000)
		return 20000;
	return age_ns < 100000000 ? 100000 : 500000;
}
