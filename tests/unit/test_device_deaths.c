/* SPDX-License-Identifier: Apache-2.0 */
/* The shared segment among real processes: kills with the lock held, and who is woken by what. */

#include "device_process.h"

static void child_hammers(int tell)
{
	struct model_desc desc = test_desc(true);
	struct model_op_desc op_desc = {.functional = 0, .blocks = 9, .blocks_per_sm = 1};
	struct segment *segment;
	struct model_done done[8];
	uint32_t proc, stream[3];
	uint64_t op;

	if (segment_open(name, 0, &desc, &segment, &other, error) || segment_join(segment, &proc))
		_exit(1);
	segment_lock(segment);
	for (int i = 0; i < 3; i++)
		if (model_stream_create(segment_model(segment), proc, -i, &stream[i]))
			_exit(2);
	segment_unlock(segment);
	say(tell);
	for (uint32_t i = 0;; i++) {
		op_desc.kind = 1 + i % 5;
		op_desc.block_ns = op_desc.duration_ns = 20 + i % 300;
		segment_lock(segment);
		(void)model_submit(segment_model(segment), sluice_now_ns(), stream[i % 3], &op_desc,
				   &op);
		(void)model_mem_take(segment_model(segment), proc, i % 100);
		(void)model_collect(segment_model(segment), proc, 8, done);
		segment_unlock(segment);
	}
}

/* Dies with the lock held and sums, masks and lists in the middle of a change. */
static void child_leaves_a_mess(int tell)
{
	struct model_desc desc = test_desc(true);
	struct segment *segment;
	struct model *model;

	if (segment_open(name, 0, &desc, &segment, &other, error))
		_exit(1);
	segment_lock(segment);
	model = segment_model(segment);
	model->mem_used += 12345;
	model->procs_timed = model->procs_used = 0;
	model->stream[0].head = MODEL_NONE;
	model->op_free = 0;
	say(tell);
}

START_TEST(the_next_holder_repairs)
{
	struct model_desc desc = test_desc(true);
	struct model_op_desc kernel = {
		.kind = MODEL_KERNEL, .blocks = 3, .blocks_per_sm = 1, .block_ns = 500};
	struct segment *segment;
	struct model_done done;
	uint32_t proc, stream;
	uint64_t op;

	new_instance();
	segment = open_with(&desc);
	ck_assert_int_eq(segment_join(segment, &proc), 0);
	segment_lock(segment);
	ck_assert_int_eq(model_stream_create(segment_model(segment), proc, 0, &stream), 0);
	kernel.functional = 1;
	ck_assert_int_eq(model_submit(segment_model(segment), 1, stream, &kernel, &op), 0);
	segment_unlock(segment);
	end_child(start_child(child_leaves_a_mess));
	segment_lock(segment);
	ck_assert_uint_eq(model_mem_used(segment_model(segment), UINT32_MAX), 1 << 20);
	model_functional_done(segment_model(segment), sluice_now_ns(), op, 0);
	ck_assert_uint_eq(model_collect(segment_model(segment), proc, 1, &done), 1);
	ck_assert_uint_eq(done.op, op);
	segment_unlock(segment);
	segment_close(segment);
}
END_TEST

START_TEST(kills_at_random_leave_the_others_whole)
{
	struct model_desc desc = test_desc(true);
	struct model_op_desc kernel = {
		.kind = MODEL_KERNEL, .blocks = 3, .blocks_per_sm = 1, .block_ns = 500};
	struct segment *segment;
	uint64_t submitted = 0, collected = 0, op;
	uint32_t proc, stream;
	struct model *model;

	new_instance();
	segment = open_with(&desc);
	model = segment_model(segment);
	ck_assert_int_eq(segment_join(segment, &proc), 0);
	segment_lock(segment);
	ck_assert_int_eq(model_stream_create(model, proc, 0, &stream), 0);
	segment_unlock(segment);
	for (int trial = 0; trial < 60; trial++) {
		pid_t pid = start_child(child_hammers);

		for (int i = 0; i < 20 + trial * 7 % 50; i++) {
			struct model_done done[16];

			segment_lock(segment);
			if (!model_submit(model, sluice_now_ns(), stream, &kernel, &op))
				submitted++;
			collected += model_collect(model, proc, 16, done);
			segment_unlock(segment);
		}
		end_child(pid);
		ck_assert_uint_eq(segment_reap(segment, sluice_now_ns(), true), 1);
		segment_lock(segment);
		ck_assert_uint_eq(model_mem_used(model, UINT32_MAX), 1 << 20);
		segment_unlock(segment);
	}
	segment_lock(segment);
	for (;;) {
		struct model_done done[16];
		uint64_t next;

		collected += model_collect(model, proc, 16, done);
		next = model_next_ns(model, UINT32_MAX);
		if (next == MODEL_NEVER)
			break;
		model_advance(model, next);
	}
	segment_unlock(segment);
	ck_assert_uint_eq(collected, submitted);
	segment_close(segment);
}
END_TEST

/* ---- waking ---- */

struct keeper {
	struct segment *segment;
	uint32_t proc;
	uint32_t seen;
	uint64_t deadline_ns;
};

/* Sleeps once; a lost wake-up is a test that never ends. */
static void *keep_time(void *arg)
{
	struct keeper *keeper = arg;

	segment_wait(keeper->segment, keeper->proc, keeper->seen, keeper->deadline_ns);
	return NULL;
}

static uint32_t word_of(const struct segment *segment, uint32_t proc)
{
	return atomic_load(&segment->shared->sleeper[proc].word);
}

START_TEST(a_submission_wakes_the_time_keeper)
{
	struct model_op_desc kernel = {
		.kind = MODEL_KERNEL, .blocks = 1, .blocks_per_sm = 1, .block_ns = 1000};
	struct keeper keeper = {0};
	struct segment *segment;
	pthread_t thread;
	uint32_t stream;
	uint64_t op;

	new_instance();
	segment = keeper.segment = open_default();
	ck_assert_int_eq(segment_join(segment, &keeper.proc), 0);
	segment_lock(segment);
	ck_assert_int_eq(model_stream_create(segment_model(segment), keeper.proc, 0, &stream), 0);
	keeper.seen = segment_prepare_wait(segment, keeper.proc, &keeper.deadline_ns);
	segment_unlock(segment);
	ck_assert_uint_eq(keeper.deadline_ns, MODEL_NEVER);
	ck_assert_uint_eq(word_of(segment, keeper.proc), keeper.seen);
	ck_assert_int_eq(pthread_create(&thread, NULL, keep_time, &keeper), 0);
	segment_lock(segment);
	ck_assert_int_eq(
		model_submit(segment_model(segment), sluice_now_ns(), stream, &kernel, &op), 0);
	segment_unlock(segment);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_ne(word_of(segment, keeper.proc), keeper.seen);
	/* What comes later than it sleeps for wakes nobody. */
	segment_lock(segment);
	keeper.seen = segment_prepare_wait(segment, keeper.proc, &keeper.deadline_ns);
	ck_assert_int_eq(model_submit(segment_model(segment), 0, stream, &kernel, &op), 0);
	segment_unlock(segment);
	ck_assert_uint_eq(word_of(segment, keeper.proc), keeper.seen);
	segment_notify(segment, keeper.proc);
	ck_assert_uint_ne(word_of(segment, keeper.proc), keeper.seen);
	segment_close(segment);
}
END_TEST

START_TEST(a_slice_that_comes_free_wakes_who_waits_for_it)
{
	struct model_op_desc kernel = {
		.kind = MODEL_KERNEL, .blocks = 1, .blocks_per_sm = 1, .block_ns = 1000};
	struct keeper keeper = {0};
	struct segment *segment;
	pthread_t thread;
	uint32_t stream;
	uint64_t op;
	pid_t pid;

	new_instance();
	segment = keeper.segment = open_default();
	pid = start_child(child_works); /* a kernel of 18 minutes, in slices of as many */
	ck_assert_int_eq(segment_join(segment, &keeper.proc), 0);
	segment_lock(segment);
	ck_assert_int_eq(model_stream_create(segment_model(segment), keeper.proc, 0, &stream), 0);
	ck_assert_int_eq(
		model_submit(segment_model(segment), sluice_now_ns(), stream, &kernel, &op), 0);
	keeper.seen = segment_prepare_wait(segment, keeper.proc, &keeper.deadline_ns);
	segment_unlock(segment);
	ck_assert_uint_gt(keeper.deadline_ns, sluice_now_ns() + 100 * SLUICE_NS_PER_S);
	ck_assert_int_eq(pthread_create(&thread, NULL, keep_time, &keeper), 0);
	end_child(pid);
	ck_assert_uint_eq(segment_reap(segment, sluice_now_ns(), true), 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_ne(word_of(segment, keeper.proc), keeper.seen);
	segment_close(segment);
}
END_TEST

START_TEST(a_deadline_ends_the_wait)
{
	struct segment *segment;
	uint64_t deadline_ns;
	uint32_t proc, seen;

	new_instance();
	segment = open_default();
	ck_assert_int_eq(segment_join(segment, &proc), 0);
	segment_lock(segment);
	seen = segment_prepare_wait(segment, proc, &deadline_ns);
	segment_unlock(segment);
	deadline_ns = sluice_now_ns() + SLUICE_NS_PER_MS;
	while (sluice_now_ns() < deadline_ns)
		segment_wait(segment, proc, seen, deadline_ns);
	segment_wait(segment, proc, seen, 1);		    /* long past */
	segment_wait(segment, proc, seen + 1, MODEL_NEVER); /* told meanwhile */
	ck_assert_uint_eq(word_of(segment, proc), seen);
	segment_close(segment);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device deaths");
	TCase *tcase = tcase_create("segment");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, the_next_holder_repairs);
	tcase_add_test(tcase, kills_at_random_leave_the_others_whole);
	tcase_add_test(tcase, a_submission_wakes_the_time_keeper);
	tcase_add_test(tcase, a_slice_that_comes_free_wakes_who_waits_for_it);
	tcase_add_test(tcase, a_deadline_ends_the_wait);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
