/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "callback.h"
#include "cancel.h"
#include "door_resolve.h"
#include "futex.h"
#include "link.h"
#include "shim.h"
#include "shim_log.h"
#include "sluice/clock.h"
#include "watch_look.h"

#define STACK_BYTES 262144u
#define END_NS (100 * SLUICE_NS_PER_MS) /* the exit waits so long for an answer of the driver's */
#define OWN_SIGNALS 2 /* 32 and 33 are libc's: setuid reaches all threads by one */

static struct {
	_Atomic uint32_t is_started;
	_Atomic uint32_t is_ending;
	_Atomic uint32_t life;	 /* the thread of an earlier one is nobody's */
	_Atomic uint32_t asked;	 /* bit i: device i is to be looked at, for callbacks */
	struct futex_lock awake; /* the thread's, but when it sleeps */
} watch;

static const _Atomic uint32_t never;

/* ---- waking --------------------------------------------------------------------------------------- */

void watch_wake_at(struct sluice_channel *channel)
{
	/* What it is woken for was stored before. */
	atomic_fetch_add_explicit(&channel->look, 1, memory_order_seq_cst);
	futex_wake(&channel->look, 1);
}

void watch_wake(void)
{
	struct sluice_channel *channel;
	size_t bytes;

	if (link_channel((void **)&channel, &bytes))
		watch_wake_at(channel);
}

void watch_ask(struct gate *gate)
{
	if (!gate || !atomic_load_explicit(&watch.is_started, memory_order_relaxed))
		return;
	atomic_fetch_or_explicit(&watch.asked, 1u << gate->index, memory_order_relaxed);
	watch_wake();
}

int watch_exclude(void)
{
	int cancel = cancel_hold();

	futex_lock(&watch.awake);
	return cancel;
}

void watch_admit(int cancel)
{
	futex_unlock(&watch.awake);
	cancel_resume(cancel);
}

/* ---- the thread ----------------------------------------------------------------------------------- */

/* It never returns: what libraries keep for threads would be torn down beside the rest. */
static void park(void)
{
	for (;;)
		(void)futex_wait(&never, 0, 0);
}

/* Between two sleeps the thread has the lock: whoever else has it finds it asleep. */
static void awake(uint32_t life)
{
	futex_lock(&watch.awake);
	if (!atomic_load_explicit(&watch.is_ending, memory_order_relaxed) &&
	    atomic_load_explicit(&watch.life, memory_order_relaxed) == life)
		return;
	futex_unlock(&watch.awake);
	park();
}

static void nap(uint64_t for_ns, uint32_t life)
{
	futex_unlock(&watch.awake);
	(void)futex_wait(&never, 0, sluice_now_ns() + for_ns);
	awake(life);
}

/* A drain is believed when it is seen twice: a launch is noted before it is made, and the stream is
 * empty in between. */
static void look(struct gate *gate, uint32_t life, bool is_judged)
{
	struct sync_point point;
	uint64_t found_ns = sluice_now_ns();
	uint64_t settle_ns = watch_find(gate, &point);

	if (!settle_ns)
		return;
	nap(settle_ns, life);
	watch_take(gate, &point, found_ns, is_judged);
}

/* Looks at the device if that is due. When next, by itself; 0: not. */
static uint64_t step(struct gate *gate, uint32_t life, bool is_asked, bool is_left)
{
	static uint64_t looked_ns[SLUICE_MAX_DEVICES];
	uint64_t now_ns = sluice_now_ns();
	uint64_t due_ns = watch_due_ns(gate, looked_ns[gate->index]);

	if (!is_asked && !is_left && (!due_ns || now_ns < due_ns))
		return due_ns;
	looked_ns[gate->index] = now_ns;
	look(gate, life, !is_left);
	return watch_due_ns(gate, now_ns);
}

static uint64_t step_all(struct sluice_channel *channel, uint32_t life)
{
	uint32_t asked = atomic_exchange_explicit(&channel->ask, 0, memory_order_acquire);
	uint32_t left = atomic_exchange_explicit(&watch.asked, 0, memory_order_acquire);
	uint64_t next_ns = 0;

	callback_settle();
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		struct gate *gate = gate_at(i);
		uint64_t due_ns;

		if (!watch_is_busy(gate))
			continue;
		due_ns = step(gate, life, asked >> i & 1, left >> i & 1);
		if (due_ns && (!next_ns || due_ns < next_ns))
			next_ns = due_ns;
	}
	return next_ns;
}

static void *run(void *closure)
{
	uint32_t life = (uint32_t)(uintptr_t)closure;

	(void)prctl(PR_SET_NAME, "sluice-watch", 0, 0, 0);
	(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	/* Whatever the driver calls on this thread is none of ours. */
	shim_thread.busy = 1;
	for (;;) {
		struct sluice_channel *channel = NULL, *now = NULL;
		uint64_t due_ns = 0;
		uint32_t seen;
		size_t bytes;

		awake(life);
		if (!link_channel((void **)&channel, &bytes))
			break;
		seen = atomic_load_explicit(&channel->look, memory_order_seq_cst);
		due_ns = step_all(channel, life);
		(void)link_channel((void **)&now, &bytes);
		futex_unlock(&watch.awake);
		if (now == channel)
			(void)futex_wait(&channel->look, seen, due_ns);
	}
	futex_unlock(&watch.awake);
	park();
	return NULL;
}

/* ---- its life ------------------------------------------------------------------------------------- */

/* libc's since 2.34, libpthread's before; a sanitizer's where there is one. */
static void *thread_symbol(const char *name)
{
	void *(*libc_dlopen)(const char *, int) =
		(void *(*)(const char *, int))object_libc_symbol("dlopen");
	void *(*libc_dlsym)(void *, const char *) =
		(void *(*)(void *, const char *))object_libc_symbol("dlsym");
	void *library, *symbol;

	if (!libc_dlopen || !libc_dlsym)
		return NULL;
	symbol = libc_dlsym(RTLD_DEFAULT, name);
	if (symbol)
		return symbol;
	library = libc_dlopen("libpthread.so.0", RTLD_LAZY | RTLD_NOLOAD);
	return library ? libc_dlsym(library, name) : NULL;
}

static int thread_make(uint32_t life)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
		thread_symbol("pthread_create");
	int (*set_stack)(pthread_attr_t *, size_t) = thread_symbol("pthread_attr_setstacksize");
	void *closure = (void *)(uintptr_t)life;
	pthread_attr_t small, plain;
	pthread_t thread;
	int result;

	if (!create || !set_stack)
		return -ENOSYS;
	(void)pthread_attr_init(&plain);
	(void)pthread_attr_setdetachstate(&plain, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_init(&small);
	(void)pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
	(void)set_stack(&small, STACK_BYTES);
	result = create(&thread, &small, run, closure);
	/* Thread-local variables of the program are taken out of the stack. */
	if (result == EINVAL)
		result = create(&thread, &plain, run, closure);
	return -result;
}

void watch_start(void)
{
	static bool is_exit_watched;
	uint64_t signals = ~(((1ull << OWN_SIGNALS) - 1) << 31), before = 0;
	int saved = errno, result;

	if (atomic_exchange_explicit(&watch.is_started, 1, memory_order_relaxed))
		return;
	/* The last to register is the first to be called: before the driver is torn down. */
	if (!is_exit_watched)
		is_exit_watched = !atexit(watch_end);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signals, &before, sizeof(signals));
	result = is_exit_watched ? thread_make(watch.life) : -ENOMEM;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	if (result) {
		atomic_store_explicit(&watch.is_started, 0, memory_order_relaxed);
		shim_log(SHIM_LOG_ERROR,
			 "no thread to see the ends of requests that no call shows, error %d",
			 -result);
	}
	errno = saved;
}

void watch_end(void)
{
	uint64_t end_ns = sluice_now_ns() + END_NS;

	atomic_store_explicit(&watch.is_ending, 1, memory_order_seq_cst);
	while (!futex_trylock(&watch.awake)) {
		if (sluice_now_ns() > end_ns)
			return;
		(void)futex_wait(&never, 0, sluice_now_ns() + SLUICE_NS_PER_MS);
	}
	futex_unlock(&watch.awake);
}

void watch_forked(void)
{
	watch.life++;
	watch.is_started = watch.is_ending = watch.asked = 0;
	atomic_store_explicit(&watch.awake.state, 0, memory_order_relaxed);
}
