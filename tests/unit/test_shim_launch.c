/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of a best-effort process: counted, held, let go. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "shim_rig.h"
#include "capture.h"
#include "gate_decide.h"

#define KERNEL 0x7000

START_TEST(a_launch_is_counted_at_its_cost)
{
	rig_teach(KERNEL, 30 * US);
	uint64_t launched_ns = rig_launched(), launches = rig_launches();

	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	ck_assert_uint_eq(rig_launched() - launched_ns, 300 * US);
	ck_assert_uint_eq(rig_launches() - launches, 10);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert_uint_eq(atomic_load(&rig.page->counters.completed_ns), rig_launched());
	ck_assert_uint_eq(atomic_load(&rig.page->counters.drained), 1);
}
END_TEST

START_TEST(the_driver_s_answer_is_the_application_s)
{
	script.launch_result = CUDA_ERROR_INVALID_VALUE;
	ck_assert_int_eq(rig_launch(KERNEL), CUDA_ERROR_INVALID_VALUE);
	script.launch_result = CUDA_SUCCESS;
	errno = 4711;
	ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	ck_assert_int_eq(errno, 4711);
}
END_TEST

START_TEST(an_unknown_kernel_is_counted_and_measured)
{
	script.elapsed_ms = 0.25f;
	atomic_fetch_or(&rig.grant->flags, SLUICE_GRANT_EXCLUSIVE);
	fake_grant_changed(rig.session, 0);
	for (int i = 0; i < 7; i++)
		rig_launch(KERNEL);
	ck_assert_uint_ge(atomic_load(&rig.page->counters.unpredicted), 2);
	/* Not the first; the fifth sample has been read by the seventh launch. */
	ck_assert_int_eq(strncmp(script_log(SCRIPT_STREAM(0)), "KEKE", 4), 0);
	ck_assert_uint_eq(predict_cost_ns(predict_find(
				  &launch_predict,
				  predict_kernel_tag((void *)KERNEL, 1, 1, 1, 32, 1, 1, 0), 1)),
			  250 * US);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.longest_unit_ns), 250 * US);
	ck_assert_str_eq(rig.page->counters.longest_unit, "scripted");
}
END_TEST

START_TEST(a_closed_gate_holds_until_it_opens)
{
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	fake_gate_set(rig.session, 0, false);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	rig_await(rig.session->wants >= 1);
	ck_assert_uint_ne(atomic_load(&rig.page->counters.held_since_ns), 0);
	ck_assert(!launcher.done);
	fake_gate_set(rig.session, 0, true);
	rig_launcher_join(&launcher);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.sleeping), 0);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.held_since_ns), 0);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.held), 1);
	ck_assert_uint_gt(atomic_load(&rig.page->counters.held_ns), 0);
}
END_TEST

START_TEST(a_pause_holds_and_never_forces)
{
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	script.is_immediate = false;
	rig_launch(KERNEL);
	atomic_store(&rig.grant->progress_ns, 1);
	atomic_fetch_or(&rig.grant->flags, SLUICE_GRANT_PAUSED);
	fake_grant_changed(rig.session, 0);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	usleep(5000);
	ck_assert(!launcher.done);
	atomic_fetch_and(&rig.grant->flags, ~SLUICE_GRANT_PAUSED);
	fake_grant_changed(rig.session, 0);
	rig_launcher_join(&launcher);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.forced), 0);
}
END_TEST

START_TEST(credit_is_a_limit_on_what_is_launched)
{
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	atomic_store(&rig.grant->credit_ns, rig_launched() + 20 * US);
	fake_grant_changed(rig.session, 0);
	rig_launch(KERNEL);
	rig_launch(KERNEL);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	ck_assert(!launcher.done);
	atomic_store(&rig.grant->credit_ns, UINT64_MAX);
	fake_grant_changed(rig.session, 0);
	rig_launcher_join(&launcher);
}
END_TEST

START_TEST(the_window_bounds_what_is_in_flight)
{
	struct rig_launcher launcher;

	rig_teach(KERNEL, 40 * US);
	atomic_store(&rig.grant->window_ns, 100 * US);
	atomic_store(&rig.grant->progress_ns, UINT64_MAX);
	fake_grant_changed(rig.session, 0);
	script.is_immediate = false;
	rig_launch(KERNEL);
	rig_launch(KERNEL);
	rig_launcher_start(&launcher, KERNEL);
	/* The held thread leaves a marker behind what is in flight, and waits for it. */
	rig_await(script_count(SCRIPT_WRITE) >= 1);
	usleep(5000);
	ck_assert(!launcher.done);
	script_complete(SCRIPT_STREAM(0), UINT32_MAX);
	rig_launcher_join(&launcher);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.held), 0);
}
END_TEST

START_TEST(a_launch_larger_than_the_window_enters_an_empty_pipe)
{
	rig_teach(KERNEL, 900 * US);
	atomic_store(&rig.grant->window_ns, 100 * US);
	fake_grant_changed(rig.session, 0);
	script.is_immediate = false;
	ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.forced), 0);
}
END_TEST

/* Work of another stream that no marker covers: the held thread leaves one there too, or the pipe
 * would never be seen empty. */
START_TEST(what_another_stream_was_given_does_not_fill_the_pipe_for_ever)
{
	struct rig_launcher launcher;

	rig_teach(KERNEL, 900 * US);
	atomic_store(&rig.grant->window_ns, 100 * US);
	atomic_store(&rig.grant->progress_ns, UINT64_MAX);
	fake_grant_changed(rig.session, 0);
	script.is_immediate = false;
	ck_assert_int_eq(rig_launch_on(KERNEL, SCRIPT_STREAM(1)), CUDA_SUCCESS);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(script_count(SCRIPT_WRITE) >= 1);
	script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	rig_launcher_join(&launcher);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.forced), 0);
}
END_TEST

START_TEST(forward_progress_is_forced_and_counted)
{
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	script.is_immediate = false;
	rig_launch(KERNEL);
	atomic_store(&rig.grant->progress_ns, 10 * MS);
	fake_gate_set(rig.session, 0, false);
	rig_launcher_start(&launcher, KERNEL);
	rig_launcher_join(&launcher);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.forced), 1);
}
END_TEST

/* ---- activity ---------------------------------------------------------------------------------- */

static struct sluice_activity *show_activity(void)
{
	struct sluice_activity *page = fake_activity_new(rig.session, 3, 77);

	/* Mail is taken at a launch. */
	rig_launch(KERNEL);
	fake_arbiter_await_seen(rig.session, 1);
	return page;
}

static void set_active(struct sluice_activity *page, uint32_t active)
{
	struct sluice_activity_device *device = &page->device[0];
	uint64_t word = atomic_load(&device->word);

	if (!active)
		atomic_store(&device->idle_since_ns, sluice_now_ns());
	atomic_store(&device->word, (uint64_t)(sluice_activity_epoch(word) + 1) << 32 | active);
	if (!active) {
		atomic_fetch_add(&device->wake, 1);
		futex_wake(&device->wake, 1);
	}
}

START_TEST(an_active_latency_tenant_holds_the_very_next_launch)
{
	struct sluice_activity *page;
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	page = show_activity();
	rig_launch(KERNEL);
	set_active(page, 1);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	ck_assert(!launcher.done);
	set_active(page, 0);
	rig_launcher_join(&launcher);
}
END_TEST

struct held {
	int policy;	  /* of the thread */
	bool is_filtered; /* by seccomp */
	_Atomic pid_t tid;
	int nice, policy_after, nice_after, errno_after;
};

static int filter_calls(void)
{
	struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
	struct sock_fprog program = {.len = 1, .filter = &allow};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void *launch_as(void *closure)
{
	struct held *held = closure;
	struct sched_param none = {0};

	held->nice = getpriority(PRIO_PROCESS, 0);
	if (sched_setscheduler(0, held->policy, &none) || (held->is_filtered && filter_calls()))
		held->policy = -1;
	atomic_store(&held->tid, gettid());
	errno = 4711;
	rig_launch(KERNEL);
	held->errno_after = errno;
	held->policy_after = sched_getscheduler(0);
	held->nice_after = getpriority(PRIO_PROCESS, 0);
	return NULL;
}

static int policy_of(const struct held *held)
{
	return sched_getscheduler(atomic_load(&held->tid));
}

/* Holds the thread, which sleeps with that policy. */
static void be_held(struct sluice_activity *page, struct held *held, int policy)
{
	pthread_t thread;

	set_active(page, 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, launch_as, held), 0);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	/* It counts itself before it goes to sleep, and wakes now and then. */
	rig_await(policy_of(held) == policy);
	set_active(page, 0);
	pthread_join(thread, NULL);
	ck_assert_int_ge(held->policy, 0);
	ck_assert_int_eq(held->policy_after, held->policy);
	ck_assert_int_eq(held->nice_after, held->nice);
	ck_assert_int_eq(held->errno_after, 4711);
}

/* Whom a latency process wakes, on its own CPU, must not run in its place. */
START_TEST(whoever_is_held_sleeps_behind_others)
{
	struct held other = {.policy = SCHED_OTHER}, batch = {.policy = SCHED_BATCH};
	struct sluice_activity *page;

	rig_teach(KERNEL, 10 * US);
	page = show_activity();
	rig_launch(KERNEL);
	be_held(page, &other, SCHED_BATCH);
	/* What the application has chosen stays. */
	be_held(page, &batch, SCHED_BATCH);
}
END_TEST

/* A filter may kill whoever makes a call that it does not list. */
START_TEST(under_a_filter_of_calls_none_is_made_for_it)
{
	struct held held = {.policy = SCHED_OTHER, .is_filtered = true};
	struct sluice_activity *page;
	pthread_t thread;

	rig_teach(KERNEL, 10 * US);
	page = show_activity();
	rig_launch(KERNEL);
	set_active(page, 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, launch_as, &held), 0);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	for (int i = 0; i < 200; i++) {
		ck_assert_int_eq(policy_of(&held), SCHED_OTHER);
		usleep(100);
	}
	set_active(page, 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(held.policy, SCHED_OTHER);
}
END_TEST

/* Of a process that has launched nothing since the latency tenant came. */
START_TEST(the_first_launch_after_a_page_has_come_is_held)
{
	struct sluice_activity *page;
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	page = fake_activity_new(rig.session, 3, 77);
	set_active(page, 1);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	ck_assert(!launcher.done);
	ck_assert_uint_eq(rig.session->seen, 1);
	set_active(page, 0);
	rig_launcher_join(&launcher);
}
END_TEST

/* Its work may wait for what is held here, where nothing is in flight. */
START_TEST(a_still_latency_tenant_lets_one_launch_through)
{
	struct sluice_activity *page;

	rig_teach(KERNEL, 10 * US);
	page = show_activity();
	cuStreamSynchronize(SCRIPT_STREAM(0));
	atomic_store(&rig.grant->progress_ns, 1000 * US);
	fake_grant_changed(rig.session, 0);
	set_active(page, 1);
	atomic_store(&rig.grant->activity[3].still_epoch, 1);
	for (uint64_t i = 1; i <= 2; i++) {
		ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
		ck_assert_uint_eq(atomic_load(&rig.page->counters.forced), i);
		ck_assert_uint_eq(atomic_load(&rig.page->counters.held), i);
	}
	set_active(page, 0);
}
END_TEST

/* The word has moved on, active to idle: the fast path must not take it for what it was. */
START_TEST(what_a_request_met_is_counted_once)
{
	struct sluice_arrival_ring *ring = &rig.session->channel->arrival[0];
	struct sluice_activity *page;
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	page = show_activity();
	cuStreamSynchronize(SCRIPT_STREAM(0));
	script.is_immediate = false;
	rig_launch(KERNEL);
	rig_launch(KERNEL);
	atomic_store(&page->device[0].busy_since_ns, sluice_now_ns());
	set_active(page, 1);
	for (int i = 0; i < 2; i++) {
		rig_launcher_start(&launcher, KERNEL);
		rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
		set_active(page, 0);
		rig_launcher_join(&launcher);
		set_active(page, 1);
	}
	set_active(page, 0);
	ck_assert_uint_eq(rig.page->be_in_flight.count, 1);
	ck_assert_uint_eq(rig.page->be_in_flight.max_ns, 20 * US);
	ck_assert_uint_eq(atomic_load(&ring->head), 1);
	ck_assert_uint_eq(ring->record[0].busy_since_ns,
			  atomic_load(&page->device[0].busy_since_ns));
	ck_assert_uint_eq(ring->record[0].in_flight_ns, 20 * US);
	ck_assert_uint_eq(ring->record[0].generation, page->generation);
	script_complete(SCRIPT_STREAM(0), UINT32_MAX);
}
END_TEST

/* The program waited for it, and launches only when it is over: a request began meanwhile. */
START_TEST(what_has_ended_since_was_met_as_well)
{
	struct sluice_arrival_record *record = &rig.session->channel->arrival[0].record[0];
	struct sluice_activity *page;
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	page = show_activity();
	cuStreamSynchronize(SCRIPT_STREAM(0));
	script.is_immediate = false;
	rig_launch(KERNEL);
	atomic_store(&page->device[0].busy_since_ns, sluice_now_ns());
	set_active(page, 1);
	usleep(1000);
	script_complete(SCRIPT_STREAM(0), UINT32_MAX);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	set_active(page, 0);
	rig_launcher_join(&launcher);
	ck_assert_uint_eq(atomic_load(&rig.session->channel->arrival[0].head), 1);
	ck_assert_uint_ge(record->in_flight_ns, 1000 * US);
	ck_assert_uint_eq(rig.page->be_in_flight.max_ns, record->in_flight_ns);
}
END_TEST

/* The longest of what the thread has in flight, with a name that status can show. */
START_TEST(what_a_request_met_is_named)
{
	struct sluice_channel *channel = rig.session->channel;
	struct sluice_arrival_record *record = &channel->arrival[0].record[0];
	struct sluice_activity *page;
	struct sluice_unit *unit;

	rig_teach(KERNEL, 10 * US);
	rig_teach(KERNEL + 16, 50 * US);
	page = show_activity();
	cuStreamSynchronize(SCRIPT_STREAM(0));
	atomic_store(&rig.grant->progress_ns, 1000 * US);
	fake_grant_changed(rig.session, 0);
	script.is_immediate = false;
	rig_launch(KERNEL + 16);
	rig_launch(KERNEL);
	atomic_store(&page->device[0].busy_since_ns, sluice_now_ns());
	set_active(page, 1);
	/* Held in this thread, and let go since nothing moves. */
	rig_launch(KERNEL);
	set_active(page, 0);
	ck_assert_uint_eq(atomic_load(&channel->arrival[0].head), 1);
	ck_assert_uint_eq(record->in_flight_ns, 60 * US);
	ck_assert_uint_eq(record->unit_ns, 50 * US);
	ck_assert_uint_eq(record->launches, 2);
	unit = sluice_unit_look(channel->units, record->key);
	ck_assert_ptr_nonnull(unit);
	ck_assert_uint_eq(unit->key, record->key);
	ck_assert_str_eq(unit->name, "scripted");
	script_complete(SCRIPT_STREAM(0), UINT32_MAX);
}
END_TEST

START_TEST(the_guard_holds_after_activity_that_nobody_saw)
{
	struct sluice_activity *page;
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	page = show_activity();
	atomic_store(&rig.grant->guard_ns, 3600 * SLUICE_NS_PER_S);
	fake_grant_changed(rig.session, 0);
	rig_launch(KERNEL);
	set_active(page, 1);
	set_active(page, 0);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	ck_assert(!launcher.done);
	atomic_store(&rig.grant->guard_ns, 0);
	fake_grant_changed(rig.session, 0);
	rig_launcher_join(&launcher);
}
END_TEST

START_TEST(a_revoked_page_holds_nobody)
{
	struct sluice_activity *page;

	rig_teach(KERNEL, 10 * US);
	page = show_activity();
	set_active(page, 1);
	atomic_store(&rig.grant->activity[3].generation, 0);
	fake_grant_changed(rig.session, 0);
	ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	/* Nor does another page's generation in its slot. */
	atomic_store(&rig.grant->activity[3].generation, 78);
	fake_grant_changed(rig.session, 0);
	ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.held), 0);
}
END_TEST

START_TEST(two_pages_are_both_watched)
{
	struct sluice_activity *pages[2];
	struct rig_launcher launcher;

	rig_teach(KERNEL, 10 * US);
	pages[0] = fake_activity_new(rig.session, 0, 5);
	pages[1] = fake_activity_new(rig.session, 1, 6);
	rig_launch(KERNEL);
	fake_arbiter_await_seen(rig.session, 2);
	rig_launch(KERNEL);
	for (int i = 0; i < 2; i++) {
		set_active(pages[i], 2);
		rig_launcher_start(&launcher, KERNEL);
		rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
		set_active(pages[i], 0);
		rig_launcher_join(&launcher);
	}
	ck_assert_uint_eq(atomic_load(&rig.page->counters.held), 2);
}
END_TEST

static CUresult destroy_context(CUcontext context)
{
	return CUDA_SUCCESS;
}

/* ---- driver calls of the shim's own ------------------------------------------------------------------- */

/* Markers by words and by events, samples, and what is asked of a stream. */
START_TEST(own_calls_are_made_in_relaxed_mode_and_the_program_s_is_left)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
	struct rig_launcher launcher;

	script.has_memory_ops = _i;
	ck_assert_int_eq(real.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	atomic_fetch_or(&rig.grant->flags, SLUICE_GRANT_EXCLUSIVE);
	fake_grant_changed(rig.session, 0);
	for (int i = 0; i < 40; i++) {
		rig_launch_on(KERNEL + 16, SCRIPT_STREAM(1));
		rig_launch_on(KERNEL + 16, CU_STREAM_LEGACY);
	}
	atomic_store(&rig.grant->window_ns, 100 * US);
	fake_grant_changed(rig.session, 0);
	script.is_immediate = false;
	ck_assert_int_eq(rig_launch_on(KERNEL, SCRIPT_STREAM(2)), CUDA_SUCCESS);
	ck_assert_int_eq(rig_launch_on(KERNEL, SCRIPT_STREAM(2)), CUDA_SUCCESS);
	/* In another thread, which leaves a marker behind them and looks at it. */
	rig_launcher_start(&launcher, KERNEL);
	rig_await(script_log(SCRIPT_STREAM(2))[2]);
	script_complete(SCRIPT_STREAM(2), UINT32_MAX);
	rig_launcher_join(&launcher);
	ck_assert_uint_gt(script_count(SCRIPT_EVENT), 0);
	ck_assert_uint_eq(script_count(SCRIPT_WRITE) > 0, _i);
	/* What the context takes along is unregistered. */
	real.cuCtxDestroy_v2 = destroy_context;
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(2)), CUDA_SUCCESS);
	ck_assert_int_eq(cuCtxDestroy_v2(SCRIPT_CONTEXT), CUDA_SUCCESS);
	ck_assert_uint_eq(script.strict, 0);
	mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
	ck_assert_int_eq(real.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
	ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}
END_TEST

/* ---- programmatic dependent launches --------------------------------------------------------------- */

static CUresult launch_ex(uintptr_t function, CUlaunchAttributeID attribute)
{
	CUlaunchAttribute attributes[] = {{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY}, {.id = attribute}};
	CUlaunchConfig config = {.gridDimX = 1,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .hStream = SCRIPT_STREAM(0),
				 .attrs = attributes,
				 .numAttrs = 2};

	return cuLaunchKernelEx(&config, (CUfunction)function, NULL, NULL);
}

/* Neither a marker, though much is in flight that none covers, nor an event, though the kernels have
 * never been measured. */
START_TEST(nothing_comes_between_a_kernel_and_its_programmatic_dependent)
{
	static const CUlaunchAttributeID dependent[] = {
		CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT};
	const uintptr_t primary = KERNEL + 0x100 * (uintptr_t)(_i + 1);

	atomic_fetch_or(&rig.grant->flags, SLUICE_GRANT_EXCLUSIVE);
	fake_grant_changed(rig.session, 0);
	for (int i = 0; i < 40; i++) {
		ck_assert_int_eq(launch_ex(primary, CU_LAUNCH_ATTRIBUTE_IGNORE), CUDA_SUCCESS);
		for (uintptr_t j = 1; j < 4; j++)
			ck_assert_int_eq(launch_ex(primary + 16 * j, dependent[_i]), CUDA_SUCCESS);
	}
	ck_assert_uint_eq(script_count(SCRIPT_KERNEL), 160);
	ck_assert_uint_gt(script_count(SCRIPT_WRITE), 5);
	ck_assert_uint_eq(script_count(SCRIPT_EVENT), 0);
	for (const char *c = script_log(SCRIPT_STREAM(0)); *c;) {
		c += strspn(c, "W");
		ck_assert_msg(!*c || !strncmp(c, "KKKK", 4), "between a pair: %s", c);
		c += *c ? 4 : 0;
	}
	/* The same without dependents is timed and marked. */
	for (int i = 0; i < 4; i++)
		launch_ex(KERNEL, CU_LAUNCH_ATTRIBUTE_IGNORE);
	ck_assert_uint_gt(script_count(SCRIPT_EVENT), 0);
}
END_TEST

/* ---- captures and copies ------------------------------------------------------------------------- */

START_TEST(a_capturing_stream_is_not_touched)
{
	uint64_t launches;
	CUgraph graph;

	rig_teach(KERNEL, 200 * US);
	rig_launch_on(KERNEL, SCRIPT_STREAM(1));
	launches = rig_launches();
	ck_assert_int_eq(cuStreamBeginCapture_v2(SCRIPT_STREAM(0), CU_STREAM_CAPTURE_MODE_GLOBAL),
			 CUDA_SUCCESS);
	fake_gate_set(rig.session, 0, false);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	ck_assert_uint_eq(rig_launches(), launches);
	fake_gate_set(rig.session, 0, true);
	ck_assert_str_eq(script_log(SCRIPT_STREAM(0)), "KKKKKK");
	/* Another stream's launches count meanwhile, and are marked. */
	for (int i = 0; i < 30; i++)
		rig_launch_on(KERNEL, SCRIPT_STREAM(1));
	ck_assert_uint_eq(rig_launches(), launches + 30);
	ck_assert_uint_gt(script_count(SCRIPT_WRITE), 0);
	ck_assert_str_eq(script_log(SCRIPT_STREAM(0)), "KKKKKK");
	ck_assert_int_eq(cuStreamEndCapture(SCRIPT_STREAM(0), &graph), CUDA_SUCCESS);
	ck_assert_uint_eq(shim_flags() & SHIM_CAPTURES, 0);
	rig_launch(KERNEL);
	ck_assert_uint_eq(rig_launches(), launches + 31);
}
END_TEST

START_TEST(a_destroyed_origin_ends_its_capture)
{
	ck_assert_int_eq(cuStreamBeginCapture_v2(SCRIPT_STREAM(2), CU_STREAM_CAPTURE_MODE_GLOBAL),
			 CUDA_SUCCESS);
	ck_assert_uint_ne(shim_flags() & SHIM_CAPTURES, 0);
	cuStreamDestroy_v2(SCRIPT_STREAM(3));
	ck_assert_uint_ne(shim_flags() & SHIM_CAPTURES, 0);
	cuStreamDestroy_v2(SCRIPT_STREAM(2));
	ck_assert_uint_eq(shim_flags() & SHIM_CAPTURES, 0);
}
END_TEST

static CUresult reset_device(CUdevice device)
{
	return CUDA_SUCCESS;
}

static CUresult is_active(CUdevice device, unsigned int *flags, int *active)
{
	*active = 1;
	return CUDA_SUCCESS;
}

START_TEST(a_context_takes_its_captures_with_it)
{
	real.cuCtxDestroy_v2 = destroy_context;
	real.cuDevicePrimaryCtxGetState = is_active;
	real.cuDevicePrimaryCtxReset_v2 = reset_device;
	cuStreamBeginCapture_v2(SCRIPT_STREAM(0), CU_STREAM_CAPTURE_MODE_RELAXED);
	cuStreamBeginCapture_v2(SCRIPT_STREAM(1), CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_assert_int_eq(cuCtxDestroy_v2((CUcontext)(uintptr_t)0x999), CUDA_SUCCESS);
	ck_assert(shim_flags() & SHIM_CAPTURES);
	ck_assert_int_eq(cuCtxDestroy_v2(SCRIPT_CONTEXT), CUDA_SUCCESS);
	ck_assert(!(shim_flags() & SHIM_CAPTURES));
	cuStreamBeginCapture_v2(SCRIPT_STREAM(0), CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_assert_int_eq(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
	ck_assert(!(shim_flags() & SHIM_CAPTURES));
}
END_TEST

START_TEST(a_large_copy_goes_in_pieces_under_the_gate)
{
	static char host[1];
	uint64_t launches;

	rig_launch(KERNEL);
	launches = rig_launches();
	ck_assert_int_eq(cuMemcpyHtoDAsync_v2(4096, host, (9u << 20) + 5, SCRIPT_STREAM(0)),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(script_count(SCRIPT_COPY), 3);
	ck_assert_uint_eq(script.copied_bytes, (9u << 20) + 5);
	ck_assert_uint_eq(rig_launches(), launches + 3);
	/* An error ends it. */
	script.launch_result = CUDA_ERROR_INVALID_VALUE;
	ck_assert_int_eq(cuMemcpyHtoDAsync_v2(4096, host, 9u << 20, SCRIPT_STREAM(0)),
			 CUDA_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(script_count(SCRIPT_COPY), 4);
	/* No bytes are one call. */
	script.launch_result = CUDA_SUCCESS;
	cuMemcpyHtoDAsync_v2(4096, host, 0, SCRIPT_STREAM(0));
	ck_assert_uint_eq(script_count(SCRIPT_COPY), 5);
}
END_TEST

static struct {
	CUdeviceptr from;
	uint64_t calls, bytes;
} prefetched;

static CUresult prefetch(CUdeviceptr address, size_t bytes, CUmemLocation location,
			 unsigned int flags, CUstream stream)
{
	ck_assert_uint_eq(address, prefetched.from + prefetched.bytes);
	prefetched.calls++;
	prefetched.bytes += bytes;
	return CUDA_SUCCESS;
}

static CUresult decompress(CUmemDecompressParams *params, size_t count, unsigned int flags,
			   size_t *error_index, CUstream stream)
{
	return CUDA_SUCCESS;
}

/* By its bytes, in pieces; what it takes is no copy's, since all of it may be there already. */
START_TEST(a_prefetch_is_counted_as_a_copy)
{
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
	CUmemDecompressParams params[2] = {{.srcNumBytes = 1 << 20, .dstNumBytes = 1 << 22},
					   {.srcNumBytes = 1 << 20}};
	uint64_t launches, launched_ns;
	uint32_t copy_ns, guess_ns;
	size_t index;

	real.cuMemPrefetchAsync_v2 = prefetch;
	real.cuMemBatchDecompressAsync = decompress;
	prefetched.from = 1 << 20;
	rig_launch(KERNEL);
	launches = rig_launches();
	launched_ns = rig_launched();
	ck_assert_int_eq(cuMemPrefetchAsync_v2(1 << 20, 9u << 20, location, 0, SCRIPT_STREAM(0)),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(prefetched.calls, 3);
	ck_assert_uint_eq(prefetched.bytes, 9u << 20);
	ck_assert_uint_eq(rig_launches() - launches, 3);
	predict_bytes_tag(PREDICT_PREFETCH, 1 << 20, &guess_ns);
	ck_assert_uint_ge(rig_launched() - launched_ns, 9ull * guess_ns / 2);
	ck_assert_uint_ne(predict_bytes_tag(PREDICT_PREFETCH, 4096, &guess_ns),
			  predict_bytes_tag(PREDICT_COPY, 4096, &copy_ns));
	launched_ns = rig_launched();
	ck_assert_int_eq(cuMemBatchDecompressAsync(params, 2, 0, &index, SCRIPT_STREAM(0)),
			 CUDA_SUCCESS);
	predict_bytes_tag(PREDICT_DECOMPRESS, 5 << 20, &guess_ns);
	ck_assert_uint_eq(rig_launched() - launched_ns, guess_ns);
}
END_TEST

static void *copy_run(void *closure)
{
	static char host[1];

	ck_assert_int_eq(
		cuMemcpyHtoDAsync_v2(4096, host, GATE_LARGE_COPY_BYTES / 2, SCRIPT_STREAM(0)),
		CUDA_SUCCESS);
	atomic_store((_Atomic bool *)closure, true);
	return NULL;
}

/* The arbiter says so in the grant of who waits for its turn. A kernel waits on, a small copy too. */
START_TEST(a_large_copy_does_not_wait_for_a_turn)
{
	static char host[1];
	struct sluice_counters *counters = &rig.page->counters;
	struct rig_launcher launcher;
	_Atomic bool copied = false;
	pthread_t thread;
	uint64_t before_ns;

	rig_teach(KERNEL, 10 * US);
	rig_launch(KERNEL);
	atomic_fetch_or(&rig.grant->flags, SLUICE_GRANT_COPIES);
	fake_gate_set(rig.session, 0, false);
	before_ns = rig_launched();
	/* Nine pieces of the largest size, and the rest. */
	ck_assert_int_eq(cuMemcpyHtoDAsync_v2(4096, host, 38u << 20, SCRIPT_STREAM(0)),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(script_count(SCRIPT_COPY), 10);
	ck_assert_uint_eq(atomic_load(&counters->copies_from_ns), before_ns);
	ck_assert_uint_eq(atomic_load(&counters->copies_until_ns), rig_launched());
	ck_assert_uint_gt(rig_launched(), before_ns);
	ck_assert_uint_eq(atomic_load(&counters->held), 0);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&counters->sleeping) == 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, copy_run, (void *)&copied), 0);
	rig_await(atomic_load(&counters->sleeping) == 2);
	ck_assert(!launcher.done && !copied);
	fake_gate_set(rig.session, 0, true);
	rig_launcher_join(&launcher);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	/* What came behind is seen by the sum, and the next run begins anew. */
	ck_assert_uint_lt(atomic_load(&counters->copies_until_ns), rig_launched());
	before_ns = rig_launched();
	cuMemcpyHtoDAsync_v2(4096, host, GATE_LARGE_COPY_BYTES, SCRIPT_STREAM(0));
	ck_assert_uint_eq(atomic_load(&counters->copies_from_ns), before_ns);
	ck_assert_uint_eq(atomic_load(&counters->copies_until_ns), rig_launched());
}
END_TEST

START_TEST(an_unattached_process_only_passes_through)
{
	uint64_t launches = rig_launches();

	shim_set_flags(SHIM_PASSTHROUGH, 0);
	ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	ck_assert_uint_eq(rig_launches(), launches);
	ck_assert_str_eq(script_log(SCRIPT_STREAM(0)), "K");
	shim_set_flags(0, SHIM_PASSTHROUGH);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_launch");
	TCase *tcase = tcase_create("launch");

	tcase_add_checked_fixture(tcase, rig_start, rig_finish);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_launch_is_counted_at_its_cost);
	tcase_add_test(tcase, the_driver_s_answer_is_the_application_s);
	tcase_add_test(tcase, an_unknown_kernel_is_counted_and_measured);
	tcase_add_test(tcase, a_closed_gate_holds_until_it_opens);
	tcase_add_test(tcase, a_pause_holds_and_never_forces);
	tcase_add_test(tcase, credit_is_a_limit_on_what_is_launched);
	tcase_add_test(tcase, the_window_bounds_what_is_in_flight);
	tcase_add_test(tcase, a_launch_larger_than_the_window_enters_an_empty_pipe);
	tcase_add_test(tcase, what_another_stream_was_given_does_not_fill_the_pipe_for_ever);
	tcase_add_test(tcase, forward_progress_is_forced_and_counted);
	tcase_add_test(tcase, an_active_latency_tenant_holds_the_very_next_launch);
	tcase_add_test(tcase, whoever_is_held_sleeps_behind_others);
	tcase_add_test(tcase, under_a_filter_of_calls_none_is_made_for_it);
	tcase_add_test(tcase, the_first_launch_after_a_page_has_come_is_held);
	tcase_add_test(tcase, a_still_latency_tenant_lets_one_launch_through);
	tcase_add_test(tcase, what_a_request_met_is_counted_once);
	tcase_add_test(tcase, what_has_ended_since_was_met_as_well);
	tcase_add_test(tcase, what_a_request_met_is_named);
	tcase_add_test(tcase, the_guard_holds_after_activity_that_nobody_saw);
	tcase_add_test(tcase, a_revoked_page_holds_nobody);
	tcase_add_test(tcase, two_pages_are_both_watched);
	tcase_add_loop_test(tcase, own_calls_are_made_in_relaxed_mode_and_the_program_s_is_left, 0,
			    2);
	tcase_add_loop_test(tcase, nothing_comes_between_a_kernel_and_its_programmatic_dependent, 0,
			    2);
	tcase_add_test(tcase, a_capturing_stream_is_not_touched);
	tcase_add_test(tcase, a_destroyed_origin_ends_its_capture);
	tcase_add_test(tcase, a_context_takes_its_captures_with_it);
	tcase_add_test(tcase, a_large_copy_goes_in_pieces_under_the_gate);
	tcase_add_test(tcase, a_large_copy_does_not_wait_for_a_turn);
	tcase_add_test(tcase, a_prefetch_is_counted_as_a_copy);
	tcase_add_test(tcase, an_unattached_process_only_passes_through);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
