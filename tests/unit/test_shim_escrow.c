/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tenant's side of the memory protocol: the slow path, a change of pages under running
 * threads, and processes that are killed at random instants while an arbiter keeps count.
 */
#include "escrow_client.h"
#include "sluice/clock.h"
#include "unit/fake_link.h"

#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "futex.h"

/* ---- an arbiter in this process ---------------------------------------------------------------- */

static struct {
	uint32_t pool;
	int away; /* answers -ENOTCONN so many times */
	int reclaiming;
	unsigned int asked;
	_Atomic uint64_t *word;
} arbiter;

static int (*request)(uint32_t device_index, uint32_t units);

static int request_here(uint32_t device_index, uint32_t units)
{
	arbiter.asked++;
	if (arbiter.away && arbiter.away--)
		return -ENOTCONN;
	if (arbiter.reclaiming && arbiter.reclaiming--)
		return -EAGAIN;
	if (units > arbiter.pool)
		return -ENOMEM;
	arbiter.pool -= units;
	sluice_escrow_grant(arbiter.word, units);
	return 0;
}

int link_mem_request(uint32_t device_index, uint32_t units, uint64_t deadline_ns)
{
	errno = ECONNRESET;
	return request(device_index, units);
}

int link_mem_query(uint32_t device_index, uint64_t *ret_max_bytes, uint64_t *ret_used_bytes)
{
	return -ENOTCONN;
}

static _Atomic uint64_t word;

static struct shim_device *set_up(uint32_t pool)
{
	atomic_store(&word, 0);
	memset(&arbiter, 0, sizeof(arbiter));
	arbiter.pool = pool;
	arbiter.word = &word;
	request = request_here;
	shim.mem_deadline_ns = SLUICE_NS_PER_S;
	return fake_device(0, &word);
}

START_TEST(credit_is_asked_for_only_when_it_is_short)
{
	struct shim_device *device = set_up(100);

	errno = 42;
	ck_assert_int_eq(escrow_reserve(device, 60), 0);
	ck_assert_uint_eq(arbiter.asked, 1);
	ck_assert_uint_eq(word, 60ull << 32);
	escrow_release(device, 60);
	ck_assert_uint_eq(word, 60ull << 32 | 60);
	ck_assert_int_eq(escrow_reserve(device, 60), 0);
	ck_assert_uint_eq(arbiter.asked, 1);
	ck_assert_int_eq(errno, 42);
}
END_TEST

START_TEST(a_refusal_changes_nothing)
{
	struct shim_device *device = set_up(100);

	errno = 42;
	ck_assert_int_eq(escrow_reserve(device, 101), -ENOMEM);
	ck_assert_uint_eq(word, 0);
	ck_assert_uint_eq(arbiter.pool, 100);
	/* More than the word can say is not even asked for. */
	ck_assert_int_eq(escrow_reserve(device, sluice_escrow_units(UINT64_MAX)), -ENOMEM);
	ck_assert_uint_eq(arbiter.asked, 1);
	ck_assert_int_eq(errno, 42);
}
END_TEST

START_TEST(reclaiming_and_absence_are_waited_for)
{
	struct shim_device *device = set_up(100);

	arbiter.reclaiming = 1;
	arbiter.away = 1;
	ck_assert_int_eq(escrow_reserve(device, 100), 0);
	ck_assert_uint_eq(arbiter.asked, 3);
	ck_assert_uint_eq(word, 100ull << 32);
}
END_TEST

START_TEST(absence_ends_at_the_deadline)
{
	struct shim_device *device = set_up(100);

	arbiter.away = INT_MAX;
	/* It asks anew until then. A busy machine may sleep through a short deadline at once. */
	for (uint64_t wait_ns = 30 * SLUICE_NS_PER_MS; arbiter.asked < 2; wait_ns *= 2) {
		uint64_t start_ns = sluice_now_ns();

		ck_assert_uint_lt(wait_ns, 10 * SLUICE_NS_PER_S);
		arbiter.asked = 0;
		shim.mem_deadline_ns = wait_ns;
		ck_assert_int_eq(escrow_reserve(device, 1), -ENOMEM);
		ck_assert_uint_ge(sluice_now_ns() - start_ns, wait_ns);
	}
	/* What had been granted is still there to be used. */
	sluice_escrow_grant(&word, 10);
	ck_assert_int_eq(escrow_reserve(device, 10), 0);
}
END_TEST

static void *free_soon(void *device)
{
	while (!atomic_load(&((struct shim_device *)device)->waiters))
		sched_yield();
	escrow_release(device, 8);
	return NULL;
}

START_TEST(a_free_wakes_who_waits_for_credit)
{
	struct shim_device *device = set_up(0);
	pthread_t thread;

	sluice_escrow_grant(&word, 8);
	ck_assert_int_eq(escrow_reserve(device, 8), 0);
	arbiter.away = INT_MAX;
	shim.mem_deadline_ns = 60 * SLUICE_NS_PER_S;
	ck_assert_int_eq(pthread_create(&thread, NULL, free_soon, device), 0);
	ck_assert_int_eq(escrow_reserve(device, 8), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(word, 8ull << 32);
	ck_assert_uint_eq(device->waiters, 0);
}
END_TEST

/* ---- a change of pages -------------------------------------------------------------------------- */

START_TEST(a_new_page_takes_the_use_over)
{
	struct shim_device *device = set_up(100);
	_Atomic uint64_t fresh = 0;

	sluice_escrow_grant(&word, 50);
	ck_assert_int_eq(escrow_reserve(device, 30), 0);
	ck_assert_uint_eq(escrow_leave(device), 30);
	ck_assert_uint_eq(word, 0);
	fresh = 30ull << 32;
	escrow_rehome(device, &fresh);
	ck_assert_uint_eq(fresh, 30ull << 32);
	ck_assert_uint_eq(device->debt_units, 0);
	escrow_release(device, 30);
	ck_assert_uint_eq(fresh, 30ull << 32 | 30);
	ck_assert_uint_eq(word, 0);
	ck_assert_uint_eq(arbiter.asked, 0);
}
END_TEST

/* Between what the arbiter is told and the move: nothing to be had, and frees are not lost. */
START_TEST(frees_on_the_way_to_a_new_page_are_given_back)
{
	struct shim_device *device = set_up(0);
	_Atomic uint64_t fresh = 0;

	sluice_escrow_grant(&word, 50);
	ck_assert_int_eq(escrow_reserve(device, 30), 0);
	ck_assert_uint_eq(escrow_leave(device), 30);
	ck_assert_int_eq(escrow_reserve(device, 1), -ENOMEM);
	escrow_release(device, 12);
	/* The arbiter did not answer: the next one is told less. */
	ck_assert_uint_eq(escrow_leave(device), 18);
	escrow_release(device, 5);
	/* It charges what it was told, and grants 7 more. */
	fresh = 25ull << 32 | 7;
	escrow_rehome(device, &fresh);
	ck_assert_uint_eq(fresh, 25ull << 32 | 12);
	ck_assert_uint_eq(device->debt_units, 0);
	escrow_release(device, 13);
	ck_assert_uint_eq(fresh, 25ull << 32 | 25);
}
END_TEST

START_TEST(what_is_not_charged_again_is_a_debt_that_frees_pay)
{
	struct shim_device *device = set_up(20);
	_Atomic uint64_t fresh = 0;

	sluice_escrow_grant(&word, 50);
	ck_assert_int_eq(escrow_reserve(device, 30), 0);
	ck_assert_uint_eq(escrow_leave(device), 30);
	arbiter.word = &fresh;
	escrow_rehome(device, &fresh);
	ck_assert_uint_eq(device->debt_units, 30);
	ck_assert_uint_eq(fresh, 0);
	escrow_release(device, 10);
	ck_assert_uint_eq(device->debt_units, 20);
	ck_assert_uint_eq(fresh, 0);
	/* 15 new units on top of the 20 that are owed; then everything goes back. */
	ck_assert_int_eq(escrow_reserve(device, 15), 0);
	escrow_release(device, 20);
	escrow_release(device, 15);
	ck_assert_uint_eq(device->debt_units, 0);
	ck_assert_uint_eq(fresh, 15ull << 32 | 15);
}
END_TEST

#define ROUNDS 20000
#define PAGES 64

static void *churn(void *argument)
{
	struct shim_device *device = argument;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		if (escrow_reserve(device, 1 + i % 7))
			return (void *)1;
		escrow_release(device, 1 + i % 7);
	}
	return NULL;
}

static pthread_mutex_t arbiter_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_device *rehomed;

/* Grants into the page that is the account's now. */
static int request_locked(uint32_t device_index, uint32_t units)
{
	pthread_mutex_lock(&arbiter_lock);
	sluice_escrow_grant(atomic_load(&rehomed->escrow), units);
	pthread_mutex_unlock(&arbiter_lock);
	return 0;
}

START_TEST(pages_change_under_running_threads)
{
	static _Atomic uint64_t pages[PAGES];
	struct shim_device *device = set_up(0);
	pthread_t thread[2];
	void *failed;
	uint64_t last;

	rehomed = device;
	request = request_locked;
	shim.mem_deadline_ns = 60 * SLUICE_NS_PER_S;
	for (unsigned int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, churn, device), 0);
	for (unsigned int i = 0; i < PAGES; i++) {
		/* An arbiter grants nothing into pages of one that is gone. */
		pthread_mutex_lock(&arbiter_lock);
		atomic_store(&pages[i], (uint64_t)escrow_leave(device) << 32);
		sched_yield();
		escrow_rehome(device, &pages[i]);
		pthread_mutex_unlock(&arbiter_lock);
		sched_yield();
	}
	for (unsigned int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_join(thread[i], &failed), 0);
		ck_assert_ptr_null(failed);
	}
	/* Everything was freed: nothing owed, no use, no stray credit in a page that was left. */
	last = pages[PAGES - 1];
	ck_assert_uint_eq(device->debt_units, 0);
	ck_assert_uint_eq(sluice_escrow_credit(last), sluice_escrow_granted(last));
	for (unsigned int i = 0; i + 1 < PAGES; i++)
		ck_assert_uint_eq(sluice_escrow_credit(pages[i]), sluice_escrow_granted(pages[i]));
}
END_TEST

/* ---- kill -9 -------------------------------------------------------------------------------------- */

#define TENANTS 6
#define LIMIT 4096u
#define KILLS 250

/* What the processes and the arbiter share. `held` is what the driver would know: changed by the
 * process next to its word, never by one atomic with it. */
struct shared {
	struct sluice_escrow_device page[TENANTS];
	_Atomic uint32_t wanted[TENANTS]; /* units asked for; 0: nothing */
	_Atomic uint32_t answered[TENANTS];
	_Atomic int answer[TENANTS];
	_Atomic uint32_t held[TENANTS];
	_Atomic uint64_t operations;
};

static struct shared *shared;
static unsigned int self;

static int request_shared(uint32_t device_index, uint32_t units)
{
	uint32_t before = atomic_load(&shared->answered[self]);

	atomic_store(&shared->wanted[self], units);
	while (atomic_load(&shared->answered[self]) == before)
		(void)futex_wait(&shared->answered[self], before, 0);
	return atomic_load(&shared->answer[self]);
}

static void tenant_run(unsigned int number)
{
	struct shim_device *device = fake_device(0, &shared->page[number].word);
	uint32_t mine[8] = {0};
	uint64_t seed = (uint64_t)getpid() << 32 | sluice_now_ns() >> 10 | 1;

	self = number;
	request = request_shared;
	shim.mem_deadline_ns = 60 * SLUICE_NS_PER_S;
	for (;;) {
		uint32_t *slot, units;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		slot = &mine[seed % 8];
		units = 1 + (uint32_t)(seed >> 20) % 512;
		atomic_fetch_add(&shared->operations, 1);
		if (*slot) {
			atomic_fetch_sub(&shared->held[number], *slot);
			escrow_release(device, *slot);
			*slot = 0;
		} else if (!escrow_reserve(device, units)) {
			*slot = units;
			atomic_fetch_add(&shared->held[number], units);
		}
	}
}

static uint32_t pool_now(void)
{
	uint32_t granted = 0;

	for (unsigned int i = 0; i < TENANTS; i++)
		granted += sluice_escrow_granted(atomic_load(&shared->page[i].word));
	ck_assert_uint_le(granted, LIMIT);
	return LIMIT - granted;
}

/* The free pool first, then the siblings' unused credit, else out of memory. */
static int arbiter_grant(unsigned int number, uint32_t units)
{
	uint32_t pool = pool_now();

	for (unsigned int i = 0; i < TENANTS && pool < units; i++)
		pool += sluice_escrow_take_back(&shared->page[i].word, units - pool);
	if (pool < units)
		return -ENOMEM;
	sluice_escrow_grant(&shared->page[number].word, units);
	return 0;
}

static void arbiter_step(void)
{
	for (unsigned int i = 0; i < TENANTS; i++) {
		uint32_t units = atomic_exchange(&shared->wanted[i], 0);

		if (!units)
			continue;
		atomic_store(&shared->answer[i], arbiter_grant(i, units));
		atomic_fetch_add(&shared->answered[i], 1);
		futex_wake(&shared->answered[i], 1);
	}
}

static pid_t tenant_start(unsigned int number)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid)
		tenant_run(number);
	return pid;
}

/* What the driver holds is never more than what the word says is used: reserved before, released
 * after. */
static void tenant_bury(unsigned int number, pid_t pid)
{
	uint64_t left;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	left = atomic_load(&shared->page[number].word);
	ck_assert_uint_le(sluice_escrow_credit(left), sluice_escrow_granted(left));
	ck_assert_uint_le(atomic_load(&shared->held[number]),
			  sluice_escrow_granted(left) - sluice_escrow_credit(left));
	atomic_store(&shared->page[number].word, 0);
	atomic_store(&shared->held[number], 0);
	atomic_store(&shared->wanted[number], 0);
}

START_TEST(kills_lose_nothing_and_count_nothing_twice)
{
	pid_t pid[TENANTS];
	uint64_t seed = 88172645463325252ull;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	for (unsigned int i = 0; i < TENANTS; i++)
		pid[i] = tenant_start(i);
	for (unsigned int kills = 0; kills < KILLS; kills++) {
		unsigned int victim;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		victim = (unsigned int)(seed >> 33) % TENANTS;
		for (unsigned int steps = seed % 400; steps; steps--) {
			arbiter_step();
			sched_yield();
		}
		tenant_bury(victim, pid[victim]);
		(void)pool_now();
		pid[victim] = tenant_start(victim);
	}
	for (unsigned int i = 0; i < TENANTS; i++)
		tenant_bury(i, pid[i]);
	ck_assert_uint_eq(pool_now(), LIMIT);
	ck_assert_uint_ge(atomic_load(&shared->operations), KILLS);
	munmap(shared, sizeof(*shared));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_escrow");
	TCase *tcase = tcase_create("escrow");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, credit_is_asked_for_only_when_it_is_short);
	tcase_add_test(tcase, a_refusal_changes_nothing);
	tcase_add_test(tcase, reclaiming_and_absence_are_waited_for);
	tcase_add_test(tcase, absence_ends_at_the_deadline);
	tcase_add_test(tcase, a_free_wakes_who_waits_for_credit);
	tcase_add_test(tcase, a_new_page_takes_the_use_over);
	tcase_add_test(tcase, frees_on_the_way_to_a_new_page_are_given_back);
	tcase_add_test(tcase, what_is_not_charged_again_is_a_debt_that_frees_pay);
	tcase_add_test(tcase, pages_change_under_running_threads);
	tcase_add_test(tcase, kills_lose_nothing_and_count_nothing_twice);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
