/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SHIM_RIG_H
#define TESTS_SHIM_RIG_H

/*
 * The shim between a scripted driver and a fake arbiter, in one process. Include once in a
 * program. rig_start begins a test, rig_finish ends it.
 */

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_arbiter.h"
#include "launch.h"
#include "script_driver.h"
#include "sluice/clock.h"
#include "sluice/escrow.h"

#define US 1000ull
#define MS 1000000ull
#define RIG_WAIT_NS (20 * SLUICE_NS_PER_S) /* for what must come: long on the slowest machine */

static struct rig {
	struct fake_arbiter fake;
	struct fake_session *session;
	struct sluice_channel_device *page;
	struct sluice_grant *grant;
} rig;

static void rig_attach(const char *tenant)
{
	script_start();
	script.is_immediate = true;
	fake_arbiter_start(&rig.fake);
	script_attach(rig.fake.path, tenant);
	rig.session = fake_arbiter_session(&rig.fake, 0, 1);
	rig.page = &rig.session->channel->device[0];
	rig.grant = &rig.page->grant;
}

static void __attribute__((unused)) rig_start(void)
{
	fake_arbiter_init(&rig.fake);
	rig_attach("be");
}

static void __attribute__((unused)) rig_start_latency(void)
{
	fake_arbiter_init(&rig.fake);
	rig_attach("lc");
}

static void rig_finish(void)
{
	script_detach();
	fake_arbiter_stop(&rig.fake);
	fake_arbiter_finish(&rig.fake);
}

/* Waits until an expression over shared words is true. */
#define rig_await(expression) \
	do { \
		uint64_t end_ns = sluice_now_ns() + RIG_WAIT_NS; \
\
		while (!(expression)) { \
			ck_assert_msg(sluice_now_ns() < end_ns, "never: %s", #expression); \
			usleep(200); \
		} \
	} while (0)

static CUresult rig_launch_on(uintptr_t function, CUstream stream)
{
	return cuLaunchKernel((CUfunction)function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

static __attribute__((unused)) CUresult rig_launch(uintptr_t function)
{
	return rig_launch_on(function, SCRIPT_STREAM(0));
}

/* Launches until the shim knows that the function takes cost_ns; all completes. */
static void __attribute__((unused)) rig_teach(uintptr_t function, uint64_t cost_ns)
{
	uint64_t tag = predict_kernel_tag((void *)function, 1, 1, 1, 32, 1, 1, 0);

	ck_assert_int_eq(rig_launch(function), CUDA_SUCCESS);
	for (int i = 0; i < 8; i++)
		predict_sample(&launch_predict, predict_find(&launch_predict, tag, 1), cost_ns,
			       true);
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
}

static __attribute__((unused)) uint64_t rig_launched(void)
{
	uint64_t launched_ns = 0;

	for (unsigned int i = 0; i < SLUICE_MAX_SLOTS; i++)
		launched_ns += atomic_load(&rig.page->slot[i].launched_ns);
	return launched_ns;
}

static __attribute__((unused)) uint64_t rig_launches(void)
{
	uint64_t launches = 0;

	for (unsigned int i = 0; i < SLUICE_MAX_SLOTS; i++)
		launches += atomic_load(&rig.page->slot[i].launches);
	return launches;
}

/* One launch in a thread of its own, that may be held. */
struct rig_launcher {
	pthread_t thread;
	uintptr_t function;
	_Atomic bool done;
};

static void *rig_launcher_run(void *closure)
{
	struct rig_launcher *launcher = closure;

	rig_launch(launcher->function);
	atomic_store(&launcher->done, true);
	return NULL;
}

static void __attribute__((unused))
rig_launcher_start(struct rig_launcher *launcher, uintptr_t function)
{
	*launcher = (struct rig_launcher){.function = function};
	ck_assert(!pthread_create(&launcher->thread, NULL, rig_launcher_run, launcher));
}

static void __attribute__((unused)) rig_launcher_join(struct rig_launcher *launcher)
{
	ck_assert(!pthread_join(launcher->thread, NULL));
	ck_assert(launcher->done);
}

static int __attribute__((unused)) rig_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
