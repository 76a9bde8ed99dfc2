/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "device/segment.h"
#include "driver/error.h"
#include "driver/memory.h"
#include "driver/options.h"
#include "driver/state.h"

enum ready { NOT_READY, READY, FORKED };

static struct {
	pthread_mutex_t lock;
	_Atomic int ready; /* enum ready; a release store after all else is in place */
	struct options options;
	struct sim_device device[SIM_MAX_DEVICES];
	bool handlers; /* of fork and exit are in place */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void state_lock(void)
{
	pthread_mutex_lock(&state.lock);
}

void state_unlock(void)
{
	pthread_mutex_unlock(&state.lock);
}

CUresult state_ready(void)
{
	/* Pairs with the release in cuInit. */
	return atomic_load_explicit(&state.ready, memory_order_acquire) == READY
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_NOT_INITIALIZED;
}

struct sim_device *state_device(int ordinal)
{
	if (ordinal < 0 || ordinal >= state.options.devices)
		return NULL;
	return &state.device[ordinal];
}

int state_devices(void)
{
	return state.options.devices;
}

const struct sim_options *sim_options_get(void)
{
	return &state.options.shared;
}

uint64_t sim_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The child has none of the threads, and the device knows the parent alone. */
static void after_fork(void)
{
	if (atomic_load(&state.ready) != READY)
		return;
	atomic_store(&state.ready, FORKED);
	exec_after_fork();
}

/* Threads of the program and of the executor may go on until the process is gone: what they use
 * stays. Called after what the executor registered later. */
static void at_exit(void)
{
	if (atomic_load(&state.ready) != READY)
		return;
	for (int i = 0; i < state.options.devices; i++)
		segment_abandon(state.device[i].segment);
}

static CUresult open_device(int ordinal)
{
	struct sim_device *device = &state.device[ordinal];
	char error[SEGMENT_ERROR_MAX];
	bool other;
	int err;

	memset(device, 0, sizeof(*device));
	device->ordinal = ordinal;
	device->physical = state.options.physical[ordinal];
	err = segment_open(state.options.instance, (uint32_t)device->physical, &state.options.desc,
			   &device->segment, &other, error);
	if (err) {
		fprintf(stderr, "simgpu: device %d: %s\n", ordinal, error);
		return err == -EINVAL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NO_DEVICE;
	}
	if (other)
		fprintf(stderr,
			"simgpu: device %d: other processes use instance %s with another "
			"description, which stays in force\n",
			ordinal, state.options.instance);
	segment_get_desc(device->segment, &device->desc);
	segment_get_uuid(device->segment, device->uuid);
	return CUDA_SUCCESS;
}

static CUresult open_devices(void)
{
	CUresult result = options_read(&state.options);
	int i;

	for (i = 0; result == CUDA_SUCCESS && i < state.options.devices; i++)
		result = open_device(i);
	if (result == CUDA_SUCCESS)
		result = memory_start();
	if (result != CUDA_SUCCESS) {
		while (i-- > 0)
			segment_close(state.device[i].segment);
		state.options.devices = 0;
	}
	return result;
}

CUresult cuInit(unsigned int Flags)
{
	CUresult result = CUDA_SUCCESS;
	int ready;

	if (Flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (state_ready() == CUDA_SUCCESS)
		return CUDA_SUCCESS;
	/* Before the lock, which a thread of the parent may have held. */
	if (atomic_load(&state.ready) == FORKED)
		return CUDA_ERROR_NOT_INITIALIZED;
	state_lock();
	ready = atomic_load(&state.ready);
	if (ready == NOT_READY)
		result = open_devices();
	if (ready == NOT_READY && result == CUDA_SUCCESS) {
		if (!state.handlers)
			state.handlers =
				pthread_atfork(NULL, NULL, after_fork) == 0 && atexit(at_exit) == 0;
		atomic_store_explicit(&state.ready, READY, memory_order_release);
	}
	state_unlock();
	return result;
}

CUresult cuDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return CUDA_ERROR_INVALID_VALUE;
	*driverVersion = SIM_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

static void set_priority(struct sim_device *device, int32_t priority)
{
	segment_lock(device->segment);
	(void)model_set_priority(segment_model(device->segment), sim_now_ns(), device->proc,
				 priority);
	segment_unlock(device->segment);
}

CUresult state_attach(struct sim_device *device)
{
	int err;

	if (device->joined)
		return CUDA_SUCCESS;
	err = segment_join(device->segment, &device->proc);
	device->joined = err == 0;
	if (device->joined && sim_options_get()->mps_priority)
		set_priority(device, (int32_t)sim_options_get()->mps_priority);
	return error_from_errno(err);
}
