/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

#include <errno.h>
#include <sys/prctl.h>

/*
 * Simulated time. The model knows when the next thing ends; somebody has to sleep until then and
 * hand out what ended. A thread of the program that waits does it itself ("leads"), which saves
 * two changes of thread; otherwise the keeper does, and while somebody leads it only stands by.
 */

#define BATCH 64
#define REAP_NS 25000000ull
#define STANDBY_NS 200000ull /* how much later the keeper looks where somebody leads */
#define FALLBACK_NS 5000000ull
#define LAZY_NS 1000000ull /* between looks where nobody could see the difference */
#define SPIN_NS 35000ull   /* less than this is not worth a sleep */
#define OVERSLEEP_MAX_NS 150000ull

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t later(uint64_t time_ns, uint64_t by_ns)
{
	return time_ns > MODEL_NEVER - by_ns ? MODEL_NEVER : time_ns + by_ns;
}

/* ---- what ended ---- */

/* With ret_seen, also what a sleep to the next event needs. */
static void collect(struct exec *exec, uint32_t *ret_seen, uint64_t *ret_deadline_ns)
{
	struct model_done done[BATCH];
	uint32_t n;

	do {
		n = 0;
		segment_lock(exec->segment);
		model_advance(exec->model, sim_now_ns());
		if (!exec->collecting)
			n = model_collect(exec->model, exec->proc, BATCH, done);
		if (n < BATCH) {
			exec->next_ns = model_next_ns(exec->model, exec->proc);
			exec->dirty = false;
		}
		if (n == 0 && ret_seen != NULL)
			*ret_seen =
				segment_prepare_wait(exec->segment, exec->proc, ret_deadline_ns);
		segment_unlock(exec->segment);
		if (n > 0) {
			exec->collecting = true;
			complete_ops(exec, done, n);
			exec->collecting = false;
			if (exec->done_waiters > 0)
				pthread_cond_broadcast(&exec->done);
			poll_check(exec);
		}
	} while (n == BATCH || (n > 0 && ret_seen != NULL));
}

void keeper_collect(struct exec *exec)
{
	collect(exec, NULL, NULL);
}

void keeper_announce(struct exec *exec)
{
	if (exec->done_waiters > 0)
		pthread_cond_broadcast(&exec->done);
	if (exec->leading)
		segment_notify(exec->segment, exec->proc);
}

void keeper_be_exact(struct exec *exec)
{
	bool lazy = exec->keeper_lazy || exec->leader_lazy;

	exec->keeper_lazy = exec->leader_lazy = false;
	if (lazy)
		segment_notify(exec->segment, exec->proc);
}

/* ---- sleeping ---- */

/* Sleeps to the deadline as exactly as can be: the kernel wakes late by about the same each time,
 * so by that much sooner, and the rest is spun. Without the lock. */
static void sleep_to(struct exec *exec, uint32_t seen, uint64_t deadline_ns, uint64_t *oversleep_ns,
		     const struct op *until)
{
	uint64_t now = sim_now_ns(), target = deadline_ns;

	if (deadline_ns > later(now, SPIN_NS)) {
		if (deadline_ns != MODEL_NEVER)
			target = deadline_ns - earlier(*oversleep_ns, deadline_ns - now);
		segment_wait(exec->segment, exec->proc, seen, target);
		now = sim_now_ns();
		if (now >= target && now - target < OVERSLEEP_MAX_NS)
			*oversleep_ns = (*oversleep_ns * 7 + (now - target) * 4 / 5) / 8;
		if (later(now, SPIN_NS) < deadline_ns)
			return; /* notified */
	}
	while (now < deadline_ns &&
	       (until == NULL || !atomic_load_explicit(&until->complete, memory_order_acquire))) {
		__builtin_ia32_pause();
		now = sim_now_ns();
	}
}

static bool is_over(const struct op *op)
{
	return atomic_load_explicit(&op->complete, memory_order_relaxed) ||
	       atomic_load_explicit(&op->home->stop, memory_order_relaxed);
}

uint64_t keeper_earliest_end_ns(const struct op *op)
{
	const struct op *oldest = op->stream->oldest;

	return oldest == NULL ? 0 : sim_now_ns() + op->least_ns - oldest->least_ns;
}

static void lead(struct op *op)
{
	struct exec *exec = op->exec;
	uint64_t deadline_ns = 0, oversleep_ns = exec->oversleep_ns;
	int slack;
	uint32_t seen = 0;

	collect(exec, &seen, &deadline_ns);
	if (is_over(op) || deadline_ns <= sim_now_ns())
		return;
	exec->leader_lazy = exec->timely == 0 && exec->done_waiters == 0 &&
			    keeper_earliest_end_ns(op) > deadline_ns;
	if (exec->leader_lazy)
		deadline_ns = keeper_earliest_end_ns(op);
	op->awaited = true;
	exec->leading = true;
	deadline_ns = earlier(deadline_ns, sim_now_ns() + REAP_NS);
	pthread_mutex_unlock(&exec->lock);
	/* The thread is the program's: its slack is put back. */
	slack = prctl(PR_GET_TIMERSLACK);
	prctl(PR_SET_TIMERSLACK, 1);
	sleep_to(exec, seen, deadline_ns, &oversleep_ns, op);
	if (slack > 0)
		prctl(PR_SET_TIMERSLACK, slack);
	pthread_mutex_lock(&exec->lock);
	exec->oversleep_ns = oversleep_ns;
	exec->leading = false;
	exec->leader_lazy = false;
}

static void wait_done(struct exec *exec, uint64_t timeout_ns)
{
	uint64_t until = sim_now_ns() + timeout_ns;
	struct timespec ts = {(time_t)(until / 1000000000), (long)(until % 1000000000)};

	if (exec->leader_lazy)
		keeper_be_exact(exec);
	exec->done_waiters++;
	pthread_cond_timedwait(&exec->done, &exec->lock, &ts);
	exec->done_waiters--;
}

CUresult keeper_wait(struct op *op)
{
	struct exec *exec = op->exec;
	bool led = false;

	while (!is_over(op)) {
		op->awaited = true;
		if (exec->leading || exec->collecting) {
			wait_done(exec, FALLBACK_NS);
		} else {
			lead(op);
			led = true;
		}
	}
	/* Another thread that waits leads from now on; without one, the keeper. */
	if (led && !exec->leading && exec->done_waiters > 0)
		pthread_cond_broadcast(&exec->done);
	else if (led && !exec->leading && exec->next_ns < exec->keeper_until_ns)
		segment_notify(exec->segment, exec->proc);
	if (atomic_load_explicit(&op->complete, memory_order_relaxed) &&
	    !atomic_load_explicit(&op->home->stop, memory_order_relaxed))
		return CUDA_SUCCESS;
	return atomic_load_explicit(&op->home->sticky, memory_order_relaxed);
}

bool keeper_is_complete(struct op *op)
{
	struct exec *exec = op->exec;

	if (!atomic_load_explicit(&op->complete, memory_order_relaxed) && !exec->collecting &&
	    (exec->dirty || sim_now_ns() >= exec->next_ns))
		collect(exec, NULL, NULL);
	return atomic_load_explicit(&op->complete, memory_order_relaxed);
}

void keeper_breathe(struct exec *exec)
{
	wait_done(exec, 1000000);
	collect(exec, NULL, NULL);
}

/* ---- the thread ---- */

static uint64_t keeper_deadline(struct exec *exec, uint64_t deadline_ns)
{
	uint64_t now = sim_now_ns();

	if (exec->leading)
		deadline_ns = later(deadline_ns, STANDBY_NS);
	exec->keeper_lazy = exec->timely == 0 && deadline_ns < now + LAZY_NS;
	if (exec->keeper_lazy)
		deadline_ns = now + LAZY_NS;
	if (exec->polls != NULL)
		deadline_ns = earlier(deadline_ns, now + poll_interval_ns(exec, now));
	return earlier(deadline_ns, now + REAP_NS);
}

static void *keeper_main(void *arg)
{
	struct exec *exec = arg;
	uint64_t deadline_ns = 0, oversleep_ns = exec->oversleep_ns, now, reap_ns = 0;
	uint32_t seen = 0;

	prctl(PR_SET_NAME, "simgpu-time");
	prctl(PR_SET_TIMERSLACK, 1);
	pthread_mutex_lock(&exec->lock);
	while (!exec->stop) {
		if (exec->collecting) {
			wait_done(exec, FALLBACK_NS);
			continue;
		}
		collect(exec, &seen, &deadline_ns);
		poll_check(exec);
		worker_watch(exec, sim_now_ns());
		deadline_ns = keeper_deadline(exec, deadline_ns);
		exec->keeper_until_ns = deadline_ns;
		pthread_mutex_unlock(&exec->lock);
		sleep_to(exec, seen, deadline_ns, &oversleep_ns, NULL);
		now = sim_now_ns();
		if (now >= reap_ns) {
			(void)segment_reap(exec->segment, now, false);
			reap_ns = now + REAP_NS;
		}
		pthread_mutex_lock(&exec->lock);
		exec->keeper_until_ns = 0;
		exec->keeper_lazy = false;
	}
	pthread_mutex_unlock(&exec->lock);
	return NULL;
}

int keeper_start(struct exec *exec)
{
	return worker_start_thread(keeper_main, exec, &exec->keeper);
}
