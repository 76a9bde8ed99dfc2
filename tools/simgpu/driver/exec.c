/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/exec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/capture.h"
#include "driver/cost.h"
#include "driver/event.h"
#include "driver/queue.h"
#include "driver/report.h"

/* All of the process, one per device; grows only, at the head, so that it can be walked without the
 * lock: release at the store, acquire at the load. */
static struct exec *_Atomic all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

#define OVERSLEEP_FIRST_NS 40000

static void init_locks(struct exec *exec)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&exec->lock, NULL);
	pthread_cond_init(&exec->work, NULL);
	pthread_cond_init(&exec->host_work, NULL);
	pthread_cond_init(&exec->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static int load_costs(struct exec *exec)
{
	const char *path = sim_options_get()->costs_path;
	char error[COST_ERROR_MAX];
	int err;

	if (path == NULL)
		return 0;
	err = cost_table_load(path, &exec->costs, error);
	if (err != 0)
		fprintf(stderr, "simgpu: %s\n", error);
	return err;
}

static void exec_free(struct exec *exec)
{
	cost_table_free(exec->costs);
	free(exec->remembered);
	free(exec);
}

static CUresult exec_create(struct sim_device *device, struct exec **ret_exec)
{
	struct exec *exec = calloc(1, sizeof(*exec));
	int err;

	if (exec == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	err = load_costs(exec);
	if (err == 0)
		err = cost_memory_create(exec);
	if (err != 0) {
		exec_free(exec);
		return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	}
	init_locks(exec);
	exec->device = device;
	exec->segment = device->segment;
	exec->model = segment_model(device->segment);
	exec->proc = device->proc;
	exec->desc = device->desc;
	exec->threads = sim_options_get()->threads;
	if (exec->threads == 0)
		exec->threads = 1;
	exec->oversleep_ns = OVERSLEEP_FIRST_NS;
	exec->next_ns = MODEL_NEVER;
	if (keeper_start(exec) != 0 || worker_start(exec) != 0) {
		/* A keeper that did start goes on with an executor that nobody uses. */
		fprintf(stderr, "simgpu: no thread for the simulated GPU could be started\n");
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	exec->next = all;
	atomic_store_explicit(&all, exec, memory_order_release);
	report_register(exec);
	*ret_exec = exec;
	return CUDA_SUCCESS;
}

struct exec *exec_first(void)
{
	return atomic_load_explicit(&all, memory_order_acquire);
}

static CUresult get_exec(struct sim_device *device, struct exec **ret_exec)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&all_lock);
	if (device->exec == NULL)
		result = exec_create(device, &device->exec);
	*ret_exec = device->exec;
	pthread_mutex_unlock(&all_lock);
	return result;
}

CUresult exec_context_start(struct sim_context *context)
{
	struct home *home;
	struct exec *exec;
	CUresult result = get_exec(context->device, &exec);

	if (result != CUDA_SUCCESS)
		return result;
	home = calloc(1, sizeof(*home));
	if (home == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	home->context = context;
	home->exec = exec;
	home->id = context->id;
	home->refs = 1;
	pthread_mutex_lock(&exec->lock);
	home->next = exec->homes;
	exec->homes = home;
	context->legacy = stream_new(home, CU_STREAM_DEFAULT, 0);
	if (context->legacy == NULL) {
		home_put(home);
		result = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		context->legacy->is_legacy = true;
	}
	pthread_mutex_unlock(&exec->lock);
	return result;
}

static struct op *find_pending_in(struct stream *list)
{
	for (struct stream *stream = list; stream != NULL; stream = stream->next)
		if (stream->last != NULL)
			return op_ref(stream->last);
	return NULL;
}

/* The last operation of a stream that is not over yet, counted. */
static struct op *find_pending(struct home *home)
{
	struct op *op = find_pending_in(home->streams);

	return op != NULL ? op : find_pending_in(home->leaving);
}

static CUresult drain(struct home *home)
{
	CUresult result = CUDA_SUCCESS;
	struct op *op;

	while (result == CUDA_SUCCESS && (op = find_pending(home)) != NULL) {
		result = keeper_wait(op);
		op_put(op);
	}
	return result;
}

/* Counts the last operations of streams that are not over; with `ret`, also takes them. */
static size_t take_last(struct stream *list, struct op **ret)
{
	size_t n = 0;

	for (struct stream *stream = list; stream != NULL; stream = stream->next) {
		if (stream->last == NULL)
			continue;
		if (ret != NULL)
			ret[n] = op_ref(stream->last);
		n++;
	}
	return n;
}

static CUresult wait_all(struct op **last, size_t n)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < n; i++) {
		if (result == CUDA_SUCCESS)
			result = keeper_wait(last[i]);
		op_put(last[i]);
	}
	return result;
}

CUresult exec_synchronize(struct sim_context *context)
{
	struct stream *legacy = context->legacy;
	struct exec *exec = legacy->exec;
	struct home *home = legacy->home;
	struct op **last = NULL;
	CUresult result = CUDA_SUCCESS;
	size_t n;

	if (host_is_inside())
		return CUDA_ERROR_NOT_PERMITTED;
	pthread_mutex_lock(&exec->lock);
	/* Only what is queued now: other threads may go on adding. */
	n = take_last(home->streams, NULL) + take_last(home->leaving, NULL);
	if (n > 0)
		last = calloc(n, sizeof(struct op *));
	if (last != NULL) {
		take_last(home->leaving, last + take_last(home->streams, last));
		result = wait_all(last, n);
	} else if (n > 0) {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (result == CUDA_SUCCESS)
		result = atomic_load_explicit(&home->sticky, memory_order_relaxed);
	pthread_mutex_unlock(&exec->lock);
	free(last);
	return result;
}

void exec_context_finish(struct sim_context *context)
{
	struct stream *legacy = context->legacy;
	struct exec *exec;
	struct home *home;

	if (legacy == NULL)
		return;
	exec = legacy->exec;
	home = legacy->home;
	pthread_mutex_lock(&exec->lock);
	capture_drop_home(home);
	home->closing = true;
	poll_check(exec);
	(void)drain(home);
	atomic_store_explicit(&home->stop, true, memory_order_relaxed);
	while (home->running > 0)
		pthread_cond_wait(&exec->done, &exec->lock);
	home->context = NULL;
	context->legacy = NULL;
	event_drop_home(home);
	while (home->streams != NULL)
		stream_drop(home->streams);
	home_put(home);
	pthread_mutex_unlock(&exec->lock);
	report_write(exec);
}

void exec_after_fork(void)
{
	/* The threads are gone and the locks may be held by them: everything is left as it is,
	 * and what the parent's devices pointed to is forgotten. */
	for (struct exec *exec = all; exec != NULL; exec = exec->next)
		exec->device->exec = NULL;
	all = NULL;
	pthread_mutex_init(&all_lock, NULL);
	report_forget();
}

CUresult exec_stream_call(struct stream *stream, void (*fn)(void *arg), void *arg)
{
	struct work work = {.kind = WORK_CALL};
	CUresult result;

	work.call.fn = fn;
	work.call.arg = arg;
	pthread_mutex_lock(&stream->exec->lock);
	if (stream->capture != NULL)
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	else
		result = queue_add(stream, &work, NULL);
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}
