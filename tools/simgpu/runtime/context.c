/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current device of each thread and the primary contexts behind it. A thread that called no
 * driver entry itself gets the primary context of its device at its first call; one that made a
 * context current keeps it, as with NVIDIA's runtime.
 */
#include "runtime.h"

#include <pthread.h>

static struct primary {
	CUcontext context; /* NULL: not retained */
	uint32_t resets;   /* times cudaDeviceReset destroyed it */
} primary[RT_MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of primary[] */

static __thread int thread_device;
static __thread CUcontext thread_context; /* what we made current; NULL: nothing yet */
static __thread uint32_t thread_resets;	  /* the primary's count then */
static __thread cudaError_t last_error;

cudaError_t rt_leave(cudaError_t error)
{
	if (error != cudaSuccess)
		last_error = error;
	return error;
}

/* The context is beyond use and says so for ever after. */
static bool is_sticky(cudaError_t error)
{
	return error == cudaErrorIllegalAddress || error == cudaErrorLaunchTimeout ||
	       error == cudaErrorAssert ||
	       (error >= cudaErrorHardwareStackError && error <= cudaErrorLaunchFailure) ||
	       error == cudaErrorECCUncorrectable;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	if (!is_sticky(error))
		last_error = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

cudaError_t rt_check_device(int ordinal)
{
	cudaError_t error = rt_load();

	if (error == cudaSuccess && (ordinal < 0 || ordinal >= rt_device_count()))
		error = cudaErrorInvalidDevice;
	return error;
}

static cudaError_t retain(int ordinal, CUcontext *ret_context, uint32_t *ret_resets)
{
	struct primary *p = &primary[ordinal];
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&lock);
	if (!p->context)
		error = RT_CALL(RT_PLAIN, cuDevicePrimaryCtxRetain, &p->context,
				rt_device_handle(ordinal));
	if (error == cudaSuccess) {
		*ret_context = p->context;
		*ret_resets = p->resets;
	} else {
		p->context = NULL;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

cudaError_t rt_primary(int ordinal, CUcontext *ret_context)
{
	cudaError_t error = rt_check_device(ordinal);
	uint32_t resets;

	return error != cudaSuccess ? error : retain(ordinal, ret_context, &resets);
}

static cudaError_t use_primary(void)
{
	CUcontext context;
	uint32_t resets;
	cudaError_t error = retain(thread_device, &context, &resets);

	if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuCtxSetCurrent, context);
	if (error == cudaSuccess) {
		thread_context = context;
		thread_resets = resets;
	}
	return error;
}

/* Ours, and another thread reset the device since. */
static bool is_stale(CUcontext context)
{
	return context == thread_context &&
	       __atomic_load_n(&primary[thread_device].resets, __ATOMIC_ACQUIRE) != thread_resets;
}

cudaError_t rt_enter(void)
{
	CUcontext context = NULL;
	cudaError_t error = rt_load();

	if (error != cudaSuccess)
		return error;
	error = RT_CALL(RT_PLAIN, cuCtxGetCurrent, &context);
	if (error != cudaSuccess)
		return error;
	return context && !is_stale(context) ? cudaSuccess : use_primary();
}

cudaError_t rt_current_device(int *ret_ordinal)
{
	CUcontext context = NULL;
	CUdevice handle;
	cudaError_t error = rt_load();

	if (error != cudaSuccess)
		return error;
	*ret_ordinal = thread_device;
	error = RT_CALL(RT_PLAIN, cuCtxGetCurrent, &context);
	if (error != cudaSuccess || !context || context == thread_context)
		return error;
	error = RT_CALL(RT_PLAIN, cuCtxGetDevice, &handle);
	for (int i = 0; error == cudaSuccess && i < rt_device_count(); i++)
		if (rt_device_handle(i) == handle)
			*ret_ordinal = i;
	return error;
}

cudaError_t cudaGetDevice(int *ordinal)
{
	if (!ordinal)
		return rt_leave(cudaErrorInvalidValue);
	return rt_leave(rt_current_device(ordinal));
}

cudaError_t cudaSetDevice(int ordinal)
{
	cudaError_t error = rt_check_device(ordinal);

	if (error != cudaSuccess)
		return rt_leave(error);
	thread_device = ordinal;
	return rt_leave(use_primary());
}

cudaError_t cudaInitDevice(int ordinal, unsigned int device_flags, unsigned int flags)
{
	CUcontext context;
	cudaError_t error = rt_check_device(ordinal);

	if (error == cudaSuccess && flags & ~(unsigned int)cudaInitDeviceFlagsAreValid)
		error = cudaErrorInvalidValue;
	if (error == cudaSuccess && flags & cudaInitDeviceFlagsAreValid)
		error = RT_CALL(RT_PLAIN, cuDevicePrimaryCtxSetFlags, rt_device_handle(ordinal),
				device_flags);
	return rt_leave(error != cudaSuccess ? error : rt_primary(ordinal, &context));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	int ordinal;
	cudaError_t error = rt_current_device(&ordinal);

	if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuDevicePrimaryCtxSetFlags, rt_device_handle(ordinal),
				flags & ~(unsigned int)cudaDeviceMapHost);
	return rt_leave(error);
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	int ordinal, active;
	cudaError_t error = rt_current_device(&ordinal);

	if (error == cudaSuccess && !flags)
		error = cudaErrorInvalidValue;
	if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuDevicePrimaryCtxGetState, rt_device_handle(ordinal),
				flags, &active);
	if (error == cudaSuccess)
		*flags |= cudaDeviceMapHost; /* always so under unified addressing */
	return rt_leave(error);
}

cudaError_t cudaDeviceReset(void)
{
	int ordinal;
	cudaError_t error = rt_current_device(&ordinal);

	if (error != cudaSuccess)
		return rt_leave(error);
	pthread_mutex_lock(&lock);
	error = RT_CALL(RT_PLAIN, cuDevicePrimaryCtxReset, rt_device_handle(ordinal));
	if (error == cudaSuccess) {
		primary[ordinal].context = NULL;
		__atomic_add_fetch(&primary[ordinal].resets, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	if (error != cudaSuccess)
		return rt_leave(error);
	thread_context = NULL;
	last_error = cudaSuccess;
	return rt_leave(RT_CALL(RT_PLAIN, cuCtxSetCurrent, NULL));
}

void rt_release_primaries(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < RT_MAX_DEVICES; i++) {
		if (!primary[i].context)
			continue;
		/* At exit the driver may be gone already; there is nobody to tell. */
		(void)RT_CALL(RT_PLAIN, cuDevicePrimaryCtxRelease, rt_device_handle(i));
		primary[i].context = NULL;
		__atomic_add_fetch(&primary[i].resets, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}
