/* SPDX-License-Identifier: Apache-2.0 */
#include "shim.h"

#include <errno.h>
#include <pthread.h>

#include "gate.h"
#include "link.h"
#include "mem.h"
#include "mem_pool.h"
#include "nvtx.h"
#include "range.h"
#include "shim_log.h"

/*
 * In the child, with the forking thread alone. CUDA does not work in it (the driver answers "not
 * initialised"), its copies of the pages were never mapped, and other threads' locks are held for
 * ever: everything is set back, nothing is given back.
 */
static void shim_forked(void)
{
	uint32_t devices = SHIM_MAX_ORDINALS;

	shim_thread.busy = 0;
	atomic_store_explicit(&shim.flags, SHIM_UNREADY, memory_order_relaxed);
	atomic_store_explicit(&shim.captures_open, 0, memory_order_relaxed);
	shim.lock = (struct futex_lock){0};
	shim.device_count = 0;
	while (devices--)
		shim.device[devices] = (struct shim_device){0};
	mem_forked();
	mem_pool_forked();
	gate_forked();
	link_forked();
	range_forked();
	nvtx_forked();
}

/* The driver answers "not initialised" before cuInit, in a child of fork and while it unloads. */
static bool driver_is_up(void)
{
	CUcontext context;
	CUresult result = real.cuCtxGetCurrent(&context);

	return result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_ERROR_DEINITIALIZED &&
	       result != CUDA_ERROR_NOT_FOUND;
}

/* With the lock, once in the life of a process. */
static void attach(void)
{
	static bool fork_watched;
	int count = 0;
	int error;

	shim_log_init();
	if (!fork_watched)
		fork_watched = !pthread_atfork(NULL, NULL, shim_forked);
	if (real.cuDeviceGetCount(&count) != CUDA_SUCCESS || count < 0)
		count = 0;
	shim.device_count = (uint32_t)count;
	error = fork_watched ? link_attach() : -ENOMEM;
	if (error)
		shim_log(error == -ECANCELED ? SHIM_LOG_INFO : SHIM_LOG_ERROR, "not managed: %s",
			 error == -ECANCELED ? "the tenant bypasses" : "no arbiter");
	shim_set_flags(error ? SHIM_PASSTHROUGH : 0, SHIM_UNREADY);
}

bool shim_enter_slow(void)
{
	int saved = errno;

	if (shim_thread.busy || (shim_flags() & SHIM_PASSTHROUGH))
		return false;
	shim_thread.busy = 1;
	if (real_load_driver() && driver_is_up()) {
		futex_lock(&shim.lock);
		if (shim_flags() & SHIM_UNREADY)
			attach();
		futex_unlock(&shim.lock);
	}
	if (shim_flags() & SHIM_FOREIGN)
		shim_thread.busy = 0;
	errno = saved;
	return shim_thread.busy;
}

struct shim_device *shim_device_slow(CUdevice ordinal)
{
	struct shim_device *device;
	int saved = errno;
	int error;

	if (ordinal < 0 || ordinal >= SHIM_MAX_ORDINALS)
		return NULL;
	device = &shim.device[ordinal];
	if (atomic_load_explicit(&device->state, memory_order_relaxed) == SHIM_DEVICE_UNMANAGED)
		return NULL;
	futex_lock(&shim.lock);
	if (atomic_load_explicit(&device->state, memory_order_relaxed) == SHIM_DEVICE_NEW) {
		device->ordinal = (uint32_t)ordinal;
		error = link_device_register((uint32_t)ordinal);
		if (error) {
			shim_log(SHIM_LOG_ERROR, "device %d: not managed, error %d", ordinal,
				 -error);
			/* An arbiter that is away may be back at the next use. */
			if (error != -ENOTCONN && error != -ETIMEDOUT)
				atomic_store_explicit(&device->state, SHIM_DEVICE_UNMANAGED,
						      memory_order_release);
		}
	}
	futex_unlock(&shim.lock);
	errno = saved;
	return atomic_load_explicit(&device->state, memory_order_acquire) == SHIM_DEVICE_MANAGED
		       ? device
		       : NULL;
}

struct shim_device *shim_device_current(void)
{
	CUdevice ordinal = 0;

	if (shim.device_count != 1 && real.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS)
		return NULL;
	return shim_device(ordinal);
}

/* Without cuStreamGetDevice (before 12.8) the context says it. */
static bool device_of_context(CUstream stream, CUdevice *ret_ordinal)
{
	CUcontext context;
	CUresult result;

	if (real.cuStreamGetCtx(stream, &context) != CUDA_SUCCESS ||
	    real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
		return false;
	result = real.cuCtxGetDevice(ret_ordinal);
	(void)real.cuCtxPopCurrent_v2(&context);
	return result == CUDA_SUCCESS;
}

struct shim_device *shim_device_of_stream(CUstream stream)
{
	CUdevice ordinal = 0;

	if (shim.device_count == 1 || !stream || stream == CU_STREAM_LEGACY ||
	    stream == CU_STREAM_PER_THREAD)
		return shim_device_current();
	if (real.cuStreamGetDevice(stream, &ordinal) != CUDA_SUCCESS &&
	    !device_of_context(stream, &ordinal))
		return NULL;
	return shim_device(ordinal);
}
