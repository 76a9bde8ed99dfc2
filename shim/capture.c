/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include "launch.h"

static struct {
	struct futex_lock lock;
	struct {
		CUstream key; /* NULL: free */
		uint32_t thread;
	} origin[CAPTURE_ORIGINS];
} captures;

/* The per-thread default stream is a different one in each thread. */
static uint32_t thread_of(CUstream key)
{
	return key == CU_STREAM_PER_THREAD ? launch_thread_number() : 0;
}

static bool replace(CUstream from, uint32_t from_thread, CUstream to, uint32_t to_thread)
{
	bool found = false;

	futex_lock(&captures.lock);
	for (uint32_t i = 0; i < CAPTURE_ORIGINS && !found; i++) {
		if (captures.origin[i].key != from || captures.origin[i].thread != from_thread)
			continue;
		captures.origin[i].key = to;
		captures.origin[i].thread = to_thread;
		found = true;
	}
	futex_unlock(&captures.lock);
	return found;
}

void capture_origin_add(CUstream key)
{
	(void)replace(NULL, 0, key, thread_of(key));
}

bool capture_origin_remove(CUstream key)
{
	return replace(key, thread_of(key), NULL, 0);
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
		captures.origin[i].key = NULL;
}
