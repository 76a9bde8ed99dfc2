/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/desc.h"
#include "device/desc_quantity.h"

#define PRESETS "tools/simgpu/presets/"

/* A description with every key, one a line, so that a test can point at a line. */
static const char *const good[] = {
	"name = \"Testbird 1\";",
	"compute_capability = \"8.6\";",
	"sms = 20;",
	"blocks_per_sm = 16;",
	"threads_per_sm = 1536;",
	"registers_per_sm = 65536;",
	"shared_per_sm = \"100 KiB\";",
	"shared_per_block = \"99 KiB\";",
	"copy_engines = 2;",
	"mps = true;",
	"clock = \"1.5 GHz\";",
	"memory = \"2 GB\";",
	"context = \"64 MiB\";",
	"memory_bandwidth = \"0.3 TB/s\";",
	"pinned_bandwidth = \"12 GB/s\";",
	"pageable_bandwidth = \"3500 MB/s\";",
	"slice = \"1.5 ms\";",
	"switch = \"100 us\";",
	"idle_hold = \"0 ns\";",
	"launch_latency = \"4 us\";",
	"kernel_gap = \"900 ns\";",
	"copy_latency = \"0.000008 s\";",
	"saturation_memory = 15;",
	"saturation_unknown = 25;",
	"saturation_compute = 50;",
	"corun_slowdown = \"10 %\";",
	"stagger = \"12.5 %\";",
	"merge = \"30 us\";",
	"age_from_ready = true;",
	"coalesce = \"2 us\";",
};

#define LINES (sizeof(good) / sizeof(good[0]))

static struct model_desc desc;
static struct desc_error error;

/* Loads `good` with line `line` (1..) replaced; 0 replaces none. */
static int load_with(unsigned int line, const char *text)
{
	char path[] = "/tmp/sluice-desc-XXXXXX";
	int fd = mkstemp(path), got;
	FILE *file = fdopen(fd, "w");

	ck_assert_ptr_nonnull(file);
	for (unsigned int i = 0; i < LINES; i++)
		fprintf(file, "%s\n", i + 1 == line ? text : good[i]);
	if (line > LINES)
		fprintf(file, "%s\n", text);
	ck_assert_int_eq(fclose(file), 0);
	memset(&desc, 0xee, sizeof(desc));
	error.line = -1;
	got = desc_load(path, DESC_MPS_FILE, &desc, &error);
	ck_assert_int_eq(unlink(path), 0);
	return got;
}

static void assert_refused(unsigned int line, const char *text, int at, const char *says)
{
	ck_assert_int_eq(load_with(line, text), -EINVAL);
	ck_assert_msg(strstr(error.text, says), "'%s' lacks '%s'", error.text, says);
	ck_assert_int_eq(error.line, at);
}

START_TEST(every_key_lands_in_its_field)
{
	ck_assert_int_eq(load_with(0, ""), 0);
	ck_assert_str_eq(desc.name, "Testbird 1");
	ck_assert_uint_eq(desc.cc_major, 8);
	ck_assert_uint_eq(desc.cc_minor, 6);
	ck_assert_uint_eq(desc.sms, 20);
	ck_assert_uint_eq(desc.blocks_per_sm, 16);
	ck_assert_uint_eq(desc.threads_per_sm, 1536);
	ck_assert_uint_eq(desc.regs_per_sm, 65536);
	ck_assert_uint_eq(desc.smem_per_sm_bytes, 102400);
	ck_assert_uint_eq(desc.smem_per_block_bytes, 101376);
	ck_assert_uint_eq(desc.copy_engines, 2);
	ck_assert_uint_eq(desc.mps, 1);
	ck_assert_uint_eq(desc.clock_khz, 1500000);
	ck_assert_uint_eq(desc.memory_bytes, 2000000000);
	ck_assert_uint_eq(desc.context_bytes, 64 << 20);
	ck_assert_uint_eq(desc.memory_bytes_per_us, 300000);
	ck_assert_uint_eq(desc.pinned_bytes_per_us, 12000);
	ck_assert_uint_eq(desc.pageable_bytes_per_us, 3500);
	ck_assert_uint_eq(desc.slice_ns, 1500000);
	ck_assert_uint_eq(desc.switch_ns, 100000);
	ck_assert_uint_eq(desc.idle_hold_ns, 0);
	ck_assert_uint_eq(desc.launch_latency_ns, 4000);
	ck_assert_uint_eq(desc.kernel_gap_ns, 900);
	ck_assert_uint_eq(desc.copy_latency_ns, 8000);
	ck_assert_uint_eq(desc.saturation_sms[MODEL_CLASS_MEMORY], 15);
	ck_assert_uint_eq(desc.saturation_sms[MODEL_CLASS_UNKNOWN], 25);
	ck_assert_uint_eq(desc.saturation_sms[MODEL_CLASS_COMPUTE], 50);
	ck_assert_uint_eq(desc.corun_permille, 100);
	ck_assert_uint_eq(desc.stagger_permille, 125);
	ck_assert_uint_eq(desc.merge_ns, 30000);
	ck_assert_uint_eq(desc.age_from_ready, 1);
	ck_assert_uint_eq(desc.coalesce_ns, 2000);
}
END_TEST

START_TEST(effects_of_sharing_are_off_unless_said)
{
	static const uint32_t none[MODEL_CLASSES];

	for (unsigned int line = 23; line <= LINES; line++)
		ck_assert_int_eq(load_with(line, ""), 0);
	ck_assert_int_eq(desc_load(PRESETS "h100.conf", DESC_MPS_FILE, &desc, &error), 0);
	ck_assert_mem_eq(desc.saturation_sms, none, sizeof(none));
	ck_assert_uint_eq(desc.corun_permille, 0);
	ck_assert_uint_eq(desc.stagger_permille, 0);
	ck_assert_uint_eq(desc.merge_ns, 0);
	ck_assert_uint_eq(desc.age_from_ready, 0);
	ck_assert_uint_eq(desc.coalesce_ns, 0);
}
END_TEST

START_TEST(same_text_gives_same_bytes)
{
	struct model_desc first;

	ck_assert_int_eq(load_with(0, ""), 0);
	first = desc;
	ck_assert_int_eq(load_with(0, ""), 0);
	ck_assert_mem_eq(&first, &desc, sizeof(desc));
}
END_TEST

START_TEST(mps_is_off_unless_said_and_can_be_overridden)
{
	static const char *const path = PRESETS "l4.conf";

	ck_assert_int_eq(load_with(10, ""), 0);
	ck_assert_uint_eq(desc.mps, 0);
	ck_assert_int_eq(desc_load(path, DESC_MPS_ON, &desc, &error), 0);
	ck_assert_uint_eq(desc.mps, 1);
	ck_assert_int_eq(desc_load(path, DESC_MPS_OFF, &desc, &error), 0);
	ck_assert_uint_eq(desc.mps, 0);
}
END_TEST

START_TEST(cost_table_is_passed_over)
{
	ck_assert_int_eq(load_with(99, "costs = ( { kernel = \"gemm*\"; per_block = 5; } );"), 0);
}
END_TEST

START_TEST(mistakes_name_their_line)
{
	assert_refused(3, "smms = 20;", 3, "unknown key smms");
	assert_refused(99, "colour = \"red\";", LINES + 1, "unknown key colour");
	assert_refused(3, "", 0, "sms is missing");
	assert_refused(3, "sms = \"20\";", 3, "sms must be a whole number");
	assert_refused(3, "sms = 0;", 3, "sms is out of range: 1 to 256");
	assert_refused(3, "sms = -3;", 3, "out of range");
	assert_refused(3, "sms = 257;", 3, "out of range");
	assert_refused(10, "mps = 1;", 10, "mps must be true or false");
	assert_refused(17, "slice = 2000;", 17, "slice must be a number and a unit");
	assert_refused(17, "slice = \"2 min\";", 17, "ns, us, ms or s");
	assert_refused(17, "slice = \"9 us\";", 17, "slice is out of range: 10 us to 10 s");
	assert_refused(2, "compute_capability = \"nine\";", 2, "\"9.0\"");
	assert_refused(2, "compute_capability = \"9.0a\";", 2, "\"9.0\"");
	assert_refused(2, "compute_capability = \"3.5\";", 2, "out of range");
	assert_refused(1, "name = \"\";", 1, "name must be");
	assert_refused(8, "shared_per_block = \"101 KiB\";", 8, "more than shared_per_sm");
	assert_refused(13, "context = \"2 GB\";", 13, "context is not less than memory");
	assert_refused(5, "threads_per_sm = ;", 5, "syntax error");
	assert_refused(23, "saturation_memory = 0;", 23, "out of range: 1 to 100000");
	assert_refused(26, "corun_slowdown = 10;", 26, "a number and a unit in quotes: % or");
	assert_refused(27, "stagger = \"51 %\";", 27,
		       "stagger is out of range: 0 permille to 50 %");
	assert_refused(29, "age_from_ready = 1;", 29, "must be true or false");
}
END_TEST

START_TEST(a_refused_file_changes_nothing)
{
	struct model_desc before;

	memset(&before, 0xee, sizeof(before));
	ck_assert_int_eq(load_with(13, "context = \"2 GB\";"), -EINVAL);
	ck_assert_mem_eq(&desc, &before, sizeof(desc));
}
END_TEST

START_TEST(what_cannot_be_read_is_said)
{
	ck_assert_int_eq(desc_load("/nonexistent/x.conf", DESC_MPS_FILE, &desc, &error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error.text, "No such file"));
	ck_assert_int_eq(desc_load("/tmp", DESC_MPS_FILE, &desc, &error), -EISDIR);
}
END_TEST

START_TEST(presets_load)
{
	ck_assert_int_eq(desc_load(PRESETS "h100.conf", DESC_MPS_FILE, &desc, &error), 0);
	ck_assert_uint_eq(desc.sms, 132);
	ck_assert_uint_eq(desc.memory_bytes, 80ull << 30);
	ck_assert_uint_eq(desc.memory_bytes_per_us, 3350000);
	ck_assert_int_eq(desc_load(PRESETS "a100.conf", DESC_MPS_FILE, &desc, &error), 0);
	ck_assert_uint_eq(desc.sms, 108);
	ck_assert_int_eq(desc_load(PRESETS "l4.conf", DESC_MPS_FILE, &desc, &error), 0);
	ck_assert_uint_eq(desc.sms, 58);
	ck_assert_uint_eq(desc.memory_bytes, 24ull << 30);
	ck_assert_uint_eq(desc.slice_ns, 2000000);
	ck_assert_uint_eq(desc.switch_ns, 100000);
	ck_assert_uint_eq(desc.idle_hold_ns, 50000);
	ck_assert_uint_eq(desc.mps, 0);
}
END_TEST

START_TEST(quantities)
{
	static const char *const bad[] = {"",
					  "ms",
					  "1",
					  "1.ms",
					  ".ms",
					  "1.5 ns",
					  "1 2 ms",
					  "-1 ms",
					  "1e3 ms",
					  "1.1234567 s",
					  "9999999999999999 s",
					  "1 ms ",
					  "1..2 s",
					  "20000000000 s"};
	uint64_t value;
	char text[32];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(quantity_parse(QUANTITY_NS, bad[i], &value) == -EINVAL, "'%s'",
			      bad[i]);
	ck_assert_int_eq(quantity_parse(QUANTITY_NS, "2ms", &value), 0);
	ck_assert_uint_eq(value, 2000000);
	ck_assert_int_eq(quantity_parse(QUANTITY_BYTES, "0.5 KiB", &value), 0);
	ck_assert_uint_eq(value, 512);
	quantity_print(QUANTITY_NS, 1500, text, sizeof(text));
	ck_assert_str_eq(text, "1500 ns");
	quantity_print(QUANTITY_BYTES, 0, text, sizeof(text));
	ck_assert_str_eq(text, "0 B");
	quantity_print(QUANTITY_BYTES, 3ull << 30, text, sizeof(text));
	ck_assert_str_eq(text, "3 GiB");
	ck_assert_int_eq(quantity_parse(QUANTITY_PERMILLE, "0.05 %", &value), -EINVAL);
	ck_assert_int_eq(quantity_parse(QUANTITY_PERMILLE, "12.5 %", &value), 0);
	ck_assert_uint_eq(value, 125);
	quantity_print(QUANTITY_PERMILLE, 125, text, sizeof(text));
	ck_assert_str_eq(text, "125 permille");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device description");
	TCase *tcase = tcase_create("desc");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, every_key_lands_in_its_field);
	tcase_add_test(tcase, effects_of_sharing_are_off_unless_said);
	tcase_add_test(tcase, same_text_gives_same_bytes);
	tcase_add_test(tcase, mps_is_off_unless_said_and_can_be_overridden);
	tcase_add_test(tcase, cost_table_is_passed_over);
	tcase_add_test(tcase, mistakes_name_their_line);
	tcase_add_test(tcase, a_refused_file_changes_nothing);
	tcase_add_test(tcase, what_cannot_be_read_is_said);
	tcase_add_test(tcase, presets_load);
	tcase_add_test(tcase, quantities);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
