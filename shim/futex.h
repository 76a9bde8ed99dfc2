/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_FUTEX_H
#define SHIM_FUTEX_H

/*
 * Futexes and a lock made of one, since a mutex of libc binds to a symbol version that older
 * systems lack. Words in shared pages are never process-private. Deadlines are CLOCK_MONOTONIC ns;
 * 0: none. All calls leave errno as it was.
 *
 * The lock has three states (0 free, 1 held, 2 held and waited for); zero is unlocked. It is not
 * recursive and not robust; after fork the child sets it to zero.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct futex_lock {
	_Atomic uint32_t state;
};

/* Returns 0 when woken (perhaps for nothing), -EAGAIN when the word differs, -ETIMEDOUT, -EINTR. */
int futex_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns);
void futex_wake(_Atomic uint32_t *word, int count);

void futex_lock_slow(struct futex_lock *lock);

static inline void futex_lock(struct futex_lock *lock)
{
	uint32_t free_state = 0;

	/* Pairs with the release in futex_unlock. */
	if (!atomic_compare_exchange_strong_explicit(&lock->state, &free_state, 1,
						     memory_order_acquire, memory_order_relaxed))
		futex_lock_slow(lock);
}

static inline bool futex_trylock(struct futex_lock *lock)
{
	uint32_t free_state = 0;

	return atomic_compare_exchange_strong_explicit(&lock->state, &free_state, 1,
						       memory_order_acquire, memory_order_relaxed);
}

static inline void futex_unlock(struct futex_lock *lock)
{
	if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
		futex_wake(&lock->state, 1);
}

#endif
