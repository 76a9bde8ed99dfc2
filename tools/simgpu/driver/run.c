/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

/*
 * A kernel's blocks on the calling thread, without exec->lock. Memory is checked by the core half;
 * besides, a kernel that touches memory which a write-value before it in its stream has still to
 * write waits for that store, since it may have been started ahead of it.
 */

static bool is_behind_write(const struct op *op, uint64_t low, uint64_t high)
{
	for (const struct op *write = op->behind; write != NULL; write = write->behind)
		if (!atomic_load_explicit(&write->complete, memory_order_relaxed) &&
		    write->work.memop.address < high && write->work.memop.address >= low)
			return true;
	return false;
}

static void wait_for_writes(struct op *op, uint64_t low, uint64_t high)
{
	struct exec *exec = op->exec;

	pthread_mutex_lock(&exec->lock);
	while (is_behind_write(op, low, high) &&
	       !atomic_load_explicit(&op->home->stop, memory_order_relaxed)) {
		for (struct op *write = op->behind; write != NULL; write = write->behind)
			write->awaited = true;
		worker_block(exec);
		exec->done_waiters++;
		pthread_cond_wait(&exec->done, &exec->lock);
		exec->done_waiters--;
		worker_unblock(exec);
	}
	pthread_mutex_unlock(&exec->lock);
}

static bool check(void *arg, uint64_t address, uint32_t size, bool write, uint64_t *ret_low,
		  uint64_t *ret_high)
{
	struct op *op = arg;

	if (!sim_memory_checker.check(sim_memory_checker.arg, address, size, write, ret_low,
				      ret_high))
		return false;
	/* `behind` only ever goes to NULL, when all of them are over. */
	if (op->behind != NULL)
		wait_for_writes(op, *ret_low, *ret_high);
	return true;
}

void run_kernel_chunk(struct op *op, uint64_t first, uint64_t count, struct ptx_result *result)
{
	const struct work_kernel *kernel = &op->work.kernel;
	const struct ptx_memory memory = {check, op};
	struct ptx_launch launch = {
		.function = kernel->function->ptx,
		.grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
		.block = {kernel->block[0], kernel->block[1], kernel->block[2]},
		.dynamic_shared_bytes = kernel->shared_bytes,
		.params = kernel->params,
		.memory = op->behind != NULL ? &memory : &sim_memory_checker,
		.stop = &op->home->stop,
		.clock_ns = sim_now_ns(),
	};

	if (kernel->function->ptx != NULL)
		(void)ptx_run(&launch, first, count, result);
}

CUresult run_fault_error(enum ptx_fault fault)
{
	switch (fault) {
	case PTX_ILLEGAL_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
	case PTX_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
	case PTX_ASSERT: return CUDA_ERROR_ASSERT;
	case PTX_ILLEGAL_INSTRUCTION: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	case PTX_NO_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
	default: return CUDA_ERROR_LAUNCH_FAILED;
	}
}
