/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates over runs: keys that no address is in, seeds, and what the arbiter is told. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "known.h"

static struct predict predict, again;
static struct sluice_estimate_ring ring;
static const char *name;
static int registers;

#define SLOTS 64
static struct {
	struct sluice_known page;
	struct sluice_estimate_record slot[SLOTS];
} known;

static CUresult device_name(char *text, int size, CUdevice device)
{
	snprintf(text, (size_t)size, "GPU %d", device);
	return CUDA_SUCCESS;
}

static CUresult device_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	*value = 80;
	return CUDA_SUCCESS;
}

static CUresult function_name(const char **text, CUfunction function)
{
	*text = name;
	return name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult function_attribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	*value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? registers : 1;
	return CUDA_SUCCESS;
}

static void setup(void)
{
	memset(&predict, 0, sizeof(predict));
	memset(&again, 0, sizeof(again));
	memset(&ring, 0, sizeof(ring));
	memset(&known, 0, sizeof(known));
	known.page = (struct sluice_known){
		.magic = SLUICE_KNOWN_MAGIC, .version = SLUICE_KNOWN_VERSION, .slots = SLOTS};
	name = "gemm";
	registers = 32;
	real.cuDeviceGetName = device_name;
	real.cuDeviceGetAttribute = device_attribute;
	real.cuFuncGetName = function_name;
	real.cuFuncGetAttribute = function_attribute;
}

/* The entry of a kernel at that address. */
static struct predict_entry *meet(struct predict *table, uintptr_t function, uint64_t shape,
				  uint32_t ordinal)
{
	struct sample_what what = {
		.kind = PREDICT_KERNEL, .handle = (void *)function, .shape = shape};
	struct predict_entry *entry =
		predict_find(table, predict_mix(function, shape, 0, 0), PREDICT_KERNEL_NS);

	known_meet(table, entry, what, ordinal);
	return entry;
}

static uint64_t key_of(struct predict *table, struct predict_entry *entry)
{
	return predict_stat_of(table, entry)->key;
}

static void teach(struct predict *table, struct predict_entry *entry, uint64_t took_ns)
{
	for (int i = 0; i < 8; i++)
		predict_sample(table, entry, took_ns, true);
	known_tell(table, entry, &ring);
}

/* What the arbiter does with the ring. */
static void keep(void)
{
	for (uint64_t i = 0; i < ring.head; i++)
		*sluice_known_look(known.slot, SLOTS, ring.record[i].key) = ring.record[i];
	ck_assert_int_eq(known_adopt(&again, &known.page, sizeof(known)), 0);
}

START_TEST(a_key_is_alike_in_every_run_and_differs_with_what_is_launched)
{
	uint64_t key = key_of(&predict, meet(&predict, 0x1000, 5, 0));

	ck_assert_uint_gt(key, 1);
	ck_assert_uint_eq(key, key_of(&again, meet(&again, 0x777000, 5, 0)));
	ck_assert_uint_ne(key, key_of(&again, meet(&again, 0x777000, 6, 0)));
	ck_assert_uint_ne(key, key_of(&again, meet(&again, 0x2000, 5, 1)));
	name = "gemv";
	ck_assert_uint_ne(key, key_of(&again, meet(&again, 0x3000, 5, 0)));
	name = "gemm";
	registers = 40;
	ck_assert_uint_ne(key, key_of(&again, meet(&again, 0x4000, 5, 0)));
}
END_TEST

static CUresult kernel_name(const char **text, CUkernel kernel)
{
	*text = "gemm";
	return CUDA_SUCCESS;
}

static CUresult kernel_function(CUfunction *function, CUkernel kernel)
{
	*function = (CUfunction)(uintptr_t)0x1000;
	return CUDA_SUCCESS;
}

/* A launch takes a library's kernel where a function stands: it is the same kernel. */
START_TEST(a_kernel_of_a_library_has_its_function_s_key)
{
	uint64_t key = key_of(&predict, meet(&predict, 0x1000, 5, 0));

	name = NULL;
	real.cuKernelGetName = kernel_name;
	real.cuKernelGetFunction = kernel_function;
	ck_assert_uint_eq(key, key_of(&again, meet(&again, 0x8000, 5, 0)));
	real.cuKernelGetName = (__typeof__(real.cuKernelGetName))(void *)real_missing;
	real.cuKernelGetFunction = (__typeof__(real.cuKernelGetFunction))(void *)real_missing;
}
END_TEST

START_TEST(the_next_run_starts_from_what_this_one_measured)
{
	struct predict_entry *entry = meet(&predict, 0x1000, 5, 0);

	teach(&predict, entry, 70000);
	ck_assert_uint_eq(ring.head, 1);
	keep();
	entry = meet(&again, 0x9000, 5, 0);
	ck_assert(predict_is_known(&again, entry));
	ck_assert_uint_eq(predict_cost_ns(entry), 70000);
	/* It is measured again all the same, and what this run says counts. */
	ck_assert(predict_raw_ns(entry) & PREDICT_LOOK);
	teach(&again, entry, 90000);
	ck_assert_uint_eq(predict_raw_ns(entry), 90000);
	ck_assert(!predict_is_known(&again, meet(&again, 0x9000, 6, 0)));
}
END_TEST

START_TEST(entries_met_before_the_page_came_start_from_it_too)
{
	struct predict_entry *early = meet(&again, 0x9000, 5, 0), *measured, *other;

	measured = meet(&again, 0x9000, 6, 0);
	other = meet(&again, 0x9000, 7, 0);
	predict_sample(&again, measured, 30000, true);
	teach(&predict, meet(&predict, 0x1000, 5, 0), 70000);
	teach(&predict, meet(&predict, 0x1000, 6, 0), 80000);
	keep();
	ck_assert_uint_eq(predict_cost_ns(early), 70000);
	ck_assert_uint_eq(predict_cost_ns(measured), 30000);
	ck_assert(!predict_is_known(&again, other));
}
END_TEST

START_TEST(parts_are_known_again_by_the_launch_before)
{
	struct predict_entry *whole = meet(&predict, 0x1000, 5, 0), *entry;
	struct predict_entry *before = meet(&predict, 0x2000, 9, 0);
	struct predict_context context = {.before = predict_number(&predict, before)};

	for (uint64_t i = 0; i < 8; i++)
		predict_sample(&predict, whole, i % 2 ? 900000 : 100000, true);
	known_tell(&predict, whole, &ring);
	teach(&predict, predict_resolve(&predict, whole, &context), 900000);
	ck_assert_uint_eq(ring.head, 2);
	ck_assert_uint_eq(ring.record[0].flags, SLUICE_ESTIMATE_BY_BEFORE);
	keep();
	whole = meet(&again, 0x5000, 5, 0);
	context.before = predict_number(&again, meet(&again, 0x6000, 9, 0));
	entry = predict_resolve(&again, whole, &context);
	ck_assert_ptr_ne(entry, whole);
	ck_assert_uint_eq(predict_cost_ns(entry), 900000);
	/* After another launch: what is known of all. */
	context.before = predict_number(&again, whole);
	ck_assert_uint_eq(predict_cost_ns(predict_resolve(&again, whole, &context)),
			  predict_cost_ns(whole));
}
END_TEST

START_TEST(only_what_has_changed_is_told_again)
{
	struct predict_entry *entry = meet(&predict, 0x1000, 5, 0);

	known_tell(&predict, entry, &ring);
	ck_assert_uint_eq(ring.head, 0);
	teach(&predict, entry, 70000);
	teach(&predict, entry, 71000);
	ck_assert_uint_eq(ring.head, 1);
	teach(&predict, entry, 140000);
	ck_assert_uint_eq(ring.head, 2);
	ck_assert_uint_eq(ring.record[1].cost_ns, 140000);
	ck_assert(sluice_estimate_is_sane(&ring.record[1]));
}
END_TEST

START_TEST(what_has_no_name_is_not_kept)
{
	struct predict_entry *entry;

	name = NULL;
	entry = meet(&predict, 0x1000, 5, 0);
	teach(&predict, entry, 70000);
	ck_assert_uint_eq(ring.head, 0);
	ck_assert_uint_eq(predict_raw_ns(entry), 70000);
}
END_TEST

START_TEST(a_page_that_makes_no_sense_is_not_taken)
{
	known.page.slots = SLOTS - 1;
	ck_assert_int_eq(known_adopt(&again, &known.page, sizeof(known)), -EINVAL);
	known.page.slots = SLOTS * 2;
	ck_assert_int_eq(known_adopt(&again, &known.page, sizeof(known)), -EINVAL);
	known.page.slots = 0;
	ck_assert_int_eq(known_adopt(&again, &known.page, sizeof(known)), -EINVAL);
	known.page.slots = SLOTS;
	known.page.version++;
	ck_assert_int_eq(known_adopt(&again, &known.page, sizeof(known)), -EINVAL);
	known.page.version--;
	ck_assert_int_eq(known_adopt(&again, &known.page, 16), -EINVAL);
	ck_assert_int_eq(known_map(&again, -1), -EINVAL);
	ck_assert_ptr_null(again.known);
	/* A slot that makes no sense is as good as none. */
	teach(&predict, meet(&predict, 0x1000, 5, 0), 70000);
	ring.record[0].high_ns = 1;
	keep();
	ck_assert(!predict_is_known(&again, meet(&again, 0x9000, 5, 0)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_known");
	TCase *tcase = tcase_create("known");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_key_is_alike_in_every_run_and_differs_with_what_is_launched);
	tcase_add_test(tcase, a_kernel_of_a_library_has_its_function_s_key);
	tcase_add_test(tcase, the_next_run_starts_from_what_this_one_measured);
	tcase_add_test(tcase, entries_met_before_the_page_came_start_from_it_too);
	tcase_add_test(tcase, parts_are_known_again_by_the_launch_before);
	tcase_add_test(tcase, only_what_has_changed_is_told_again);
	tcase_add_test(tcase, what_has_no_name_is_not_kept);
	tcase_add_test(tcase, a_page_that_makes_no_sense_is_not_taken);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
