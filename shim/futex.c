/* SPDX-License-Identifier: Apache-2.0 */
#include "futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sluice/clock.h"

int futex_wait(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns)
{
	struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / SLUICE_NS_PER_S),
				    .tv_nsec = (long)(deadline_ns % SLUICE_NS_PER_S)};
	int saved = errno;
	int result = 0;

	if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline_ns ? &deadline : NULL,
		    NULL, FUTEX_BITSET_MATCH_ANY))
		result = -errno;
	errno = saved;
	return result;
}

void futex_wake(_Atomic uint32_t *word, int count)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
	errno = saved;
}

void futex_lock_slow(struct futex_lock *lock)
{
	/* Whoever was here leaves 2 behind, so that the holder wakes the next. */
	while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0)
		(void)futex_wait(&lock->state, 2, 0);
}
