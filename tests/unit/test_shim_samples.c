/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of samples: shared by all contexts, and not asked about one that has gone. */
#include "inflight.h"
#include "shim_rig.h"
#include "stream_state.h"

#define KERNEL 0x7000u
#define MANY 40u /* more kernels than there are samples */

/* None of it completes: each kernel's second launch takes a sample and keeps it. */
static void take_all_samples(CUstream stream)
{
	script.is_immediate = false;
	for (uint32_t i = 0; i < 2 * MANY; i++)
		ck_assert_int_eq(rig_launch_on(KERNEL + 16 * (i / 2), stream), CUDA_SUCCESS);
}

START_TEST(a_context_does_not_keep_all_samples)
{
	take_all_samples(SCRIPT_STREAM(1));
	cuStreamSynchronize(SCRIPT_STREAM(1));
	script.context = (CUcontext)(uintptr_t)0x20;
	rig_launch_on(KERNEL - 16, SCRIPT_STREAM(2));
	rig_launch_on(KERNEL - 16, SCRIPT_STREAM(2));
	ck_assert_str_eq(script_log(SCRIPT_STREAM(2)), "KEKE");
}
END_TEST

static struct {
	CUresult (*query)(CUevent event);
	pthread_t thread;
	_Atomic bool asked, gone;
	bool gone_while_asked;
} end;

static void *context_ends(void *closure)
{
	stream_context_dying(SCRIPT_CONTEXT, -1);
	end.gone = true;
	return NULL;
}

static CUresult query_meanwhile(CUevent event)
{
	if (!atomic_exchange(&end.asked, true)) {
		ck_assert(!pthread_create(&end.thread, NULL, context_ends, NULL));
		usleep(50000);
		end.gone_while_asked = end.gone;
	}
	return end.query(event);
}

START_TEST(a_context_goes_after_who_asks_its_samples)
{
	memset(&end, 0, sizeof(end));
	end.query = real.cuEventQuery;
	take_all_samples(SCRIPT_STREAM(1));
	script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	real.cuEventQuery = query_meanwhile;
	cuStreamSynchronize(SCRIPT_STREAM(1));
	ck_assert(end.asked);
	ck_assert(!pthread_join(end.thread, NULL));
	ck_assert(!end.gone_while_asked);
	ck_assert(end.gone);
}
END_TEST

/* A reset of the device's primary context ends those whose streams have all gone before as well. */
START_TEST(a_reset_takes_samples_without_streams)
{
	take_all_samples(SCRIPT_STREAM(1));
	cuStreamSynchronize(SCRIPT_STREAM(1));
	cuStreamDestroy_v2(SCRIPT_STREAM(1));
	script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	futex_lock(&gate_at(0)->lock);
	inflight_poll(gate_at(0), sluice_now_ns());
	futex_unlock(&gate_at(0)->lock);
	ck_assert_uint_eq(gate_at(0)->stream_count, 0);
	script_change_context(SCRIPT_CONTEXT);
	stream_context_dying(NULL, 0);
	rig_launch_on(KERNEL - 16, SCRIPT_STREAM(2));
	rig_launch_on(KERNEL - 16, SCRIPT_STREAM(2));
	ck_assert_str_eq(script_log(SCRIPT_STREAM(2)), "KEKE");
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_samples");
	TCase *tcase = tcase_create("samples");

	tcase_add_checked_fixture(tcase, rig_start, rig_finish);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_context_does_not_keep_all_samples);
	tcase_add_test(tcase, a_context_goes_after_who_asks_its_samples);
	tcase_add_test(tcase, a_reset_takes_samples_without_streams);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
