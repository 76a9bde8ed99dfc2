/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include "launch.h"

struct origin {
	CUstream key; /* NULL: free */
	uint32_t thread;
	CUcontext context; /* that ends the capture with it */
	int device;
};

static struct {
	struct futex_lock lock;
	struct origin origin[CAPTURE_ORIGINS];
} captures;

/* The per-thread default stream is a different one in each thread. */
static uint32_t thread_of(CUstream key)
{
	return key == CU_STREAM_PER_THREAD ? launch_thread_number() : 0;
}

static bool replace(CUstream from, uint32_t from_thread, const struct origin *to)
{
	bool found = false;

	futex_lock(&captures.lock);
	for (uint32_t i = 0; i < CAPTURE_ORIGINS && !found; i++) {
		if (captures.origin[i].key != from || captures.origin[i].thread != from_thread)
			continue;
		captures.origin[i] = *to;
		found = true;
	}
	futex_unlock(&captures.lock);
	return found;
}

void capture_origin_add(CUstream key)
{
	struct origin origin = {.key = key, .thread = thread_of(key)};

	if (real.cuStreamGetCtx(key, &origin.context) != CUDA_SUCCESS &&
	    real.cuCtxGetCurrent(&origin.context) != CUDA_SUCCESS)
		origin.context = NULL;
	if (real.cuCtxGetDevice(&origin.device) != CUDA_SUCCESS)
		origin.device = -1;
	(void)replace(NULL, 0, &origin);
}

bool capture_origin_remove(CUstream key)
{
	static const struct origin none;

	return replace(key, thread_of(key), &none);
}

void capture_context_gone(CUcontext context, int device)
{
	uint32_t ended = 0;

	futex_lock(&captures.lock);
	for (uint32_t i = 0; i < CAPTURE_ORIGINS; i++) {
		struct origin *origin = &captures.origin[i];

		if (!origin->key ||
		    (device < 0 ? origin->context != context : origin->device != device))
			continue;
		*origin = (struct origin){0};
		ended++;
	}
	futex_unlock(&captures.lock);
	while (ended--)
		shim_capture_closed();
}

bool capture_is_open(CUstream key)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return real.cuStreamIsCapturing(key, &status) != CUDA_SUCCESS ||
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void capture_forked(void)
{
	captures.lock = (struct futex_lock){0};
	for (uint32_t i = 0; i < CAPTURE_ORIGINS; i++)
		captures.origin[i] = (struct origin){0};
}
