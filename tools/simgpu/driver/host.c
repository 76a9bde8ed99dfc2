/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

#include <sys/prctl.h>

/* One thread per device runs host functions, one after another, in the order in which their turns
 * come; started at the first. */

static __thread bool inside;

bool host_is_inside(void)
{
	return inside;
}

static void call(struct op *op)
{
	const struct work_host *host = &op->work.host;
	CUresult sticky = atomic_load_explicit(&op->home->sticky, memory_order_relaxed);
	bool stopped = atomic_load_explicit(&op->home->stop, memory_order_relaxed);

	inside = true;
	/* A callback is told of the error; a host function is not called after one. */
	if (host->callback != NULL && !op->home->closing)
		host->callback(host->handle, sticky, host->arg);
	else if (host->fn != NULL && !stopped)
		host->fn(host->arg);
	inside = false;
}

static void *host_main(void *arg)
{
	struct exec *exec = arg;
	struct op *op;

	prctl(PR_SET_NAME, "simgpu-host");
	pthread_mutex_lock(&exec->lock);
	while (!exec->stop) {
		op = exec->host;
		if (op == NULL) {
			pthread_cond_wait(&exec->host_work, &exec->lock);
			continue;
		}
		exec->host = op->link;
		op->link = NULL;
		op->home->running++;
		pthread_mutex_unlock(&exec->lock);
		call(op);
		pthread_mutex_lock(&exec->lock);
		op->home->running--;
		pthread_cond_broadcast(&exec->done);
		compute_done(op, 1);
		op_put(op);
	}
	pthread_mutex_unlock(&exec->lock);
	return NULL;
}

void host_push(struct op *op)
{
	struct exec *exec = op->exec;
	struct op **at = &exec->host;
	pthread_t thread;

	while (*at != NULL)
		at = &(*at)->link;
	*at = op_ref(op);
	op->link = NULL;
	if (!exec->host_started && worker_start_thread(host_main, exec, &thread) == 0) {
		exec->host_started = true;
		pthread_detach(thread);
	}
	if (!exec->host_started)
		compute_fault(op->home, CUDA_ERROR_OPERATING_SYSTEM,
			      "no thread for a host function could be started");
	pthread_cond_signal(&exec->host_work);
}
