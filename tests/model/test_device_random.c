/* SPDX-License-Identifier: Apache-2.0 */
/* Random work in virtual time: nothing is lost, run twice, out of order or beside what it must
 * not; and, as information, how fast the model is. */

#include <time.h>

#include "device_random.h"

static struct book book;
static uint64_t worked; /* integral of running blocks over time, of kernels of known cost */

static uint64_t running_blocks(const struct model *model)
{
	uint64_t blocks = 0;

	for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++) {
		const struct runq *runq = &model->runq[p];
		bool real = model->desc.mps ? p == 0 : model->proc[p].used;

		if (!real || runq->paused_ns != MODEL_NEVER)
			continue;
		for (uint32_t s = runq->running; s != MODEL_NONE; s = model->stream[s].link) {
			const struct op *op = &model->op[model->stream[s].head];

			for (uint32_t g = op->group_head; g != MODEL_NONE; g = model->group[g].next)
				if (book.op[op->cookie].block_time)
					blocks += model->group[g].blocks;
		}
	}
	return blocks;
}

/* Event by event, so that what runs between two of them is known. */
static void play(struct book *b, uint64_t to_ns)
{
	struct model *model = b->model;
	uint64_t busy[MODEL_MAX_PROCS];

	while (model->now_ns < to_ns) {
		uint64_t from = model->now_ns, next = slice_event_ns(model), blocks;
		int ran = 0;

		for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++) {
			if (model->proc[p].used && timer_first(model, p) < next)
				next = timer_first(model, p);
			busy[p] = model->proc[p].copies_running ? 0 : model_proc_busy_ns(model, p);
		}
		next = next < to_ns ? next : to_ns;
		blocks = running_blocks(model);
		model_advance(model, next);
		worked += blocks * (next - from);
		device_check(model);
		for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++)
			ran += busy[p] && model_proc_busy_ns(model, p) > busy[p] &&
			       !model->proc[p].copies_running;
		if (!model->desc.mps && next > from)
			MUST_LE(ran, 1);
	}
	model_advance(model, to_ns);
	device_check(model);
}

/* Before what may fail, and through Check's fork. */
static void say_seed(uint64_t seed)
{
	printf("seed %lu\n", seed);
	fflush(stdout);
}

static struct model_desc random_desc(uint64_t seed)
{
	struct model_desc desc = device_desc(1 + seed % 7, seed & 1);

	desc.copy_engines = 1 + seed % 5;
	desc.slice_ns = 500 + 100 * (seed % 9);
	desc.switch_ns = seed % 3 * 40;
	desc.idle_hold_ns = seed % 4 * 20;
	desc.launch_latency_ns = seed % 2 * 30;
	desc.kernel_gap_ns = seed % 5 * 5;
	desc.context_bytes = 1 << 20;
	return desc;
}

static void one_run(uint64_t seed, int steps)
{
	struct model_desc desc = random_desc(seed);
	struct model *model;

	if (seed % 4 < 2)
		device_share(&desc);
	model = device_create(&desc);
	say_seed(seed);
	book_open(&book, model, seed * 7919);
	for (uint32_t p = 0; p < 4; p++)
		book_attach(&book, p);
	for (int i = 0; i < steps; i++) {
		book_step(&book, play);
		device_check(model);
	}
	book_drain(&book, play);
	book_check_memory(&book);
	for (uint32_t p = 0; p < 8; p++)
		book_detach(&book, p);
	device_check(model);
	ck_assert_uint_eq(model->mem_used, 0);
	ck_assert_uint_eq(model->executing, 0);
	free(model);
}

static bool any_dropped(void)
{
	for (uint32_t i = 0; i < book.ops; i++)
		if (book.op[i].dropped)
			return true;
	return false;
}

START_TEST(nothing_is_lost)
{
	for (uint64_t seed = 1; seed <= 15 * EFFORT; seed++)
		one_run(seed, 3000);
}
END_TEST

START_TEST(work_done_is_work_submitted)
{
	int counted = 0;

	for (uint64_t seed = 100; seed < 120; seed++) {
		struct model_desc desc = random_desc(seed);
		struct model *model = device_create(&desc);
		uint64_t expected = 0;

		say_seed(seed);
		book_open(&book, model, seed);
		worked = 0;
		for (uint32_t p = 0; p < 4; p++)
			book_attach(&book, p);
		for (int i = 0; i < 400; i++)
			book_step(&book, play);
		book_drain(&book, play);
		if (!any_dropped()) {
			for (uint32_t i = 0; i < book.ops; i++)
				expected += book.op[i].block_time;
			ck_assert_uint_gt(expected, 0);
			ck_assert_uint_eq(worked, expected);
			counted++;
		}
		free(model);
	}
	ck_assert_int_ge(counted, 5);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_times)
{
	uint64_t sum[2];

	for (int i = 0; i < 2; i++) {
		struct model_desc desc = random_desc(7);
		struct model *model;

		device_share(&desc);
		model = device_create(&desc);
		book_open(&book, model, 42);
		worked = 0;
		for (uint32_t p = 0; p < 4; p++)
			book_attach(&book, p);
		for (int n = 0; n < 2000; n++)
			book_step(&book, play);
		sum[i] = model->now_ns * 31 + worked * 7 + model->counters.busy_ns +
			 model->counters.late_ops * 13 + model->counters.switches;
		free(model);
	}
	ck_assert_uint_eq(sum[0], sum[1]);
}
END_TEST

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Two processes, four streams, kernels of three waves: submission, events, collection. Printed,
 * since a machine may be busy; what is asserted is that all of it was played. */
static void speed(bool mps)
{
	struct model_desc desc = device_desc(132, mps);
	struct model *model = device_create(&desc);
	uint32_t proc[2], stream[4];
	uint64_t op, start, submit_ns = 0, events = 0, ops = 0;
	struct model_counters counters;
	struct model_done done[64];

	for (int i = 0; i < 2; i++)
		proc[i] = device_proc(model);
	for (int i = 0; i < 4; i++)
		stream[i] = device_stream(model, proc[i / 2], -i);
	start = clock_ns();
	for (int round = 0; round < 1000; round++) {
		struct model_op_desc kernel = kernel_of(3 * 132, 5 * US + (uint64_t)round % 7);
		uint64_t before = clock_ns();

		for (int i = 0; i < 64; i++, ops++)
			MUST_EQ(model_submit(model, model->now_ns, stream[i % 4], &kernel, &op), 0);
		submit_ns += clock_ns() - before;
		for (;;) {
			uint64_t next = model_next_ns(model, UINT32_MAX);

			if (next == MODEL_NEVER)
				break;
			model_advance(model, next);
			events++;
			for (int i = 0; i < 2; i++)
				(void)model_collect(model, proc[i], 64, done);
		}
	}
	start = clock_ns() - start;
	model_get_counters(model, &counters);
	ck_assert_uint_eq(counters.kernels, ops);
	printf("%s: %lu events in %lu us: %.2f million events/s; submit %lu ns\n",
	       mps ? "mps" : "slices", events, start / 1000,
	       (double)events * 1000.0 / (double)(start - submit_ns), submit_ns / ops);
	free(model);
}

START_TEST(speed_for_information)
{
	speed(true);
	speed(false);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, nothing_is_lost);
	tcase_add_test(tcase, work_done_is_work_submitted);
	tcase_add_test(tcase, the_same_seed_gives_the_same_times);
	tcase_add_test(tcase, speed_for_information);
}

int main(void)
{
	return device_main("device random", add);
}
