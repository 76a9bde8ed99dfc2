/* SPDX-License-Identifier: Apache-2.0 */
#include "gate_wait.h"

#include <sys/prctl.h>

#include "batch.h"
#include "sluice/clock.h"

#define SPIN_NS 100000u	 /* before a predicted opening, and after it */
#define NEAR_NS 1000000u /* the longest sleep near one */
#define FAR_NS 10000000u /* the longest sleep of all */
#define LEAST_NS 20000u	 /* shorter sleeps cost more than they wait */
#define CREDIT_NS 1000000u
#define SILENT_NS 50000u /* the longest sleep on an activity whose owner wakes nobody ... */
#define SILENCES 3u	 /* ... which has been seen so often in a row */
#define TOLD_NS 20000u	 /* so long, the owner is taken to be about to say when it drains */

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

/* A sleep that ends on time: the default slack of 50 us would spoil short ones. */
static void sleep_on(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns,
		     uint64_t now_ns)
{
	int slack_ns = -1;

	if (deadline_ns <= now_ns)
		return;
	if (deadline_ns - now_ns <= NEAR_NS * 2) {
		slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
		if (slack_ns > 0)
			(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	}
	(void)futex_wait(word, expected, deadline_ns);
	if (slack_ns > 0)
		(void)prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
}

/* Whom a latency process wakes. Not longer than the sleep: threads that the driver makes in a launch
 * would have it of this one. */
static void sleep_behind(const _Atomic uint32_t *word, uint32_t expected, uint64_t deadline_ns,
			 uint64_t now_ns)
{
	bool is_behind = deadline_ns > now_ns && batch_begin();

	sleep_on(word, expected, deadline_ns, now_ns);
	if (is_behind)
		batch_end();
}

static void spin_until(const _Atomic uint32_t *word, uint32_t expected, uint64_t end_ns)
{
	do {
		for (int i = 0; i < 8; i++) {
			if (atomic_load_explicit(word, memory_order_acquire) != expected)
				return;
			relax();
		}
	} while (sluice_now_ns() < end_ns);
}

/* After a sleep the admission's lines are cold; they are fetched while there is time. */
static void warm(const struct gate *gate, const struct gate_hold *hold)
{
	const char *counters = (const char *)&gate->page->counters;
	const char *lane = (const char *)hold->lane;

	for (size_t i = 0; i < sizeof(gate->page->counters); i += 64)
		__builtin_prefetch(counters + i, 1);
	for (size_t i = 0; i < sizeof(*hold->lane); i += 64)
		__builtin_prefetch(lane + i, 1);
	__builtin_prefetch(hold->lane->slot, 1);
}

static bool may_spin(struct gate *gate)
{
	uint32_t nobody = 0;

	return atomic_compare_exchange_strong_explicit(&gate->spinning, &nobody, 1,
						       memory_order_relaxed, memory_order_relaxed);
}

/* Towards a predicted opening that is not near yet. */
static void sleep_towards(const _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns,
			  uint64_t now_ns)
{
	uint64_t deadline_ns = until_ns - SPIN_NS;

	if (deadline_ns > now_ns + FAR_NS)
		deadline_ns = now_ns + FAR_NS;
	sleep_behind(word, expected, deadline_ns, now_ns);
}

/* Sleeps on the word to shortly before until_ns, then spins; returns early when the word moves. */
static void wait_until(struct gate *gate, const struct gate_hold *hold,
		       const _Atomic uint32_t *word, uint32_t expected, uint64_t now_ns)
{
	uint64_t until_ns = hold->until_ns, end_ns = until_ns + SPIN_NS;

	if (until_ns > now_ns + SPIN_NS) {
		sleep_towards(word, expected, until_ns, now_ns);
	} else if (end_ns > now_ns && may_spin(gate)) {
		warm(gate, hold);
		spin_until(word, expected, end_ns);
		atomic_store_explicit(&gate->spinning, 0, memory_order_relaxed);
	} else {
		sleep_behind(word, expected, now_ns + NEAR_NS, now_ns);
	}
}

/* The guard's end is known exactly; a tenant that is active again is seen by the next look. */
static void wait_guard(struct gate *gate, const struct gate_hold *hold, uint64_t now_ns)
{
	uint64_t until_ns = hold->until_ns;
	const struct sluice_grant *grant = &gate->page->grant;
	uint32_t epoch = atomic_load_explicit(&grant->epoch, memory_order_relaxed);

	if (until_ns > now_ns + SPIN_NS) {
		sleep_towards(&grant->epoch, epoch, until_ns, now_ns);
	} else if (may_spin(gate)) {
		warm(gate, hold);
		spin_until(&grant->epoch, epoch, until_ns);
		atomic_store_explicit(&gate->spinning, 0, memory_order_relaxed);
	} else {
		sleep_behind(&grant->epoch, epoch, until_ns, now_ns);
	}
}

/* The work in flight ends some time after until_ns: a bit longer at each look. */
static void wait_window(struct gate *gate, const struct gate_hold *hold, uint64_t now_ns)
{
	const struct sluice_grant *grant = &gate->page->grant;
	uint32_t epoch = atomic_load_explicit(&grant->epoch, memory_order_relaxed);
	uint64_t from_ns = hold->until_ns > hold->since_ns ? hold->until_ns : hold->since_ns;
	uint64_t late_ns = from_ns < now_ns ? now_ns - from_ns : 0;
	uint64_t sleep_ns = hold->until_ns > now_ns ? hold->until_ns - now_ns : late_ns / 4;

	if (sleep_ns < LEAST_NS)
		sleep_ns = LEAST_NS;
	if (sleep_ns > NEAR_NS)
		sleep_ns = NEAR_NS;
	sleep_on(&grant->epoch, epoch, now_ns + sleep_ns, now_ns);
}

/*
 * Who goes idle says so to those who sleep, honest owners without exception. One that is found idle
 * and has said nothing, again and again, would by going active for a moment now and then keep others
 * asleep for most of the time: its word is good for short sleeps only.
 */
static bool is_silent(struct gate *gate, const struct sluice_activity_device *activity)
{
	return atomic_load_explicit(&gate->silent, memory_order_relaxed) == activity &&
	       atomic_load_explicit(&gate->silences, memory_order_relaxed) >= SILENCES;
}

static void note_silence(struct gate *gate, const struct sluice_activity_device *activity,
			 uint32_t wake)
{
	uint64_t word = atomic_load_explicit(&activity->word, memory_order_acquire);

	if (sluice_activity_active(word))
		return;
	/* After the word: it is moved before. */
	if (atomic_load_explicit(&activity->wake, memory_order_acquire) != wake) {
		atomic_store_explicit(&gate->silences, 0, memory_order_relaxed);
		return;
	}
	if (atomic_exchange_explicit(&gate->silent, activity, memory_order_relaxed) != activity)
		atomic_store_explicit(&gate->silences, 0, memory_order_relaxed);
	if (!is_silent(gate, activity))
		atomic_fetch_add_explicit(&gate->silences, 1, memory_order_relaxed);
}

/* To the predicted drain; a request that has just begun is about to say when that is. */
static void wait_active(struct gate *gate, const struct gate_view *view,
			const struct gate_hold *hold, uint64_t now_ns)
{
	const _Atomic uint32_t *wake = &view->activity->wake;

	if (!view->is_told && now_ns - hold->since_ns < TOLD_NS) {
		for (int i = 0; i < 16; i++)
			relax();
		return;
	}
	if (is_silent(gate, view->activity))
		sleep_behind(wake, view->wake, now_ns + SILENT_NS, now_ns);
	else if (hold->until_ns)
		wait_until(gate, hold, wake, view->wake, now_ns);
	else
		sleep_behind(wake, view->wake, now_ns + FAR_NS, now_ns);
	note_silence(gate, view->activity, view->wake);
}

void gate_wait(struct gate *gate, const struct gate_view *view, struct gate_hold *hold,
	       uint64_t now_ns)
{
	const struct sluice_grant *grant = &gate->page->grant;

	switch (hold->reason) {
	case GATE_ACTIVE:
		hold->waited = view->activity;
		wait_active(gate, view, hold, now_ns);
		break;
	case GATE_GUARD: wait_guard(gate, hold, now_ns); break;
	case GATE_QUIET:
		/* The arrival comes first, and its end is what opens. */
		hold->waited = view->activity;
		sleep_behind(&view->activity->wake, view->wake,
			     hold->until_ns < now_ns + FAR_NS ? hold->until_ns : now_ns + FAR_NS,
			     now_ns);
		break;
	case GATE_WINDOW: wait_window(gate, hold, now_ns); break;
	case GATE_CREDIT:
		sleep_on(&grant->epoch, atomic_load_explicit(&grant->epoch, memory_order_relaxed),
			 now_ns + CREDIT_NS, now_ns);
		break;
	default:
		hold->waited_gate = true;
		sleep_on(&grant->gate, view->gate_word, now_ns + FAR_NS, now_ns);
	}
}

/* The opener wakes one of us, which wakes the next. A reader of an activity page can wake others
 * although it cannot write; the grant is this process's own. */
_Atomic uint32_t *gate_wait_next(struct gate *gate, const struct gate_hold *hold)
{
	if (hold->waited)
		return (_Atomic uint32_t *)(uintptr_t)&hold->waited->wake;
	return hold->waited_gate && gate->holding ? &gate->page->grant.gate : NULL;
}
