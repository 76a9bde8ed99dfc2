/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "driver/cost.h"

/* The threads that compute results: as many as the options say, and one more for each that waits
 * inside a kernel for a store of its own stream. */
#define MAX_WORKERS 128
/* It takes a sleeping thread this long to wake: what ends sooner, and is quickly done, the launching
 * thread does. */
#define URGENT_NS 150000
#define HELP_NS 30000
#define STUCK_NS 100000000ull

void worker_push(struct op *op)
{
	struct exec *exec = op->exec;

	op->link = NULL;
	if (exec->ready_last != NULL)
		exec->ready_last->link = op;
	else
		exec->ready = op;
	exec->ready_last = op;
	if (exec->idle > 0)
		pthread_cond_signal(&exec->work);
}

static void remove_ready(struct exec *exec, struct op *op)
{
	struct op **at = &exec->ready, *before = NULL;

	while (*at != op) {
		before = *at;
		at = &before->link;
	}
	*at = op->link;
	if (exec->ready_last == op)
		exec->ready_last = before;
	op->link = NULL;
}

static void run_chunk(struct op *op, uint64_t first, uint64_t count, struct ptx_result *result)
{
	if (op->work.kind == WORK_KERNEL) {
		run_kernel_chunk(op, first, count, result);
		return;
	}
	for (uint64_t i = first; i < first + count; i++)
		work_run_block(&op->work, i);
}

static void add_result(struct op *op, const struct ptx_result *result)
{
	op->result.warp_instructions += result->warp_instructions;
	op->result.thread_instructions += result->thread_instructions;
	op->result.global_bytes += result->global_bytes;
	if (result->fault == PTX_OK || result->fault == PTX_STOPPED || op->is_poisoned)
		return;
	/* The program hears of it when the kernel ends in simulated time (keeper.c). */
	op->result.fault = result->fault;
	memcpy(op->result.text, result->text, sizeof(op->result.text));
	op->is_poisoned = true;
}

/* First what its stream has come to, then the oldest. */
static struct op *pick(struct exec *exec)
{
	struct op *best = exec->ready;

	for (struct op *op = exec->ready; op != NULL; op = op->link)
		if (op->at_head > best->at_head ||
		    (op->at_head == best->at_head && op->seq < best->seq))
			best = op;
	return best;
}

static void finish_op(struct op *op)
{
	uint64_t duration_ns = 1;

	if (op->work.kind == WORK_KERNEL && !compute_is_dropped(op))
		duration_ns = cost_learn(op);
	compute_done(op, duration_ns);
}

static void work_on(struct exec *exec, struct op *op)
{
	uint64_t first = op->next_block, left = op->blocks - first, begin;
	uint64_t count = left < op->chunk ? left : op->chunk;
	struct ptx_result result;

	if (compute_is_dropped(op))
		count = left; /* none of it is run */
	op->next_block += count;
	if (op->next_block == op->blocks)
		remove_ready(exec, op);
	op->chunks_running++;
	if (exec->ready != NULL && exec->idle > 0)
		pthread_cond_signal(&exec->work);
	if (!compute_is_dropped(op)) {
		op->home->running++;
		memset(&result, 0, sizeof(result));
		pthread_mutex_unlock(&exec->lock);
		begin = sim_now_ns();
		run_chunk(op, first, count, &result);
		begin = sim_now_ns() - begin;
		pthread_mutex_lock(&exec->lock);
		op->host_ns += begin;
		exec->chunks_done++;
		op->home->running--;
		add_result(op, &result);
		if (op->home->running == 0 && op->home->closing)
			pthread_cond_broadcast(&exec->done);
	}
	if (--op->chunks_running == 0 && op->next_block == op->blocks)
		finish_op(op);
}

void worker_help(struct op *op)
{
	struct exec *exec = op->exec;

	if (exec->active > 0 || op->blocks == 0 || op->next_block > 0 ||
	    keeper_earliest_end_ns(op) > sim_now_ns() + URGENT_NS || cost_host_ns(op) > HELP_NS)
		return;
	op_ref(op);
	work_on(exec, op);
	op_put(op);
}

/* A kernel may wait for what another kernel or the program does, so it must not hold up the others
 * for ever: where all threads have been at one piece each for long, one more joins them. */
void worker_watch(struct exec *exec, uint64_t now_ns)
{
	if (exec->ready == NULL || exec->chunks_done != exec->watched_chunks) {
		exec->watched_chunks = exec->chunks_done;
		exec->watched_since_ns = now_ns;
	} else if (now_ns - exec->watched_since_ns > STUCK_NS) {
		exec->watched_since_ns = now_ns;
		worker_block(exec);
	}
}

static void *worker_main(void *arg)
{
	struct exec *exec = arg;

	prctl(PR_SET_NAME, "simgpu-work");
	pthread_mutex_lock(&exec->lock);
	while (!exec->stop) {
		struct op *op = pick(exec);

		if (op == NULL) {
			exec->idle++;
			pthread_cond_wait(&exec->work, &exec->lock);
			exec->idle--;
			continue;
		}
		op_ref(op);
		exec->active++;
		work_on(exec, op);
		exec->active--;
		op_put(op);
	}
	pthread_mutex_unlock(&exec->lock);
	return NULL;
}

/* Our threads take none of the program's signals. */
int worker_start_thread(void *(*fn)(void *), void *arg, pthread_t *ret_thread)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(ret_thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

int worker_start(struct exec *exec)
{
	pthread_t thread;
	int err = 0;

	while (err == 0 && exec->workers < exec->threads && exec->workers < MAX_WORKERS) {
		err = worker_start_thread(worker_main, exec, &thread);
		if (err == 0) {
			pthread_detach(thread);
			exec->workers++;
		}
	}
	return exec->workers > 0 ? 0 : err;
}

void worker_block(struct exec *exec)
{
	exec->threads++;
	(void)worker_start(exec);
}

void worker_unblock(struct exec *exec)
{
	exec->threads--;
}
