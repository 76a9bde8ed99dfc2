/* SPDX-License-Identifier: Apache-2.0 */
#include "script_driver.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "gate.h"
#include "launch.h"
#include "link.h"
#include "shim.h"
#include "watch.h"

#define OPS 8192
#define EVENTS 256
#define REGISTRATIONS 16

struct op {
	enum script_op kind;
	CUdeviceptr word;
	uint32_t value;
	uint32_t event;
	CUhostFn host;
	CUstreamCallback callback;
	CUstream stream;
	void *data;
};

struct queue {
	struct op op[OPS];
	char log[OPS + 1];
	uint32_t head, tail;
	_Atomic bool capturing;
	bool destroyed;
};

struct script script;

static _Thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void note_mode(void)
{
	if (capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		__atomic_fetch_add(&script.strict, 1, __ATOMIC_RELAXED);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue queues[SCRIPT_STREAMS + 3];
static struct {
	bool used, recorded, done, lost;
} events[EVENTS];
static struct {
	char *host;
	CUdeviceptr device;
	size_t bytes;	   /* 0: unused */
	CUcontext context; /* that it ends with */
	bool is_portable;
} registered[REGISTRATIONS];

/* The legacy stream, the per-thread one and all others come last. */
static struct queue *queue_of(CUstream stream)
{
	uintptr_t handle = (uintptr_t)stream;

	if (handle <= 1)
		return &queues[SCRIPT_STREAMS];
	if (handle == 2)
		return &queues[SCRIPT_STREAMS + 1];
	assert(handle >= 0x1000);
	if ((handle - 0x1000) / 0x100 >= SCRIPT_STREAMS)
		return &queues[SCRIPT_STREAMS + 2];
	return &queues[(handle - 0x1000) / 0x100];
}

static void *host_of(CUdeviceptr address)
{
	for (uint32_t i = 0; i < REGISTRATIONS; i++) {
		if (address - registered[i].device < registered[i].bytes)
			return registered[i].host + (address - registered[i].device);
	}
	return NULL;
}

static void write_complete(const struct op *op)
{
	_Atomic uint32_t *word = host_of(op->word);

	if (word)
		atomic_store_explicit(word, op->value, memory_order_release);
	else
		script.faults++;
}

static void op_complete(const struct op *op)
{
	if (op->kind == SCRIPT_WRITE)
		write_complete(op);
	else if (op->kind == SCRIPT_EVENT)
		events[op->event].done = true;
	else if (op->kind == SCRIPT_HOST && op->host)
		op->host(op->data);
	else if (op->kind == SCRIPT_HOST)
		op->callback(op->stream, script.host_status, op->data);
}

static void queue_complete(struct queue *queue, uint32_t count)
{
	while (count-- && queue->tail != queue->head)
		op_complete(&queue->op[queue->tail++ % OPS]);
}

static void queue_push(CUstream stream, struct op op)
{
	struct queue *queue = queue_of(stream);

	pthread_mutex_lock(&lock);
	script.faults += queue->destroyed;
	assert(queue->head - queue->tail < OPS);
	if (queue->head < OPS)
		queue->log[queue->head] = "KWECH"[op.kind];
	queue->op[queue->head++ % OPS] = op;
	if (script.is_immediate)
		queue_complete(queue, UINT32_MAX);
	pthread_mutex_unlock(&lock);
}

void script_complete(CUstream stream, uint32_t count)
{
	pthread_mutex_lock(&lock);
	queue_complete(queue_of(stream), count);
	pthread_mutex_unlock(&lock);
}

const char *script_log(CUstream stream)
{
	return queue_of(stream)->log;
}

uint32_t script_count(enum script_op op)
{
	uint32_t count = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < SCRIPT_STREAMS + 3; i++) {
		for (const char *c = queues[i].log; *c; c++)
			count += *c == "KWECH"[op];
	}
	pthread_mutex_unlock(&lock);
	return count;
}

void script_set_capturing(CUstream stream, bool capturing)
{
	queue_of(stream)->capturing = capturing;
}

/* ---- the entries ----------------------------------------------------------------------------------- */

static CUresult launch_kernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			      unsigned int bx, unsigned int by, unsigned int bz,
			      unsigned int shared, CUstream stream, void **params, void **extra)
{
	if (script.launch_result == CUDA_SUCCESS)
		queue_push(stream, (struct op){.kind = SCRIPT_KERNEL});
	return script.launch_result;
}

static CUresult launch_kernel_per_thread(CUfunction f, unsigned int gx, unsigned int gy,
					 unsigned int gz, unsigned int bx, unsigned int by,
					 unsigned int bz, unsigned int shared, CUstream stream,
					 void **params, void **extra)
{
	return launch_kernel(f, gx, gy, gz, bx, by, bz, shared,
			     stream ? stream : CU_STREAM_PER_THREAD, params, extra);
}

static CUresult launch_kernel_ex(const CUlaunchConfig *config, CUfunction f, void **params,
				 void **extra)
{
	return launch_kernel(f, config->gridDimX, config->gridDimY, config->gridDimZ,
			     config->blockDimX, config->blockDimY, config->blockDimZ,
			     config->sharedMemBytes, config->hStream, params, extra);
}

static CUresult graph_launch(CUgraphExec exec, CUstream stream)
{
	queue_push(stream, (struct op){.kind = SCRIPT_KERNEL});
	return CUDA_SUCCESS;
}

static CUresult copy_in_async(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	queue_push(stream, (struct op){.kind = SCRIPT_COPY});
	script.copied_bytes += bytes;
	return script.launch_result;
}

static CUresult copy_out(void *to, CUdeviceptr from, size_t bytes)
{
	script.copied_bytes += bytes;
	script_complete(NULL, UINT32_MAX);
	if (script.on_copy_out)
		script.on_copy_out();
	return script.launch_result;
}

static CUresult copy_out_async(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	queue_push(stream, (struct op){.kind = SCRIPT_COPY});
	if (script.is_pageable)
		script_complete(stream, UINT32_MAX);
	return script.launch_result;
}

static CUresult pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	if (script.is_pageable)
		return CUDA_ERROR_INVALID_VALUE;
	*(CUmemorytype *)data = CU_MEMORYTYPE_HOST;
	return CUDA_SUCCESS;
}

static CUresult write_value(CUstream stream, CUdeviceptr address, cuuint32_t value,
			    unsigned int flags)
{
	note_mode();
	if (!script.has_memory_ops)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (script.on_write)
		script.on_write(stream);
	queue_push(stream, (struct op){.kind = SCRIPT_WRITE, .word = address, .value = value});
	return CUDA_SUCCESS;
}

static CUresult launch_host(CUstream stream, CUhostFn host, void *data)
{
	script.host = host;
	if (!host)
		return CUDA_ERROR_INVALID_VALUE;
	if (script.launch_result == CUDA_SUCCESS)
		queue_push(stream, (struct op){.kind = SCRIPT_HOST, .host = host, .data = data});
	return script.launch_result;
}

static CUresult add_callback(CUstream stream, CUstreamCallback callback, void *data,
			     unsigned int flags)
{
	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	queue_push(stream, (struct op){.kind = SCRIPT_HOST,
				       .callback = callback,
				       .stream = stream,
				       .data = data});
	return CUDA_SUCCESS;
}

static CUresult event_create(CUevent *event, unsigned int flags)
{
	note_mode();
	pthread_mutex_lock(&lock);
	for (uint32_t i = 1; i < EVENTS; i++) {
		if (events[i].used || events[i].lost)
			continue;
		events[i].used = true;
		*event = (CUevent)(uintptr_t)i;
		pthread_mutex_unlock(&lock);
		return CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult event_destroy(CUevent event)
{
	note_mode();
	events[(uintptr_t)event].used = false;
	return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
	note_mode();
	pthread_mutex_lock(&lock);
	script.faults += events[(uintptr_t)event].lost;
	events[(uintptr_t)event].recorded = true;
	events[(uintptr_t)event].done = false;
	pthread_mutex_unlock(&lock);
	queue_push(stream, (struct op){.kind = SCRIPT_EVENT, .event = (uint32_t)(uintptr_t)event});
	return CUDA_SUCCESS;
}

static CUresult event_query(CUevent event)
{
	CUresult result;

	note_mode();
	pthread_mutex_lock(&lock);
	script.faults += events[(uintptr_t)event].lost;
	result = events[(uintptr_t)event].done || !events[(uintptr_t)event].recorded
			 ? CUDA_SUCCESS
			 : CUDA_ERROR_NOT_READY;
	pthread_mutex_unlock(&lock);
	return result;
}

static CUresult event_elapsed(float *ms, CUevent begin, CUevent end)
{
	note_mode();
	*ms = script.elapsed_ms;
	return CUDA_SUCCESS;
}

static CUresult stream_query(CUstream stream)
{
	struct queue *queue = queue_of(stream);
	CUresult result;

	note_mode();
	pthread_mutex_lock(&lock);
	script.faults += queue->capturing || queue->destroyed || script.is_down;
	script.questions++;
	result = queue->head == queue->tail ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
	pthread_mutex_unlock(&lock);
	return script.failure ? script.failure : result;
}

static CUresult stream_synchronize(CUstream stream)
{
	if (script.failure)
		return script.failure;
	script_complete(stream, UINT32_MAX);
	return CUDA_SUCCESS;
}

static CUresult context_synchronize(void)
{
	for (uint32_t i = 0; i < SCRIPT_STREAMS; i++)
		script_complete(SCRIPT_STREAM(i), UINT32_MAX);
	script_complete(NULL, UINT32_MAX);
	return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *stream, unsigned int flags)
{
	*stream = SCRIPT_STREAM(0);
	queue_of(*stream)->destroyed = false;
	return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream)
{
	struct queue *queue = queue_of(stream);

	pthread_mutex_lock(&lock);
	queue->destroyed = queue != &queues[SCRIPT_STREAMS + 2];
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static CUresult stream_flags(CUstream stream, unsigned int *flags)
{
	*flags = script.stream_flags;
	return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	*status = queue_of(stream)->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE
					      : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode)
{
	/* The shim must know before the driver does. */
	assert(shim_flags() & SHIM_CAPTURES);
	script_set_capturing(stream, true);
	return CUDA_SUCCESS;
}

static CUresult end_capture(CUstream stream, CUgraph *graph)
{
	script_set_capturing(stream, false);
	*graph = NULL;
	return CUDA_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = capture_mode;

	capture_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

static CUresult host_register(void *address, size_t bytes, unsigned int flags)
{
	static CUdeviceptr next = 1ull << 50;
	uint32_t i = 0;

	note_mode();
	for (uint32_t j = 0; j < REGISTRATIONS; j++) {
		if (registered[j].bytes &&
		    (char *)address < registered[j].host + registered[j].bytes &&
		    (char *)address + bytes > registered[j].host)
			return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	}
	while (registered[i].bytes)
		assert(++i < REGISTRATIONS);
	registered[i].context = script.context;
	registered[i].is_portable = flags & CU_MEMHOSTREGISTER_PORTABLE;
	registered[i].host = address;
	registered[i].device = next;
	registered[i].bytes = bytes;
	next += 1ull << 40;
	script.registrations++;
	return CUDA_SUCCESS;
}

static CUresult host_unregister(void *address)
{
	note_mode();
	for (uint32_t i = 0; i < REGISTRATIONS; i++) {
		if (registered[i].bytes && registered[i].host == address)
			registered[i].bytes = 0;
	}
	script.registrations--;
	return CUDA_SUCCESS;
}

static CUresult host_pointer(CUdeviceptr *device, void *address, unsigned int flags)
{
	for (uint32_t i = 0; i < REGISTRATIONS; i++) {
		if (registered[i].bytes && registered[i].host == address &&
		    (registered[i].is_portable || registered[i].context == script.context)) {
			*device = registered[i].device;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult context_current(CUcontext *context)
{
	*context = script.context;
	return CUDA_SUCCESS;
}

static CUresult context_push(CUcontext context)
{
	if (!context || context == script.gone)
		script.faults++;
	return CUDA_SUCCESS;
}

static CUresult context_pop(CUcontext *context)
{
	*context = script.context;
	return CUDA_SUCCESS;
}

static CUresult context_destroy(CUcontext context)
{
	script.gone = context;
	return CUDA_SUCCESS;
}

void script_change_context(CUcontext context)
{
	for (uint32_t i = 0; i < EVENTS; i++) {
		events[i].lost |= events[i].used;
		events[i].used = false;
	}
	for (uint32_t i = 0; i < REGISTRATIONS; i++) {
		if (registered[i].context == script.context)
			registered[i].bytes = 0;
	}
	script.context = context;
}

static CUresult context_device(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

static CUresult device_attribute(int *value, CUdevice_attribute name, CUdevice device)
{
	*value = 1;
	return CUDA_SUCCESS;
}

static CUresult device_count(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

static CUresult function_name(const char **name, CUfunction f)
{
	*name = "scripted";
	return CUDA_SUCCESS;
}

static void fill_events_and_streams(void)
{
	real.cuEventCreate = event_create;
	real.cuEventDestroy_v2 = event_destroy;
	real.cuEventElapsedTime = event_elapsed;
	real.cuEventQuery = event_query;
	real.cuEventRecord = event_record;
	real.cuEventSynchronize = event_query;
	real.cuStreamAddCallback = add_callback;
	real.cuStreamBeginCapture_v2 = begin_capture;
	real.cuStreamCreate = stream_create;
	real.cuStreamDestroy_v2 = stream_destroy;
	real.cuStreamEndCapture = end_capture;
	real.cuStreamGetFlags = stream_flags;
	real.cuStreamIsCapturing = is_capturing;
	real.cuStreamQuery = stream_query;
	real.cuStreamSynchronize = stream_synchronize;
	real.cuStreamWriteValue32_v2 = write_value;
}

void script_start(void)
{
	memset(queues, 0, sizeof(queues));
	memset(events, 0, sizeof(events));
	memset(registered, 0, sizeof(registered));
	script = (struct script){.has_memory_ops = true,
				 .elapsed_ms = 0.01f,
				 .stream_flags = CU_STREAM_NON_BLOCKING,
				 .context = SCRIPT_CONTEXT};
	fill_events_and_streams();
	real.cuCtxGetCurrent = context_current;
	real.cuCtxDestroy_v2 = context_destroy;
	real.cuCtxGetDevice = context_device;
	real.cuCtxPopCurrent_v2 = context_pop;
	real.cuCtxPushCurrent_v2 = context_push;
	real.cuCtxSynchronize = context_synchronize;
	real.cuDeviceGetAttribute = device_attribute;
	real.cuDeviceGetCount = device_count;
	real.cuFuncGetName = function_name;
	real.cuGraphLaunch = graph_launch;
	real.cuLaunchHostFunc = launch_host;
	real.cuLaunchKernel = launch_kernel;
	real.cuLaunchKernelEx = launch_kernel_ex;
	real.cuLaunchKernel_ptsz = launch_kernel_per_thread;
	real.cuMemHostGetDevicePointer_v2 = host_pointer;
	real.cuMemHostRegister_v2 = host_register;
	real.cuMemHostUnregister = host_unregister;
	real.cuMemcpyDtoHAsync_v2 = copy_out_async;
	real.cuMemcpyDtoH_v2 = copy_out;
	real.cuMemcpyHtoDAsync_v2 = copy_in_async;
	real.cuPointerGetAttribute = pointer_attribute;
	real.cuThreadExchangeStreamCaptureMode = exchange_mode;
}

void script_attach(const char *socket, const char *tenant)
{
	assert(!setenv("SLUICE_SOCKET", socket, 1) && !setenv("SLUICE_TENANT", tenant, 1));
	shim.device_count = 1;
	assert(!link_attach());
	shim_set_flags(0, SHIM_UNREADY | SHIM_PASSTHROUGH);
	assert(shim_device(0));
}

void script_detach(void)
{
	shim_thread.busy = 0;
	watch_end();
	gate_forked();
	link_forked();
	for (uint32_t i = 0; i < SHIM_MAX_ORDINALS; i++)
		shim.device[i] = (struct shim_device){0};
	atomic_store(&shim.flags, SHIM_UNREADY);
	atomic_store(&shim.captures_open, 0);
	memset(&launch_predict, 0, sizeof(launch_predict));
}
