/* SPDX-License-Identifier: Apache-2.0 */
#include "callback.h"

#include "launch.h"
#include "mem_context.h"
#include "request.h"
#include "sync.h"
#include "watch.h"

#define CALLBACKS 1024u /* not run yet; a power of two */
#define TRIES 64u	/* for gate->lock: a few microseconds */

enum callback_state {
	CALLBACK_FREE,
	CALLBACK_WAITING, /* for the driver to run it */
	CALLBACK_RUNNING, /* what it shows is being noted */
	CALLBACK_LEFT,	  /* ... could not be, and is to be */
};

/* With callbacks.lock, which is never held across a call; but for what one that is RUNNING says. */
struct callback {
	enum callback_state state;
	uint64_t number; /* which use of this place it is */
	CUhostFn host;
	CUstreamCallback stream;
	void *data;
	CUcontext context;
	int device;
	struct stream_state *of;
	uint64_t launched_ns;
};

static struct {
	struct futex_lock lock;
	uint32_t next;	      /* where to look for a free place */
	uint32_t taken;	      /* places that are not free */
	_Atomic bool is_left; /* some are LEFT */
	struct callback at[CALLBACKS];
} callbacks;

/* ---- places ------------------------------------------------------------------------------------- */

static callback_token token_of(const struct callback *callback)
{
	return (callback_token)(uintptr_t)(callback->number * CALLBACKS +
					   (uint64_t)(callback - callbacks.at));
}

/* NULL: of a context that is gone. With the lock. */
static struct callback *find(callback_token token)
{
	struct callback *callback = &callbacks.at[(uintptr_t)token % CALLBACKS];

	return callback->state == CALLBACK_WAITING && token_of(callback) == token ? callback : NULL;
}

static void release(struct callback *callback)
{
	callback->state = CALLBACK_FREE;
	callbacks.taken--;
}

static callback_token keep(const struct callback *own)
{
	callback_token token = NULL;

	futex_lock(&callbacks.lock);
	while (callbacks.taken < CALLBACKS && !token) {
		struct callback *callback = &callbacks.at[callbacks.next++ % CALLBACKS];
		uint64_t number = callback->number + 1;

		if (callback->state != CALLBACK_FREE)
			continue;
		*callback = *own;
		callback->state = CALLBACK_WAITING;
		callback->number = number;
		callbacks.taken++;
		token = token_of(callback);
	}
	futex_unlock(&callbacks.lock);
	return token;
}

/* Is there anything that it would show? */
static bool shows(const struct stream_state *stream, const struct gate *gate, uint64_t launched_ns)
{
	bool is_open = request_is_tracked(gate) &&
		       !atomic_load_explicit(&stream->quiet, memory_order_relaxed);

	return is_open || launched_ns != stream->completed_ns;
}

callback_token callback_wrap(CUstream key, CUhostFn host, CUstreamCallback stream, void *data)
{
	struct callback own = {.host = host, .stream = stream, .data = data};
	struct sync_point point;
	struct gate *gate;

	callback_settle();
	sync_on_stream(&point, key);
	if (!point.count)
		return NULL;
	own.of = point.at[0].stream;
	own.launched_ns = point.at[0].launched_ns;
	gate = own.of->gate;
	if (!gate || !shows(own.of, gate, own.launched_ns))
		return NULL;
	own.context = own.of->context;
	own.device = (int)gate->ordinal;
	return keep(&own);
}

void callback_unwrap(callback_token token)
{
	struct callback *callback;

	futex_lock(&callbacks.lock);
	callback = find(token);
	if (callback)
		release(callback);
	futex_unlock(&callbacks.lock);
}

void callback_context_gone(CUcontext context, int device)
{
	for (uint32_t i = 0; i < CALLBACKS; i++) {
		struct callback *callback = &callbacks.at[i];

		futex_lock(&callbacks.lock);
		if (callback->state == CALLBACK_WAITING &&
		    (device < 0 ? callback->context == context
				: callback->device == device &&
					  !mem_context_is_created(callback->context)))
			release(callback);
		futex_unlock(&callbacks.lock);
	}
}

/* ---- running ------------------------------------------------------------------------------------- */

static void set_state(struct callback *callback, enum callback_state state)
{
	futex_lock(&callbacks.lock);
	if (state == CALLBACK_FREE)
		release(callback);
	else
		callback->state = state;
	futex_unlock(&callbacks.lock);
}

/* False: gate->lock is taken. */
static bool note(const struct callback *own)
{
	enum sync_apart result = SYNC_BUSY;

	for (uint32_t i = 0; result == SYNC_BUSY && i < TRIES; i++)
		result = sync_shown_apart(own->of, own->launched_ns, false);
	if (result == SYNC_OTHERS)
		watch_ask(own->of->gate);
	return result != SYNC_BUSY;
}

/* Notes what it shows, and frees its place. False: it is nobody's any more. */
static bool run(callback_token token, CUresult status, struct callback *ret_own)
{
	struct callback *callback;

	futex_lock(&callbacks.lock);
	callback = find(token);
	if (callback) {
		callback->state = CALLBACK_RUNNING;
		*ret_own = *callback;
	}
	futex_unlock(&callbacks.lock);
	if (!callback)
		return false;
	/* Its work has failed: that it is over as well, the driver must be asked. */
	if (status != CUDA_SUCCESS)
		watch_ask(ret_own->of->gate);
	if (status != CUDA_SUCCESS || note(ret_own)) {
		set_state(callback, CALLBACK_FREE);
	} else {
		set_state(callback, CALLBACK_LEFT);
		atomic_store_explicit(&callbacks.is_left, true, memory_order_release);
		watch_wake();
	}
	return true;
}

void CUDA_CB callback_run_host(void *token)
{
	struct callback own;

	if (run(token, CUDA_SUCCESS, &own))
		own.host(own.data);
}

void CUDA_CB callback_run_stream(CUstream stream, CUresult status, void *token)
{
	struct callback own;

	if (run(token, status, &own))
		own.stream(stream, status, own.data);
}

void callback_settle(void)
{
	if (likely(!atomic_load_explicit(&callbacks.is_left, memory_order_relaxed)) ||
	    !atomic_exchange_explicit(&callbacks.is_left, false, memory_order_acquire))
		return;
	for (uint32_t i = 0; i < CALLBACKS; i++) {
		struct callback *callback = &callbacks.at[i];
		bool is_ours;

		futex_lock(&callbacks.lock);
		is_ours = callback->state == CALLBACK_LEFT;
		if (is_ours)
			callback->state = CALLBACK_RUNNING;
		futex_unlock(&callbacks.lock);
		if (!is_ours)
			continue;
		if (sync_shown_apart(callback->of, callback->launched_ns, true) == SYNC_OTHERS)
			watch_ask(callback->of->gate);
		set_state(callback, CALLBACK_FREE);
	}
}

void callback_forked(void)
{
	callbacks.lock = (struct futex_lock){0};
	callbacks.taken = 0;
	callbacks.is_left = false;
	for (uint32_t i = 0; i < CALLBACKS; i++)
		callbacks.at[i].state = CALLBACK_FREE;
}
