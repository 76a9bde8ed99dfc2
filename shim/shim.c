/* SPDX-License-Identifier: Apache-2.0 */
#include "shim.h"

#include <errno.h>
#include <pthread.h>

#include "cancel.h"
#include "gate.h"
#include "link.h"
#include "mem.h"
#include "mem_pool.h"
#include "nvtx.h"
#include "profile.h"
#include "range.h"
#include "shim_log.h"
#include "sluice/clock.h"

#define RETRY_FIRST_NS (100 * SLUICE_NS_PER_MS)
#define RETRY_MOST_NS (10 * SLUICE_NS_PER_S)
#define PATIENCE_STEP_NS (10 * SLUICE_NS_PER_MS) /* fail modes that hold: between two attempts */

/* ---- trying again ------------------------------------------------------------------------------ */

/* A launch of a process that waits for its arbiter costs this look at the clock. */
static bool is_early(const struct shim_retry *retry)
{
	uint64_t due_ns = atomic_load_explicit(&retry->due_ns, memory_order_relaxed);

	return due_ns && sluice_now_ns() < due_ns;
}

/* True: for the first time. */
static bool retry_later(struct shim_retry *retry)
{
	uint64_t interval_ns = retry->interval_ns ? 2 * retry->interval_ns : RETRY_FIRST_NS;
	bool is_first = !retry->interval_ns;

	retry->interval_ns = interval_ns < RETRY_MOST_NS ? interval_ns : RETRY_MOST_NS;
	atomic_store_explicit(&retry->due_ns, sluice_now_ns() + retry->interval_ns,
			      memory_order_relaxed);
	return is_first;
}

/* ---- attaching --------------------------------------------------------------------------------- */

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
	shim.attach = (struct shim_retry){0};
	shim.device_count = 0;
	while (devices--)
		shim.device[devices] = (struct shim_device){0};
	mem_forked();
	mem_pool_forked();
	gate_forked();
	link_forked();
	range_forked();
	nvtx_forked();
	profile_forked();
}

/* The driver answers "not initialised" before cuInit, in a child of fork and while it unloads. */
static bool driver_is_up(void)
{
	CUcontext context;
	CUresult result = real.cuCtxGetCurrent(&context);

	return result != CUDA_ERROR_NOT_INITIALIZED && result != CUDA_ERROR_DEINITIALIZED &&
	       result != CUDA_ERROR_NOT_FOUND;
}

static void say_unmanaged(int error)
{
	const char *why = link_why(error);

	if (why)
		shim_log(error == -ECANCELED ? SHIM_LOG_INFO : SHIM_LOG_ERROR, "not managed: %s",
			 why);
	else
		shim_log(SHIM_LOG_ERROR, "not managed: error %d", -error);
}

static void say_device_unmanaged(uint32_t ordinal, int error)
{
	const char *why = link_why(error);

	if (why)
		shim_log(SHIM_LOG_ERROR, "device %u: not managed: %s", ordinal, why);
	else
		shim_log(SHIM_LOG_ERROR, "device %u: not managed: error %d", ordinal, -error);
}

/* With the lock. */
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
	if (error == -EAGAIN) {
		if (retry_later(&shim.attach))
			say_unmanaged(error);
		return;
	}
	if (error)
		say_unmanaged(error);
	else
		profile_start();
	shim_set_flags(error ? SHIM_PASSTHROUGH : 0, SHIM_UNREADY);
}

bool shim_enter_slow(void)
{
	int saved = errno;

	if (shim_thread.busy || (shim_flags() & SHIM_PASSTHROUGH) || is_early(&shim.attach))
		return false;
	shim_thread.busy = 1;
	if (real_load_driver() && driver_is_up()) {
		int cancel = cancel_hold();

		futex_lock(&shim.lock);
		if ((shim_flags() & SHIM_UNREADY) && !is_early(&shim.attach))
			attach();
		futex_unlock(&shim.lock);
		cancel_resume(cancel);
	}
	if (shim_flags() & SHIM_FOREIGN)
		shim_thread.busy = 0;
	errno = saved;
	return shim_thread.busy;
}

/* ---- devices ----------------------------------------------------------------------------------- */

static void pause_step(void)
{
	static const _Atomic uint32_t never;

	(void)futex_wait(&never, 0, sluice_now_ns() + PATIENCE_STEP_NS);
}

/* With the lock. An arbiter that is away may be back at a later use; till then launches go on
 * without it, unless the fail mode holds them. */
static void device_register(struct shim_device *device)
{
	uint64_t start_ns = sluice_now_ns(), patience_ns = link_patience_ns();
	int error = link_device_register(device->ordinal);

	while (error == -EAGAIN && sluice_now_ns() - start_ns < patience_ns) {
		pause_step();
		error = link_device_register(device->ordinal);
	}
	if (error == -EAGAIN && !retry_later(&device->registration))
		return;
	if (error)
		say_device_unmanaged(device->ordinal, error);
	else
		shim_log(SHIM_LOG_INFO, "device %u: managed", device->ordinal);
	if (error && error != -EAGAIN)
		atomic_store_explicit(&device->state, SHIM_DEVICE_UNMANAGED, memory_order_release);
}

struct shim_device *shim_device_slow(CUdevice ordinal)
{
	struct shim_device *device;
	int saved = errno, cancel;

	if (ordinal < 0 || ordinal >= SHIM_MAX_ORDINALS)
		return NULL;
	device = &shim.device[ordinal];
	if (atomic_load_explicit(&device->state, memory_order_relaxed) == SHIM_DEVICE_UNMANAGED ||
	    is_early(&device->registration))
		return NULL;
	cancel = cancel_hold();
	futex_lock(&shim.lock);
	if (atomic_load_explicit(&device->state, memory_order_relaxed) == SHIM_DEVICE_NEW &&
	    !is_early(&device->registration)) {
		device->ordinal = (uint32_t)ordinal;
		device_register(device);
	}
	futex_unlock(&shim.lock);
	cancel_resume(cancel);
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
