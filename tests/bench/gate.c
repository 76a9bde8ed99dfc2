/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate HOLDERS ROUNDS predicted|unpredicted: one latency-critical process and HOLDERS best-effort
 * ones that launch without end. In each round the first begins a request and ends it; measured are
 *
 *   opening   its end (the driver shows the drain) to the first held launch that reaches the
 *             driver, and the CPU time that the holder spent in that call
 *   raise     its beginning (stamped before its first launch) to the last best-effort launch that
 *             reaches the driver without having been held, over all holders; and how many launches
 *             of one thread did so after the first launch had returned
 *   wake      in every second round, unless predicted for one holder: the same processes at the same
 *   store     times without the gate. A word of this program is what holds them: they look at it
 *             before each launch, sleep on it and are woken. What that takes is the machine's part
 *             of `opening` and `raise`; other processes, asleep elsewhere, would be woken otherwise
 *
 * Rounds in which a process was descheduled inside a launch are left out of `raise`: what it does
 * then is bounded by one launch, not by time. Predicted: requests of one length, give or take 20 us;
 * unpredicted: each begins with a kernel never seen before.
 */
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/futex.h>
#include <unistd.h>

#include "bench.h"

/* Of the null driver; nulldriver.h says what they are. */
extern _Thread_local uint64_t nulldriver_busy_until_ns, nulldriver_drained_ns;

#define MAX_ROUNDS 4000
#define LEAST_ROUNDS 30 /* that held a launch: on a busy machine the holder is often not there */
#define RING 16
#define LENGTH_NS 1000000u
#define JITTER_NS 20000u
#define IDLE_NS 2000000u
#define HELD_NS 100000u	     /* a launch that took so long was held */
#define DESCHEDULED_NS 5000u /* one that was not, and took so long, was interrupted */

struct round {
	_Atomic uint64_t raise_before_ns, raise_after_ns, open_ns;
	_Atomic uint64_t last_launch_ns; /* of the holders that were there */
	_Atomic uint64_t first_held_ns;	 /* the first held launch at the driver; 0: none */
	_Atomic uint64_t held_cpu_ns;
	_Atomic uint32_t launches; /* most of one thread after the raise */
	_Atomic uint32_t descheduled;
};

static struct board {
	_Atomic uint32_t round; /* the present one, from 1; 0: before */
	_Atomic uint32_t stop;
	bool bare_too;	       /* every second round is a bare one */
	_Atomic uint32_t bare; /* the bare round that holds launches now; 0: none does */
	struct round rounds[MAX_ROUNDS + 1];
} * board;

static void raise_to(_Atomic uint64_t *value, uint64_t to)
{
	uint64_t now = atomic_load(value);

	while (now < to && !atomic_compare_exchange_weak(value, &now, to))
		continue;
}

static void spin_until(uint64_t end_ns)
{
	while (sluice_now_ns() < end_ns)
		continue;
}

/* ---- the best-effort side -------------------------------------------------------------------------- */

struct launch {
	uint64_t before_ns, driver_ns, after_ns;
};

static CUstream start(const char *tenant)
{
	CUstream stream;

	setenv("SLUICE_TENANT", tenant, 1);
	bench_start();
	bench_check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	return stream;
}

/* The holder's launches before the one that was held, newest first. */
static void note_raise(struct round *round, const struct launch *ring, uint32_t count)
{
	uint64_t after_ns = atomic_load(&round->raise_after_ns);
	uint32_t launches = 0;

	for (uint32_t i = 0; i < RING && i < count; i++) {
		const struct launch *launch = &ring[(count - 1 - i) % RING];

		if (launch->driver_ns > after_ns)
			launches++;
		if (launch->after_ns > atomic_load(&round->raise_before_ns) &&
		    launch->after_ns - launch->before_ns > DESCHEDULED_NS)
			atomic_store(&round->descheduled, 1);
	}
	if (count)
		raise_to(&round->last_launch_ns, ring[(count - 1) % RING].driver_ns);
	if (launches > atomic_load(&round->launches))
		atomic_store(&round->launches, launches);
}

static void note_opening(struct round *round, uint64_t driver_ns, uint64_t cpu_ns)
{
	uint64_t nobody = 0;

	if (atomic_compare_exchange_strong(&round->first_held_ns, &nobody, driver_ns))
		atomic_store(&round->held_cpu_ns, cpu_ns);
}

/* A bare round, number `bare`: held by a word, and woken. */
static void be_held(uint32_t bare, const struct launch *ring, uint32_t count)
{
	struct round *round = &board->rounds[bare];
	bool slept = false;

	while (atomic_load(&board->bare) == bare)
		slept |= !syscall(SYS_futex, &board->bare, FUTEX_WAIT, bare, NULL, NULL, 0);
	if (slept)
		note_opening(round, sluice_now_ns(), 0);
	note_raise(round, ring, count);
}

/* The round that held a launch: on a busy machine others have passed since. */
static struct round *round_of(const struct launch *launch, uint32_t number)
{
	while (number > 1 && launch->before_ns < atomic_load(&board->rounds[number - 1].open_ns))
		number--;
	return &board->rounds[number];
}

static void hold(bool alone)
{
	CUstream stream = start("be");
	struct launch ring[RING];
	uint32_t count = 0;

	while (!atomic_load(&board->stop)) {
		uint64_t cpu_ns = alone ? bench_clock(CLOCK_THREAD_CPUTIME_ID) : 0;
		struct launch launch = {.before_ns = sluice_now_ns()};
		uint32_t number, bare = atomic_load(&board->bare);

		if (bare) {
			be_held(bare, ring, count);
			count = 0;
			continue;
		}
		cuLaunchKernel(BENCH_FUNCTION(1), 1, 1, 1, 32, 1, 1, 0, stream, NULL,
			       (void **)(void *)&launch.driver_ns);
		launch.after_ns = sluice_now_ns();
		number = atomic_load(&board->round);
		if (number && launch.after_ns - launch.before_ns > HELD_NS) {
			struct round *round = round_of(&launch, number);
			uint64_t end_ns = launch.after_ns + IDLE_NS / 2;

			cpu_ns = alone ? bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_ns : 0;
			/* The other side writes it down after it has opened. */
			while (!atomic_load(&round->open_ns) && sluice_now_ns() < end_ns)
				continue;
			if (launch.before_ns < atomic_load(&round->open_ns) &&
			    launch.driver_ns > atomic_load(&round->open_ns)) {
				note_opening(round, launch.driver_ns, cpu_ns);
				note_raise(round, ring, count);
			}
			count = 0;
			continue;
		}
		ring[count++ % RING] = launch;
	}
	exit(EXIT_SUCCESS);
}

/* ---- the latency-critical side ------------------------------------------------------------------- */

/* Once it holds the others: what the board costs is no part of it. */
static void note_request(unsigned int number, uint64_t before_ns, uint64_t after_ns)
{
	struct round *round = &board->rounds[number];

	atomic_store(&round->raise_before_ns, before_ns);
	atomic_store(&round->raise_after_ns, after_ns);
	atomic_store(&board->round, number);
}

static void request(CUstream stream, unsigned int number, unsigned int function, uint64_t length_ns)
{
	struct round *round = &board->rounds[number];
	uint64_t begin_ns = sluice_now_ns();

	cuLaunchKernel(BENCH_FUNCTION(function), 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	note_request(number, begin_ns, sluice_now_ns());
	nulldriver_busy_until_ns = begin_ns + length_ns;
	cuStreamSynchronize(stream);
	atomic_store(&round->open_ns, nulldriver_drained_ns);
}

static void bare(unsigned int number, uint64_t length_ns)
{
	struct round *round = &board->rounds[number];
	uint64_t begin_ns = sluice_now_ns();

	atomic_exchange(&board->bare, number);
	note_request(number, begin_ns, sluice_now_ns());
	spin_until(begin_ns + length_ns);
	atomic_store(&round->open_ns, sluice_now_ns());
	atomic_store(&board->bare, 0);
	syscall(SYS_futex, &board->bare, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool is_bare(unsigned int number)
{
	return board->bare_too && number % 2;
}

static void serve(unsigned int rounds, bool predicted)
{
	CUstream stream = start("lc");
	uint64_t random = 88172645463325252ull;

	for (unsigned int i = 1; i <= rounds; i++) {
		uint64_t length_ns =
			LENGTH_NS - JITTER_NS + bench_random(&random) % (2 * JITTER_NS);

		if (is_bare(i))
			bare(i, length_ns);
		else
			request(stream, i, predicted ? 2 : 1000 + i, length_ns);
		usleep(IDLE_NS / 1000);
	}
	atomic_store(&board->stop, 1);
}

/* ---- the figures ----------------------------------------------------------------------------------- */

struct figures {
	double open_us[MAX_ROUNDS], cpu_us[MAX_ROUNDS], raise_us[MAX_ROUNDS];
	unsigned int opened, raised, interrupted, launches_most;
};

static bool is_interrupted(const struct round *round)
{
	return atomic_load(&round->descheduled) ||
	       atomic_load(&round->raise_after_ns) - atomic_load(&round->raise_before_ns) >
		       DESCHEDULED_NS;
}

static void take(struct figures *figures, const struct round *round)
{
	uint64_t held_ns = atomic_load(&round->first_held_ns);
	uint64_t last_ns = atomic_load(&round->last_launch_ns);
	uint64_t from_ns = atomic_load(&round->raise_before_ns);

	if (!held_ns)
		return;
	figures->open_us[figures->opened] = (double)(held_ns - atomic_load(&round->open_ns)) / 1e3;
	figures->cpu_us[figures->opened++] = (double)atomic_load(&round->held_cpu_ns) / 1e3;
	if (atomic_load(&round->launches) > figures->launches_most)
		figures->launches_most = atomic_load(&round->launches);
	if (is_interrupted(round))
		figures->interrupted++;
	else
		figures->raise_us[figures->raised++] =
			last_ns > from_ns ? (double)(last_ns - from_ns) / 1e3 : 0;
}

static void report(unsigned int rounds)
{
	static struct figures gate, bare;

	for (unsigned int i = rounds / 10 + 4; i <= rounds; i++)
		take(is_bare(i) ? &bare : &gate, &board->rounds[i]);
	if (gate.opened < LEAST_ROUNDS || (board->bare_too && bare.opened < LEAST_ROUNDS)) {
		fprintf(stderr, "gate: of %u rounds only %u held a launch, and %u bare ones\n",
			rounds, gate.opened, bare.opened);
		exit(EXIT_FAILURE);
	}
	printf("open_p50 %.3f\nopen_p99 %.3f\nopen_cpu %.3f\nraise_p50 %.3f\nraise_p99 %.3f\n",
	       bench_quantile(gate.open_us, gate.opened, 0.5),
	       bench_quantile(gate.open_us, gate.opened, 0.99),
	       bench_quantile(gate.cpu_us, gate.opened, 0.5),
	       bench_quantile(gate.raise_us, gate.raised, 0.5),
	       bench_quantile(gate.raise_us, gate.raised, 0.99));
	printf("raise_launches %u\nrounds %u\ninterrupted %u\n", gate.launches_most, gate.opened,
	       gate.interrupted);
	if (board->bare_too)
		printf("wake_p50 %.3f\nstore_p50 %.3f\nstore_p99 %.3f\nbare_rounds %u\n",
		       bench_quantile(bare.open_us, bare.opened, 0.5),
		       bench_quantile(bare.raise_us, bare.raised, 0.5),
		       bench_quantile(bare.raise_us, bare.raised, 0.99), bare.opened);
}

int main(int argc, char **argv)
{
	unsigned int holders = argc > 3 ? bench_number(argv[1]) : 0;
	unsigned int rounds = argc > 3 ? bench_number(argv[2]) : 0;
	bool predicted = argc > 3 && !strcmp(argv[3], "predicted");

	if (!holders || !rounds || rounds > MAX_ROUNDS)
		return 2;
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (board == MAP_FAILED)
		return EXIT_FAILURE;
	board->bare_too = !predicted || holders > 1;
	for (unsigned int i = 0; i < holders; i++) {
		if (!fork())
			hold(holders == 1);
	}
	if (!fork()) {
		serve(rounds, predicted);
		return EXIT_SUCCESS;
	}
	while (wait(NULL) > 0)
		continue;
	report(rounds);
	return EXIT_SUCCESS;
}
