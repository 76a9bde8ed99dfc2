/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX process ranges as requests, and another injection behind ours, on tables as NVTX has them. */
#include "shim_rig.h"
#include "nvtx.h"
#include "range.h"

#define KERNEL 0x7000
#define PLACES 16

/* One library's NVTX: what its calls go through, and the tables that an injection is given. */
struct library {
	nvtx_function core[PLACES], core2[PLACES];
	nvtx_function *core_table[PLACES], *core2_table[PLACES];
};

static struct library first, second, *present;
static unsigned int places;
static struct sluice_request_ring *ring;

static void not_initialised(void)
{
	ck_abort_msg("the header's own start was called from inside");
}

static int module_table(int module, nvtx_function ***ret_table, unsigned int *ret_count)
{
	if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2)
		return 0;
	*ret_table = module == NVTX_MODULE_CORE ? present->core_table : present->core2_table;
	*ret_count = places;
	return 1;
}

static struct nvtx_callbacks callbacks = {.size = sizeof(callbacks), .module_table = module_table};

static const void *get_table(uint32_t table)
{
	return table == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void library_make(struct library *library)
{
	for (int i = 0; i < PLACES; i++) {
		library->core[i] = library->core2[i] = not_initialised;
		library->core_table[i] = i ? &library->core[i] : NULL;
		library->core2_table[i] = i ? &library->core2[i] : NULL;
	}
	present = library;
}

static void setup(void)
{
	rig_start_latency();
	rig_await(atomic_load(&rig.session->activity));
	rig_teach(KERNEL, 10 * US);
	memcpy(rig.session->channel->range, "infer", 6);
	ring = &rig.session->channel->request[0];
	callbacks.size = sizeof(callbacks);
	places = PLACES;
	library_make(&first);
	ck_assert_int_ne(InitializeInjectionNvtx2(get_table), 0);
}

static void teardown(void)
{
	memset(rig.session->channel->range, 0, sizeof(rig.session->channel->range));
	atomic_store(&rig.session->channel->target_ns, 0);
	rig_finish();
}

/* ---- the program's calls ---- */

static uint64_t start(const char *name)
{
	return ((uint64_t(*)(const char *))first.core[NVTX_RANGE_START_A])(name);
}

static uint64_t start_event(int32_t type, const void *text)
{
	struct nvtx_event event = {.version = 3, .size = sizeof(event), .text_type = type};

	event.text.registered = text;
	return ((uint64_t(*)(void *, const struct nvtx_event *))
			first.core2[NVTX_DOMAIN_RANGE_START_EX])(NULL, &event);
}

static void end(uint64_t id)
{
	((void (*)(uint64_t))first.core[NVTX_RANGE_END])(id);
}

static void domain_end(uint64_t id)
{
	((void (*)(void *, uint64_t))first.core2[NVTX_DOMAIN_RANGE_END])(NULL, id);
}

static void serve(void)
{
	rig_launch(KERNEL);
	cuStreamSynchronize(SCRIPT_STREAM(0));
}

static const struct sluice_request_record *last(void)
{
	return &ring->record[(atomic_load(&ring->head) - 1) % SLUICE_REQUEST_RECORDS];
}

static uint64_t ranges(void)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < SLUICE_REQUEST_RECORDS; i++)
		count += ring->record[i].flags & SLUICE_REQUEST_RANGE ? 1 : 0;
	return count;
}

/* ---- ---- */

START_TEST(a_range_is_a_request_that_arrived_when_it_began)
{
	uint64_t before_ns = sluice_now_ns(), ranges_before = ranges(), id = start("infer");

	serve();
	end(id);
	ck_assert_uint_eq(ranges(), ranges_before + 1);
	ck_assert_uint_eq(last()->flags, SLUICE_REQUEST_RANGE);
	ck_assert_uint_ge(last()->arrival_ns, before_ns);
	ck_assert_uint_gt(last()->start_ns, last()->arrival_ns);
	ck_assert_uint_ge(last()->end_ns, last()->start_ns);
	ck_assert_uint_le(last()->end_ns, sluice_now_ns());
	/* Closed, it is gone. */
	end(id);
	ck_assert_uint_eq(ranges(), ranges_before + 1);
}
END_TEST

START_TEST(only_the_target_s_name_counts)
{
	uint64_t before = ranges();
	uint64_t other = start("infer2"), none = start(NULL), empty = start("");

	serve();
	end(other);
	end(none);
	end(empty);
	end(4711);
	ck_assert_uint_eq(ranges(), before);
	memset(rig.session->channel->range, 0, 64);
	other = start("infer");
	serve();
	end(other);
	ck_assert_uint_eq(ranges(), before);
}
END_TEST

START_TEST(a_range_without_work_on_the_gpu_is_none)
{
	uint64_t before = ranges();

	serve();
	usleep(1000);
	end(start("infer"));
	ck_assert_uint_eq(ranges(), before);
}
END_TEST

START_TEST(every_form_of_a_name_is_read)
{
	void *(*register_a)(void *, const char *) =
		(void *(*)(void *, const char *))first.core2[NVTX_DOMAIN_REGISTER_STRING_A];
	void *(*register_w)(void *, const wchar_t *) =
		(void *(*)(void *, const wchar_t *))first.core2[NVTX_DOMAIN_REGISTER_STRING_W];
	const void *texts[] = {"infer", L"infer", register_a(NULL, "infer"),
			       register_w(NULL, L"infer")};
	const int32_t types[] = {NVTX_TEXT_ASCII, NVTX_TEXT_WIDE, NVTX_TEXT_REGISTERED,
				 NVTX_TEXT_REGISTERED};
	uint64_t before = ranges();

	for (uint64_t i = 0; i < 4; i++) {
		uint64_t id = start_event(types[i], texts[i]);

		ck_assert_uint_ne(id, 0);
		serve();
		domain_end(id);
		ck_assert_uint_eq(ranges(), before + i + 1);
	}
	domain_end(start_event(NVTX_TEXT_NONE, NULL));
	domain_end(start_event(NVTX_TEXT_REGISTERED, register_a(NULL, "other")));
	domain_end(start_event(NVTX_TEXT_WIDE, L"inf\x00e9r"));
	ck_assert_uint_eq(ranges(), before + 4);
}
END_TEST

/* Requests that wait: the second begins where the first ended. */
START_TEST(ranges_may_overlap)
{
	uint64_t a, b, first_ended_ns;

	a = start("infer");
	b = start("infer");
	serve();
	end(a);
	first_ended_ns = last()->end_ns;
	serve();
	end(b);
	ck_assert_uint_lt(last()->arrival_ns, first_ended_ns);
	ck_assert_uint_ge(last()->start_ns, first_ended_ns);
	ck_assert_uint_gt(last()->end_ns, last()->start_ns);
}
END_TEST

START_TEST(late_is_what_took_too_long_from_arrival)
{
	_Atomic uint64_t *late = &rig.page->counters.requests_late;
	uint64_t before = atomic_load(late), id;

	atomic_store(&rig.session->channel->target_ns, 1000 * US);
	id = start("infer");
	usleep(2000);
	serve();
	ck_assert_uint_eq(atomic_load(late), before);
	end(id);
	ck_assert_uint_eq(atomic_load(late), before + 1);
}
END_TEST

START_TEST(an_older_nvtx_has_fewer_places)
{
	library_make(&second);
	places = NVTX_DOMAIN_REGISTER_STRING_A;
	ck_assert_int_ne(InitializeInjectionNvtx2(get_table), 0);
	ck_assert_ptr_eq(second.core2[NVTX_DOMAIN_REGISTER_STRING_A], not_initialised);
	ck_assert_ptr_ne(second.core2[NVTX_DOMAIN_RANGE_END], not_initialised);
	callbacks.size = 4;
	ck_assert_int_eq(InitializeInjectionNvtx2(get_table), 0);
	ck_assert_int_eq(InitializeInjectionNvtx2(NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_nvtx");
	TCase *tcase = tcase_create("nvtx");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_range_is_a_request_that_arrived_when_it_began);
	tcase_add_test(tcase, only_the_target_s_name_counts);
	tcase_add_test(tcase, a_range_without_work_on_the_gpu_is_none);
	tcase_add_test(tcase, every_form_of_a_name_is_read);
	tcase_add_test(tcase, ranges_may_overlap);
	tcase_add_test(tcase, late_is_what_took_too_long_from_arrival);
	tcase_add_test(tcase, an_older_nvtx_has_fewer_places);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
