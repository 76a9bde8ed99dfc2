/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/event.h"

#include <stdlib.h>
#include <string.h>

#include "driver/capture.h"
#include "driver/issue.h"
#include "driver/queue.h"

#define EVENT_FLAGS (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

/* Memory of events is only used for events again: a stale handle's magic can be looked at. */
static struct event *spare;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

static struct event *take_spare(void)
{
	struct event *event;

	pthread_mutex_lock(&spare_lock);
	event = spare;
	if (event != NULL)
		spare = event->next;
	pthread_mutex_unlock(&spare_lock);
	if (event == NULL)
		return calloc(1, sizeof(*event));
	memset(event, 0, sizeof(*event));
	return event;
}

static void give_spare(struct event *event)
{
	event->magic = 0;
	pthread_mutex_lock(&spare_lock);
	event->next = spare;
	spare = event;
	pthread_mutex_unlock(&spare_lock);
}

struct event *event_get(CUevent handle)
{
	struct event *event = (struct event *)handle;

	if ((uintptr_t)handle < 4096 || (uintptr_t)handle % sizeof(void *) != 0 ||
	    event->magic != SIM_MAGIC_EVENT)
		return NULL;
	return event;
}

void event_unbind(struct event *event)
{
	op_put(event->op);
	event->op = NULL;
	free(event->node);
	event->node = NULL;
	event->nodes = 0;
	event->capture = 0;
}

static void event_release(struct event *event)
{
	struct home *home = event->home;
	struct event **at = &home->events;

	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	event_unbind(event);
	give_spare(event);
	home_put(home);
}

void event_drop_home(struct home *home)
{
	while (home->events != NULL)
		event_release(home->events);
}

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	struct sim_context *context;
	struct event *event;
	struct exec *exec;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (phEvent == NULL || (Flags & ~(unsigned int)EVENT_FLAGS) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (Flags & CU_EVENT_INTERPROCESS)
		return sim_refuse("cuEventCreate", "CU_EVENT_INTERPROCESS");
	event = take_spare();
	if (event == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec = context->legacy->exec;
	event->flags = Flags;
	event->home = context->legacy->home;
	pthread_mutex_lock(&exec->lock);
	event->home->refs++;
	event->next = event->home->events;
	event->home->events = event;
	event->magic = SIM_MAGIC_EVENT;
	pthread_mutex_unlock(&exec->lock);
	*phEvent = (CUevent)event;
	return CUDA_SUCCESS;
}

/* An event whose record is still to come may go: the operation stays in its stream. */
CUresult cuEventDestroy_v2(CUevent hEvent)
{
	struct sim_context *context;
	struct event *event;
	struct exec *exec;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	event = event_get(hEvent);
	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	exec = event->home->exec;
	pthread_mutex_lock(&exec->lock);
	if (event->magic == SIM_MAGIC_EVENT)
		event_release(event);
	else
		result = CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_unlock(&exec->lock);
	return result;
}

CUresult cuEventDestroy(CUevent hEvent)
{
	return cuEventDestroy_v2(hEvent);
}

/* ---- record, wait ---- */

CUresult event_record(struct event *event, struct stream *stream)
{
	struct work work = {.kind = WORK_RECORD};
	struct op *op = NULL;
	CUresult result = queue_add(stream, &work, &op);

	if (result != CUDA_SUCCESS)
		return result;
	event_unbind(event);
	event->op = op;
	return CUDA_SUCCESS;
}

static CUresult record_external(struct event *event, struct stream *stream)
{
	struct work work = {.kind = WORK_RECORD};

	if (stream->capture == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	work.event = event;
	return capture_add(stream, &work);
}

static CUresult record_locked(struct event *event, struct stream *stream, unsigned int flags)
{
	CUresult result;

	if (flags & CU_EVENT_RECORD_EXTERNAL)
		return record_external(event, stream);
	if (stream->capture != NULL)
		return capture_record(stream, event);
	result = capture_check_work(stream);
	return result == CUDA_SUCCESS ? event_record(event, stream) : result;
}

static CUresult record(CUevent handle, CUstream stream_handle, bool per_thread, unsigned int flags)
{
	struct stream *stream;
	struct event *event;
	CUresult result = issue_stream(stream_handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	event = event_get(handle);
	if (event == NULL || event->home != stream->home)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((flags & ~(unsigned int)CU_EVENT_RECORD_EXTERNAL) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&stream->exec->lock);
	result = record_locked(event, stream, flags);
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}

FORMS(cuEventRecord, cuEventRecord_ptsz, (CUevent hEvent, CUstream hStream),
      record(hEvent, hStream, per_thread, CU_EVENT_RECORD_DEFAULT))
FORMS(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz,
      (CUevent hEvent, CUstream hStream, unsigned int flags),
      record(hEvent, hStream, per_thread, flags))

static CUresult wait_locked(struct event *event, struct stream *stream, unsigned int flags)
{
	struct work work = {.kind = WORK_EVENT};
	CUresult result;

	if (flags & CU_EVENT_WAIT_EXTERNAL) {
		if (stream->capture == NULL)
			return CUDA_ERROR_INVALID_VALUE;
		work.event = event;
		return capture_add(stream, &work);
	}
	if (stream->capture != NULL || event->capture != 0)
		return capture_wait(stream, event);
	result = capture_check_work(stream);
	/* The record as it stands now; an event never recorded holds nobody up. */
	return result == CUDA_SUCCESS ? queue_add_wait(stream, event->op) : result;
}

static CUresult wait(CUstream stream_handle, bool per_thread, CUevent handle, unsigned int flags)
{
	struct stream *stream;
	struct event *event;
	CUresult result = issue_stream(stream_handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	event = event_get(handle);
	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (event->home->exec != stream->exec)
		return sim_refuse("cuStreamWaitEvent", "waiting for an event of another device");
	pthread_mutex_lock(&stream->exec->lock);
	result = wait_locked(event, stream, flags);
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}

FORMS(cuStreamWaitEvent, cuStreamWaitEvent_ptsz,
      (CUstream hStream, CUevent hEvent, unsigned int Flags),
      wait(hStream, per_thread, hEvent, Flags))

/* ---- looking ---- */

/* With the lock. */
static CUresult check_look(struct event *event)
{
	if (event->capture != 0)
		return CUDA_ERROR_CAPTURED_EVENT;
	return capture_check_unsafe(event->home->exec);
}

CUresult cuEventQuery(CUevent hEvent)
{
	struct sim_context *context;
	struct event *event;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	event = event_get(hEvent);
	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&event->home->exec->lock);
	result = check_look(event);
	if (result == CUDA_SUCCESS)
		result = atomic_load_explicit(&event->home->sticky, memory_order_relaxed);
	if (result == CUDA_SUCCESS && event->op != NULL && !keeper_is_complete(event->op))
		result = CUDA_ERROR_NOT_READY;
	pthread_mutex_unlock(&event->home->exec->lock);
	return result;
}

CUresult cuEventSynchronize(CUevent hEvent)
{
	struct sim_context *context;
	struct event *event;
	struct exec *exec;
	struct op *op;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	event = event_get(hEvent);
	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (host_is_inside())
		return CUDA_ERROR_NOT_PERMITTED;
	exec = event->home->exec;
	pthread_mutex_lock(&exec->lock);
	result = check_look(event);
	op = event->op;
	if (result == CUDA_SUCCESS && op != NULL) {
		op_ref(op); /* the event may go, or be recorded again, meanwhile */
		result = keeper_wait(op);
		op_put(op);
	}
	pthread_mutex_unlock(&exec->lock);
	return result;
}

static CUresult elapsed(float *ret_ms, CUevent start_handle, CUevent end_handle)
{
	struct sim_context *context;
	struct event *start, *end;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (ret_ms == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	start = event_get(start_handle);
	end = event_get(end_handle);
	if (start == NULL || end == NULL || start->home != end->home ||
	    ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&start->home->exec->lock);
	if (start->capture != 0 || end->capture != 0)
		result = CUDA_ERROR_CAPTURED_EVENT;
	else if (start->op == NULL || end->op == NULL)
		result = CUDA_ERROR_INVALID_HANDLE;
	else if (!keeper_is_complete(start->op) || !keeper_is_complete(end->op))
		result = CUDA_ERROR_NOT_READY;
	else
		*ret_ms = (float)((double)(int64_t)(end->op->end_ns - start->op->end_ns) / 1e6);
	pthread_mutex_unlock(&start->home->exec->lock);
	return result;
}

CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	return elapsed(pMilliseconds, hStart, hEnd);
}

CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	return elapsed(pMilliseconds, hStart, hEnd);
}
