/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/capture.h"
#include "driver/issue.h"
#include "driver/queue.h"

#define PRIORITY_HIGHEST (-5) /* cuCtxGetStreamPriorityRange says the same */
#define PRIORITY_LOWEST 0

/* Memory of streams is only used for streams again: a stale handle's magic can be looked at. */
static struct stream *spare;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t last_id;

/* ---- life ---- */

static struct stream *take_spare(void)
{
	struct stream *stream;

	pthread_mutex_lock(&spare_lock);
	stream = spare;
	if (stream != NULL)
		spare = stream->next;
	pthread_mutex_unlock(&spare_lock);
	if (stream == NULL)
		return calloc(1, sizeof(*stream));
	memset(stream, 0, sizeof(*stream));
	return stream;
}

static void give_spare(struct stream *stream)
{
	stream->magic = 0;
	pthread_mutex_lock(&spare_lock);
	stream->next = spare;
	spare = stream;
	pthread_mutex_unlock(&spare_lock);
}

static int create_in_model(struct stream *stream)
{
	struct exec *exec = stream->exec;
	int err;

	segment_lock(exec->segment);
	err = model_stream_create(exec->model, exec->proc, stream->priority, &stream->model);
	segment_unlock(exec->segment);
	return err;
}

/* Processes that are gone may still have theirs. */
static int create_or_reap(struct stream *stream)
{
	int err = create_in_model(stream);

	if (err == -EAGAIN && segment_reap(stream->exec->segment, sim_now_ns(), true) > 0)
		err = create_in_model(stream);
	return err;
}

struct stream *stream_new(struct home *home, unsigned int flags, int priority)
{
	struct stream *stream = take_spare();

	if (stream == NULL)
		return NULL;
	stream->home = home;
	stream->exec = home->exec;
	stream->flags = flags;
	stream->priority = priority < PRIORITY_HIGHEST	? PRIORITY_HIGHEST
			   : priority > PRIORITY_LOWEST ? PRIORITY_LOWEST
							: priority;
	if (create_or_reap(stream) != 0) {
		give_spare(stream);
		return NULL;
	}
	/* 1 and 2 are the ids of the two default streams. */
	stream->id = atomic_fetch_add(&last_id, 1) + 3;
	stream->refs = 1;
	home->refs++;
	stream->next = home->streams;
	home->streams = stream;
	stream->magic = SIM_MAGIC_STREAM;
	return stream;
}

static void unlink_from(struct stream **list, struct stream *stream)
{
	while (*list != stream)
		list = &(*list)->next;
	*list = stream->next;
	stream->next = NULL;
}

void stream_drop(struct stream *stream)
{
	struct exec *exec = stream->exec;

	stream->magic = 0;
	stream->is_released = true;
	capture_drop_stream(stream);
	unlink_from(&stream->home->streams, stream);
	if (stream->last != NULL) {
		stream->next = stream->home->leaving;
		stream->home->leaving = stream;
		stream->is_leaving = true;
	}
	segment_lock(exec->segment);
	model_stream_destroy(exec->model, sim_now_ns(), stream->model);
	segment_unlock(exec->segment);
	stream_put(stream);
}

void stream_put(struct stream *stream)
{
	if (--stream->refs > 0)
		return;
	if (stream->is_leaving)
		unlink_from(&stream->home->leaving, stream);
	free(stream->tail);
	home_put(stream->home);
	give_spare(stream);
}

/* ---- the calling thread's default stream ---- */

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

/* The thread ends: its default streams go, in every context. */
static void drop_thread_streams(void *arg)
{
	uint64_t thread = (uintptr_t)arg;

	for (struct exec *exec = exec_first(); exec != NULL; exec = exec->next) {
		pthread_mutex_lock(&exec->lock);
		for (struct home *home = exec->homes; home != NULL; home = home->next)
			for (struct stream *s = home->streams, *next; s != NULL; s = next) {
				next = s->next;
				if (s->owner == thread)
					stream_drop(s);
			}
		pthread_mutex_unlock(&exec->lock);
	}
}

static void create_key(void)
{
	pthread_key_create(&thread_key, drop_thread_streams);
}

static struct stream *find_thread_stream(struct home *home, uint64_t thread)
{
	static __thread struct stream *last;
	struct stream *stream = last;

	if (stream != NULL && stream->magic == SIM_MAGIC_STREAM && stream->owner == thread &&
	    stream->home == home)
		return stream;
	for (stream = home->streams; stream != NULL; stream = stream->next)
		if (stream->owner == thread)
			break;
	if (stream != NULL)
		last = stream;
	return stream;
}

static struct stream *thread_stream(struct home *home)
{
	uint64_t thread = capture_thread();
	struct stream *stream = find_thread_stream(home, thread);

	if (stream != NULL)
		return stream;
	stream = stream_new(home, CU_STREAM_DEFAULT, 0);
	if (stream == NULL)
		return NULL;
	stream->owner = thread;
	pthread_once(&thread_once, create_key);
	pthread_setspecific(thread_key, (void *)(uintptr_t)thread);
	return stream;
}

/* ---- handles ---- */

CUresult exec_stream_get(struct sim_context *context, CUstream handle, bool per_thread,
			 struct stream **ret_stream)
{
	struct stream *stream = (struct stream *)handle;
	struct home *home;

	if (handle == CU_STREAM_PER_THREAD || (handle == NULL && per_thread)) {
		home = context->legacy->home;
		pthread_mutex_lock(&home->exec->lock);
		stream = thread_stream(home);
		pthread_mutex_unlock(&home->exec->lock);
		if (stream == NULL)
			return CUDA_ERROR_OUT_OF_MEMORY;
	} else if (handle == NULL || handle == CU_STREAM_LEGACY) {
		stream = context->legacy;
	} else if ((uintptr_t)handle < 4096 || (uintptr_t)handle % sizeof(void *) != 0 ||
		   stream->magic != SIM_MAGIC_STREAM) {
		return CUDA_ERROR_INVALID_HANDLE;
	}
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

static CUresult create(CUstream *ret_handle, unsigned int flags, int priority)
{
	struct sim_context *context;
	struct stream *stream;
	struct exec *exec;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (ret_handle == NULL || (flags & ~(unsigned int)CU_STREAM_NON_BLOCKING) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	exec = context->legacy->exec;
	pthread_mutex_lock(&exec->lock);
	stream = stream_new(context->legacy->home, flags, priority);
	pthread_mutex_unlock(&exec->lock);
	if (stream == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_handle = (CUstream)stream;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	return create(phStream, Flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	return create(phStream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream hStream)
{
	struct sim_context *context;
	struct stream *stream;
	struct exec *exec;
	CUresult result = sim_current(&context);

	if (result == CUDA_SUCCESS)
		result = exec_stream_get(context, hStream, false, &stream);
	if (result != CUDA_SUCCESS)
		return result;
	if (hStream == NULL || hStream == CU_STREAM_LEGACY || hStream == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	exec = stream->exec;
	pthread_mutex_lock(&exec->lock);
	if (stream->magic == SIM_MAGIC_STREAM)
		stream_drop(stream);
	else
		result = CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_unlock(&exec->lock);
	return result;
}

CUresult cuStreamDestroy(CUstream hStream)
{
	return cuStreamDestroy_v2(hStream);
}
