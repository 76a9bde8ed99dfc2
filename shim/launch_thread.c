/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that launch: each has a number, a slot of the channel page, and what it remembers.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch.h"

_Thread_local struct launch_thread launch_thread;

/* Threads by slot. More threads than slots share the last one. */
static struct {
	struct futex_lock lock;
	uint32_t tid[SLUICE_MAX_SLOTS];
	_Atomic uint32_t used;
} threads;

static bool is_alive(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) == 0 || errno != ESRCH;
}

/* A slot goes on from what its last owner left. */
static uint32_t slot_of(uint32_t tid)
{
	uint32_t slot = SLUICE_MAX_SLOTS - 1;

	for (uint32_t i = 0; i < threads.used; i++) {
		if (threads.tid[i] == tid)
			return i;
	}
	if (threads.used < SLUICE_MAX_SLOTS - 1) {
		slot = threads.used++;
	} else {
		for (uint32_t i = 0; i < SLUICE_MAX_SLOTS - 1; i++) {
			if (!is_alive(threads.tid[i])) {
				slot = i;
				break;
			}
		}
	}
	if (slot < SLUICE_MAX_SLOTS - 1)
		threads.tid[slot] = tid;
	return slot;
}

/* More than the slots: numbers of their own, so that each has its own per-thread default stream. */
static uint32_t number_of(uint32_t slot, uint32_t tid)
{
	return slot < SLUICE_MAX_SLOTS - 1 ? slot + 1 : SLUICE_MAX_SLOTS + tid;
}

uint32_t launch_thread_number(void)
{
	struct launch_thread *thread = &launch_thread;
	int saved = errno;

	if (likely(thread->number))
		return thread->number;
	thread->tid = (uint32_t)syscall(SYS_gettid);
	futex_lock(&threads.lock);
	thread->number = number_of(slot_of(thread->tid), thread->tid);
	futex_unlock(&threads.lock);
	errno = saved;
	return thread->number;
}

bool launch_is_alone(void)
{
	return atomic_load_explicit(&threads.used, memory_order_relaxed) <= 1;
}

bool launch_thread_is_gone(uint32_t number)
{
	int saved = errno;
	bool gone;

	futex_lock(&threads.lock);
	gone = !is_alive(number > SLUICE_MAX_SLOTS ? number - SLUICE_MAX_SLOTS
						   : threads.tid[number - 1]);
	futex_unlock(&threads.lock);
	errno = saved;
	return gone;
}

void launch_threads_forked(void)
{
	threads.lock = (struct futex_lock){0};
	threads.used = 0;
	launch_thread = (struct launch_thread){0};
}
