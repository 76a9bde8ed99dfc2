/* SPDX-License-Identifier: Apache-2.0 */
#include "escrow_client.h"

#include <errno.h>
#include <limits.h>

#include "futex.h"
#include "link.h"
#include "shim_log.h"
#include "sluice/clock.h"

#define RETRY_NS (10 * SLUICE_NS_PER_MS)

static _Atomic uint64_t *escrow_word(struct shim_device *device)
{
	/* Pairs with the release in escrow_rehome and link_device_register. */
	return atomic_load_explicit(&device->escrow, memory_order_acquire);
}

static bool try_reserve(struct shim_device *device, uint32_t units)
{
	return sluice_escrow_reserve(escrow_word(device), units);
}

/* The futex is the credit half of the word. */
static _Atomic uint32_t *credit_half(_Atomic uint64_t *word)
{
	return (_Atomic uint32_t *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* Until memory of this process is freed, a grant comes, or it is time to ask again. */
static void wait_for_credit(struct shim_device *device, uint32_t units, uint64_t deadline_ns)
{
	_Atomic uint64_t *word = escrow_word(device);
	uint64_t until_ns = sluice_now_ns() + RETRY_NS;
	uint32_t credit;

	/* Raised before the word is read: a release that this misses sees the waiter. */
	atomic_fetch_add(&device->waiters, 1);
	credit = sluice_escrow_credit(atomic_load(word));
	if (credit < units)
		(void)futex_wait(credit_half(word), credit,
				 until_ns < deadline_ns ? until_ns : deadline_ns);
	atomic_fetch_sub(&device->waiters, 1);
}

static void note_held(struct shim_device *device, uint64_t since_ns)
{
	struct sluice_channel_device *channel =
		atomic_load_explicit(&device->channel, memory_order_acquire);

	if (channel)
		atomic_fetch_add_explicit(&channel->counters.mem_held_ns,
					  sluice_now_ns() - since_ns, memory_order_relaxed);
}

static int ask_until(struct shim_device *device, uint32_t units, uint64_t deadline_ns)
{
	do {
		int error = link_mem_request(device->index, units, deadline_ns);

		/* Whatever it said, a thread of ours may have freed meanwhile. */
		if (try_reserve(device, units))
			return 0;
		if (error == -ENOMEM)
			return -ENOMEM;
		/* Granted, but another thread was quicker: ask again at once. */
		if (error)
			wait_for_credit(device, units, deadline_ns);
	} while (sluice_now_ns() < deadline_ns);
	return -ENOMEM;
}

int escrow_reserve_slow(struct shim_device *device, uint32_t units)
{
	uint64_t start_ns = sluice_now_ns();
	int saved = errno;
	int error = -ENOMEM;

	/* What no word can ever hold is not asked for. */
	if (units != UINT32_MAX)
		error = ask_until(device, units, start_ns + shim.mem_deadline_ns);
	note_held(device, start_ns);
	if (error)
		shim_log(SHIM_LOG_INFO, "device %u: quota exceeded, refused %lu bytes",
			 device->ordinal, (unsigned long)units * SLUICE_ESCROW_UNIT);
	errno = saved;
	return error;
}

/* What was used beyond the grant is paid back first. Returns what is left of `units`. */
static uint32_t pay_debt(struct shim_device *device, uint32_t units)
{
	uint32_t debt = atomic_load_explicit(&device->debt_units, memory_order_relaxed);
	uint32_t paid;

	do {
		paid = debt < units ? debt : units;
		if (!paid)
			break;
	} while (!atomic_compare_exchange_weak_explicit(&device->debt_units, &debt, debt - paid,
							memory_order_acq_rel,
							memory_order_relaxed));
	return units - paid;
}

/*
 * A word that has been left has granted 0; credit in it is a release that came too late, and is
 * carried over by whoever sees it: the releaser looks behind its own addition, so that none is
 * lost. A word with a grant is still the account, or about to be taken over whole by escrow_rehome.
 */
static uint32_t take_stray(_Atomic uint64_t *word)
{
	uint64_t old = atomic_load_explicit(word, memory_order_acquire);

	while (!sluice_escrow_granted(old) && sluice_escrow_credit(old))
		if (atomic_compare_exchange_weak_explicit(word, &old, 0, memory_order_acq_rel,
							  memory_order_acquire))
			return sluice_escrow_credit(old);
	return 0;
}

void escrow_release(struct shim_device *device, uint32_t units)
{
	_Atomic uint64_t *word = escrow_word(device);

	while (units) {
		if (unlikely(atomic_load_explicit(&device->debt_units, memory_order_relaxed)))
			units = pay_debt(device, units);
		if (!units)
			return;
		sluice_escrow_release(word, units);
		if (unlikely(atomic_load(&device->waiters)))
			futex_wake(credit_half(word), INT_MAX);
		/* The addition and the exchange in escrow_rehome are on one word: one that came
		 * behind the exchange sees the pointer that was stored before it. */
		if (likely(word == escrow_word(device)))
			return;
		units = take_stray(word);
		word = escrow_word(device);
	}
}

uint32_t escrow_leave(struct shim_device *device)
{
	uint64_t left = atomic_exchange_explicit(escrow_word(device), 0, memory_order_acq_rel);
	uint32_t used = sluice_escrow_granted(left) > sluice_escrow_credit(left)
				? sluice_escrow_granted(left) - sluice_escrow_credit(left)
				: 0;

	return atomic_fetch_add_explicit(&device->debt_units, used, memory_order_acq_rel) + used;
}

void escrow_rehome(struct shim_device *device, _Atomic uint64_t *word)
{
	_Atomic uint64_t *old = escrow_word(device);
	uint64_t fresh = atomic_load_explicit(word, memory_order_acquire);
	/* Taken back is credit alone: what is charged stands until we release it. */
	uint32_t charged = sluice_escrow_granted(fresh) - sluice_escrow_credit(fresh);
	uint32_t debt = atomic_load_explicit(&device->debt_units, memory_order_acquire), covered;

	atomic_store_explicit(&device->escrow, word, memory_order_release);
	do
		covered = debt < charged ? debt : charged;
	while (!atomic_compare_exchange_weak_explicit(&device->debt_units, &debt, debt - covered,
						      memory_order_acq_rel, memory_order_acquire));
	/* Freed since the arbiter was told, from what is charged now and from the word that was left. */
	escrow_release(device, charged - covered);
	escrow_release(device, take_stray(old));
}
