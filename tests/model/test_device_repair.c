/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock holder dies in the middle of a call. A signal that jumps out takes the place of the kill,
 * and leaves memory exactly as a kill does: the processor's single step after a call's Nth
 * instruction, for many N, and for long calls a timer at any time. Then the model is repaired, and
 * everybody else's work must come to its end.
 */

#include <setjmp.h>
#include <signal.h>
#include <time.h>

#include "device_random.h"

#define STEPS (1000 * EFFORT) /* instructions to step through for one call: each is a trap */
#define SHOTS (15 * EFFORT)   /* of the timer, for one call */
#define DYING 0		      /* the process that makes the call */

#if defined(__x86_64__)

static sigjmp_buf out;
static long steps, die_at;
static volatile sig_atomic_t armed;
static timer_t timer;

static void on_step(int number)
{
	if (++steps == die_at)
		siglongjmp(out, 1); /* the trap flag is off in a handler, and stays off */
}

static void on_timer(int number)
{
	if (armed)
		siglongjmp(out, 1);
}

static void timer_arm(long delay_ns)
{
	struct itimerspec when = {.it_value.tv_nsec = delay_ns};

	MUST_EQ(timer_settime(timer, 0, &when, NULL), 0);
}

__attribute__((noinline, target("general-regs-only"))) static void step_on(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
}

__attribute__((noinline, target("general-regs-only"))) static void step_off(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
}

static struct book book, book_before;
static struct model *model, *before;

enum call { ADVANCE, SUBMIT, RESULT, COLLECT, DETACH, ATTACH, DESTROY, CREATE, REPAIR, CALLS };

static const char *const call_name[] = {"advance", "submit",  "result", "collect", "detach",
					"attach",  "destroy", "create", "repair"};

/* The call that is cut short. Its choices come from `dice`, the same each time. */
static void make_call(enum call call, uint64_t dice)
{
	static struct model_done done[16];
	uint64_t now = model->now_ns, op;
	struct model_op_desc desc = kernel_of(5, 70);
	uint32_t index;

	switch (call) {
	case ADVANCE: model_advance(model, now + 400 + dice % 1000); break;
	case SUBMIT:
		for (int s = 0; s < BOOK_STREAMS; s++)
			if (book.stream[s] != MODEL_NONE && book.stream_proc[s] == DYING) {
				desc.kind = dice % 2 ? MODEL_KERNEL : MODEL_COPY_H2D;
				(void)model_submit(model, now, book.stream[s], &desc, &op);
				return;
			}
		break;
	case RESULT:
		for (uint32_t i = 0; i < book.ops; i++)
			if (book.op[i].pending && !book.op[i].dropped && book.op[i].proc == DYING)
				model_functional_done(model, now, book.op[i].id, dice % 200);
		break;
	case COLLECT: (void)model_collect(model, book.proc[DYING], 16, done); break;
	case DETACH: model_detach(model, now, book.proc[DYING]); break;
	case ATTACH: (void)model_attach(model, now, 99999, 1, &index); break;
	case DESTROY:
		for (int s = 0; s < BOOK_STREAMS; s++)
			if (book.stream[s] != MODEL_NONE && book.stream_proc[s] == DYING)
				model_stream_destroy(model, now, book.stream[s]);
		break;
	case CREATE: (void)model_stream_create(model, book.proc[DYING], 1, &index); break;
	default: model_repair(model, now + dice % 500); break;
	}
}

/* Only what is in use of the large arrays. */
static void copy_model(struct model *to, const struct model *from)
{
	uint32_t groups = from->group_top > to->group_top ? from->group_top : to->group_top;
	uint32_t ops = from->op_top > to->op_top ? from->op_top : to->op_top;

	memcpy(to, from, offsetof(struct model, group));
	memcpy(to->group, from->group, groups * sizeof(from->group[0]));
	memcpy(to->op, from->op, ops * sizeof(from->op[0]));
}

/* Each returns whether it died: false where the call was over before. */
static bool call_for_steps(enum call call, uint64_t dice, long instructions)
{
	steps = 0;
	die_at = instructions;
	if (sigsetjmp(out, 1))
		return true;
	step_on();
	make_call(call, dice);
	step_off();
	return false;
}

static bool call_for_ns(enum call call, uint64_t dice, long delay_ns)
{
	if (sigsetjmp(out, 1)) {
		armed = 0;
		return true;
	}
	timer_arm(delay_ns);
	armed = 1;
	make_call(call, dice);
	armed = 0;
	timer_arm(0);
	return false;
}

static void play(struct book *b, uint64_t to_ns)
{
	model_advance(b->model, to_ns);
}

/* The dead process is reaped; the others go on as if nothing had been. */
static void go_on(void)
{
	model_repair(model, model->now_ns + 10);
	device_check(model);
	if (model->proc[book.proc[DYING]].used)
		model_detach(model, model->now_ns, book.proc[DYING]);
	for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++)
		if (model->proc[p].used && model->proc[p].pid == 99999)
			model_detach(model, model->now_ns, p);
	book_forget(&book, DYING);
	device_check(model);
	book_check_memory(&book);
	book_drain(&book, play);
	device_check(model);
}

/* Dies in this call at many points; returns at how many. */
static int die_step_by_step(enum call call, uint64_t dice)
{
	long stride = 1, point = 1;
	int died = 0;

	for (long walked = 0; walked < STEPS; walked += point, point += stride) {
		copy_model(model, before);
		book = book_before;
		if (!call_for_steps(call, dice, point))
			break;
		died++;
		go_on();
		/* Every instruction of a short call, ever fewer of a long one. */
		stride = 1 + (long)(dice % 7) + point / 12;
	}
	return died;
}

static int die_at_any_time(enum call call, uint64_t dice)
{
	int died = 0;

	for (int i = 0; i < SHOTS; i++) {
		copy_model(model, before);
		book = book_before;
		if (!call_for_ns(call, dice, 1 + (long)(dice * 7919 * (uint64_t)i % 40000)))
			continue;
		died++;
		go_on();
	}
	return died;
}

static int die_all_along(enum call call, uint64_t dice)
{
	int died;

	copy_model(before, model);
	book_before = book;
	died = die_step_by_step(call, dice);
	if (call == ADVANCE || call == REPAIR || call == DETACH)
		died += die_at_any_time(call, dice);
	copy_model(model, before);
	book = book_before;
	return died;
}

static void scenario(uint64_t seed, enum call call)
{
	struct model_desc desc = device_desc(1 + seed % 5, seed & 1);
	int died = 0;

	printf("%s, seed %lu\n", call_name[call], seed);
	fflush(stdout);
	desc.slice_ns = 700;
	desc.switch_ns = seed % 3 * 40;
	desc.idle_hold_ns = 30;
	desc.launch_latency_ns = seed % 2 * 30;
	desc.context_bytes = 1 << 20;
	desc.copy_engines = 1 + seed % 4;
	if (seed & 1)
		device_share(&desc);
	model = device_create(&desc);
	before = device_create(&desc);
	book_open(&book, model, seed);
	for (uint32_t p = 0; p < 4; p++)
		book_attach(&book, p);
	for (int i = 0; i < 60; i++)
		book_stream(&book, (uint32_t)book_random(&book, BOOK_STREAMS));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 150; i++)
			book_step(&book, play);
		book_attach(&book, DYING);
		died += die_all_along(call, book_random(&book, 1 << 20));
	}
	ck_assert_int_gt(died, 20);
	free(model);
	free(before);
}

START_TEST(dies_in_any_call)
{
	struct sigaction step = {.sa_handler = on_step}, tick = {.sa_handler = on_timer};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};

	ck_assert_int_eq(sigaction(SIGTRAP, &step, NULL), 0);
	ck_assert_int_eq(sigaction(SIGALRM, &tick, NULL), 0);
	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	for (uint64_t seed = 1; seed <= 2; seed++)
		scenario(seed, (enum call)_i);
	ck_assert_int_eq(timer_delete(timer), 0);
}
END_TEST

#endif

START_TEST(repair_of_a_whole_model_changes_nothing)
{
	static struct book whole;
	struct model_desc desc = device_desc(3, _i & 1);
	struct model_counters counters[2];
	uint64_t end[2];

	desc.slice_ns = 700;
	desc.switch_ns = 40;
	if (_i & 2)
		device_share(&desc);
	for (int repaired = 0; repaired < 2; repaired++) {
		struct model *m = device_create(&desc);

		book_open(&whole, m, 5);
		for (uint32_t p = 0; p < 3; p++)
			book_attach(&whole, p);
		for (int i = 0; i < 3000; i++) {
			book_step(&whole, play);
			if (repaired && i % 10 == 0) {
				model_repair(m, m->now_ns);
				device_check(m);
			}
		}
		book_drain(&whole, play);
		end[repaired] = m->now_ns;
		model_get_counters(m, &counters[repaired]);
		free(m);
	}
	ck_assert_uint_eq(end[0], end[1]);
	ck_assert_mem_eq(&counters[0], &counters[1], sizeof(counters[0]));
}
END_TEST

static void add(TCase *tcase)
{
#if defined(__x86_64__)
	tcase_add_loop_test(tcase, dies_in_any_call, 0, CALLS);
#endif
	tcase_add_loop_test(tcase, repair_of_a_whole_model_changes_nothing, 0, 4);
}

int main(void)
{
	return device_main("device repair", add);
}
