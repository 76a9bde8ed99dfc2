/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/late.h"
#include "sluice/table.h"
#include "sluice/target.h"

/* The command's main.c has this one; the archive leaves main.c out. */
int cmd_fail(const char *format, ...);
int cmd_fail(const char *format, ...)
{
	(void)format;
	return 1;
}

START_TEST(columns_are_as_wide_as_their_widest_cell)
{
	struct table table = {.right = 1u << 1};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(table_row(&table, (const char *[]){"NAME", "N", "X", NULL}), 0);
	ck_assert_int_eq(table_row(&table, (const char *[]){"a", "1234", "last", NULL}), 0);
	ck_assert_int_eq(table_row(&table, (const char *[]){"longer", NULL}), 0);
	table_print(&table, 0, out);
	fclose(out);
	ck_assert_str_eq(text, "NAME       N  X\n"
			       "a       1234  last\n"
			       "longer\n");
	free(text);
	table_finish(&table);
}
END_TEST

START_TEST(no_line_ends_with_blanks)
{
	struct table table = {.right = 1u << 1 | 1u << 3};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(table_row(&table, (const char *[]){"NAME", "N", "NOTE", "LATE", NULL}), 0);
	ck_assert_int_eq(table_row(&table, (const char *[]){"a", "12", "", "", NULL}), 0);
	ck_assert_int_eq(table_row(&table, (const char *[]){"", "", "x", "", NULL}), 0);
	ck_assert_int_eq(table_row(&table, (const char *[]){"", "", "", "1", NULL}), 0);
	table_print(&table, 0, out);
	fclose(out);
	ck_assert_str_eq(text, "NAME   N  NOTE  LATE\n"
			       "a     12\n"
			       "          x\n"
			       "                   1\n");
	free(text);
	table_finish(&table);
}
END_TEST

/* What came first is what is asked: sums, then some of the newest. */
START_TEST(why_prints_sums_then_the_newest)
{
	static struct sluice_msg_why_request request[30];
	static struct sluice_msg_why_cause cause[2];
	struct late late = {.request = request,
			    .cause = cause,
			    .requests = 30,
			    .causes = 2,
			    .end = {.minutes = 5, .target_ns = 1000000, .of = "service"}};
	char *text = NULL;
	const char *sums, *rows;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (unsigned int i = 0; i < 30; i++) {
		request[i].ago_ns = (i + 1) * 1000000000ull;
		request[i].limit_ns = i < 20 ? 1000000 : 500000;
	}
	cause[0].request = 3;
	cause[1].request = 25;
	request[3].queued_ns = 1500000;
	request[3].own_ns = 7000000;
	memcpy(cause[0].tenant, "batch", 6);
	memcpy(cause[1].tenant, "batch", 6);
	ck_assert_int_eq(late_print("chat", &late, 0, out), 0);
	fclose(out);
	/* `set` changed it on the way. */
	ck_assert_ptr_nonnull(strstr(text, "(p99 1 ms of service now; 10 late against the target "
					   "that was then)\n"));
	sums = strstr(text, "LATE REQUESTS");
	rows = strstr(text, "ENDED AGO");
	ck_assert(sums && rows && sums < rows);
	ck_assert_ptr_nonnull(strstr(rows, "20 s"));
	/* What best-effort work cannot explain. */
	ck_assert_ptr_nonnull(strstr(rows, "  1.5 ms      7 ms  batch"));
	ck_assert_ptr_null(strstr(rows, "21 s"));
	ck_assert_ptr_nonnull(strstr(rows, "\nand 10 more; --json has all\n"));
	ck_assert_ptr_null(strstr(text, " \n"));
	free(text);
}
END_TEST

START_TEST(why_names_one_target_where_there_was_one)
{
	static struct sluice_msg_why_request request = {.limit_ns = 1000000};
	struct late late = {
		.request = &request, .requests = 1, .end = {.minutes = 5, .of = "service"}};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	late.end.target_ns = 1000000;
	ck_assert_int_eq(late_print("chat", &late, 0, out), 0);
	/* What a relative one allows is never the same for long. */
	late.end.target_ns = 0;
	late.end.target_over_permille = 100;
	ck_assert_int_eq(late_print("chat", &late, 0, out), 0);
	fclose(out);
	ck_assert_ptr_nonnull(
		strstr(text, "1 late request in the last 5 min (p99 1 ms of service)\n"));
	ck_assert_ptr_nonnull(strstr(text, "(p99 +10.0 % of service)\n"));
	free(text);
}
END_TEST

/* Each part begins with the first column, and has as many of the others as fit. */
START_TEST(wide_tables_are_printed_in_parts)
{
	struct table table = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(table_row(&table, (const char *[]){"NAME", "ONE", "TWO", "THREE", NULL}),
			 0);
	ck_assert_int_eq(table_row(&table, (const char *[]){"a", "1", "2", "3", NULL}), 0);
	table_print(&table, 20, out);
	fputs("--\n", out);
	table_print(&table, 14, out);
	fputs("--\n", out);
	table_print(&table, 3, out);
	fclose(out);
	ck_assert_str_eq(text, "NAME  ONE  TWO\n"
			       "a     1    2\n"
			       "NAME  THREE\n"
			       "a     3\n"
			       "--\n"
			       "NAME  ONE  TWO\n"
			       "a     1    2\n"
			       "NAME  THREE\n"
			       "a     3\n"
			       "--\n"
			       "NAME\n"
			       "a\n"
			       "NAME  ONE\n"
			       "a     1\n"
			       "NAME  TWO\n"
			       "a     2\n"
			       "NAME  THREE\n"
			       "a     3\n");
	free(text);
	table_finish(&table);
}
END_TEST

/* Rows that two columns name have both in each part. */
START_TEST(each_part_has_all_that_names_its_rows)
{
	struct table table = {.keys = 2};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(
		table_row(&table, (const char *[]){"POLICY", "TENANT", "P50", "P99", "OVER", NULL}),
		0);
	ck_assert_int_eq(table_row(&table, (const char *[]){"slo", "a", "1", "2", "3", NULL}), 0);
	ck_assert_int_eq(table_row(&table, (const char *[]){"", "b", "4", "5", "6", NULL}), 0);
	table_print(&table, 27, out);
	fputs("--\n", out);
	/* Too narrow even for the names: one column beside them all the same. */
	table_print(&table, 10, out);
	fclose(out);
	ck_assert_str_eq(text, "POLICY  TENANT  P50  P99\n"
			       "slo     a       1    2\n"
			       "        b       4    5\n"
			       "POLICY  TENANT  OVER\n"
			       "slo     a       3\n"
			       "        b       6\n"
			       "--\n"
			       "POLICY  TENANT\n"
			       "slo     a\n"
			       "        b\n"
			       "POLICY  TENANT  P50\n"
			       "slo     a       1\n"
			       "        b       4\n"
			       "POLICY  TENANT  P99\n"
			       "slo     a       2\n"
			       "        b       5\n"
			       "POLICY  TENANT  OVER\n"
			       "slo     a       3\n"
			       "        b       6\n");
	free(text);
	table_finish(&table);
}
END_TEST

START_TEST(long_lines_are_broken_between_words)
{
	static const struct {
		size_t columns;
		const char *lines, *printed;
	} cases[] = {
		{0, "any number of words\n", "any number of words\n"},
		{19, "any number of words\n\nend", "any number of words\n\nend\n"},
		{18, "any number of words\nend\n", "any number of\n    words\nend\n"},
		{10, "a b c d e f g h\n", "a b c d e\n    f g h\n"},
		{10, "abcdefghijklmnopqr\n", "abcdefghij\n    klmnop\n    qr\n"},
		{10, "", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		print_wrapped(cases[i].lines, cases[i].columns, out);
		fclose(out);
		ck_assert_str_eq(text, cases[i].printed);
		free(text);
	}
}
END_TEST

START_TEST(units_are_readable)
{
	char text[32];

	format_bytes(0, sizeof(text), text);
	ck_assert_str_eq(text, "0 B");
	format_bytes(1536, sizeof(text), text);
	ck_assert_str_eq(text, "1.5 KiB");
	format_bytes(80ull << 30, sizeof(text), text);
	ck_assert_str_eq(text, "80 GiB");
	format_bytes(UINT64_MAX, sizeof(text), text);
	ck_assert_str_eq(text, "-");
	format_ns(0, sizeof(text), text);
	ck_assert_str_eq(text, "-");
	format_ns(9830000, sizeof(text), text);
	ck_assert_str_eq(text, "9.83 ms");
	format_ns(950, sizeof(text), text);
	ck_assert_str_eq(text, "950 ns");
	format_permille(473, sizeof(text), text);
	ck_assert_str_eq(text, "47.3 %");
}
END_TEST

START_TEST(kernels_are_named_as_people_write_them)
{
	static const char *const cases[][2] = {
		{"_Z13augment_inputPKfPf", "augment_input"},
		{"_ZN4cuda3std4gemmIfEEvPT_", "gemm"},
		{"plain", "plain"},
		{"_Z99cut", "_Z99cut"},
		{"_Z", "_Z"},
		{"", ""},
	};
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		format_kernel(cases[i][0], sizeof(text), text);
		ck_assert_str_eq(text, cases[i][1]);
	}
}
END_TEST

/* A file that starts with these bytes, executable, in a folder of its own. */
static void make_file(const char *folder, const char *name, const void *bytes, size_t size,
		      size_t room, char *ret_path)
{
	int fd;

	snprintf(ret_path, room, "%s/%s", folder, name);
	fd = open(ret_path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (int)size);
	close(fd);
}

START_TEST(programs_that_no_preload_reaches_are_named)
{
	static const char musl[] = "/lib/ld-musl-x86_64.so.1";
	char folder[] = "/tmp/sluice-test-XXXXXX", path[256], script[512], why[512];
	char name[64], other[64];
	struct {
		unsigned char head[64], program[56], loader[64];
	} elf = {.head = {0x7f, 'E', 'L', 'F', 2, 1, 1}};

	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(target_check("true", sizeof(why), why, sizeof(name), name), 0);
	ck_assert_str_ne(name, "");
	ck_assert_int_lt(target_check("no-such-program-here", sizeof(why), why, sizeof(name), name),
			 0);
	ck_assert_ptr_nonnull(strstr(why, "no-such-program-here"));

	/* e_phoff = 64, e_phnum = 0: no interpreter, so static. */
	elf.head[32] = 64;
	make_file(folder, "static", &elf, sizeof(elf), sizeof(path), path);
	ck_assert_int_lt(target_check(path, sizeof(why), why, sizeof(name), name), 0);
	ck_assert_ptr_nonnull(strstr(why, "statically linked"));

	/* One PT_INTERP segment that names musl's loader; a script that leads to it too. */
	elf.head[56] = 1;
	elf.program[0] = 3;
	elf.program[8] = 120;
	elf.program[32] = sizeof(musl);
	memcpy(elf.loader, musl, sizeof(musl));
	make_file(folder, "musl", &elf, sizeof(elf), sizeof(path), path);
	ck_assert_int_lt(target_check(path, sizeof(why), why, sizeof(name), name), 0);
	ck_assert_ptr_nonnull(strstr(why, "musl"));
	snprintf(script, sizeof(script), "#!/usr/bin/env -S A=1 %s\n", path);
	make_file(folder, "script", script, strlen(script), sizeof(path), path);
	ck_assert_int_lt(target_check(path, sizeof(why), why, sizeof(name), name), 0);
	ck_assert_ptr_nonnull(strstr(why, "musl"));

	/* A script becomes its interpreter. */
	snprintf(script, sizeof(script), "#!/usr/bin/env -S A=1 true\n");
	make_file(folder, "script", script, strlen(script), sizeof(path), path);
	ck_assert_int_eq(target_check(path, sizeof(why), why, sizeof(other), other), 0);
	ck_assert_int_eq(target_check("true", sizeof(why), why, sizeof(name), name), 0);
	ck_assert_str_eq(other, name);

	snprintf(script, sizeof(script), "%s/static", folder);
	unlink(script);
	snprintf(script, sizeof(script), "%s/musl", folder);
	unlink(script);
	unlink(path);
	rmdir(folder);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli");
	TCase *tcase = tcase_create("cli");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, columns_are_as_wide_as_their_widest_cell);
	tcase_add_test(tcase, no_line_ends_with_blanks);
	tcase_add_test(tcase, why_prints_sums_then_the_newest);
	tcase_add_test(tcase, why_names_one_target_where_there_was_one);
	tcase_add_test(tcase, wide_tables_are_printed_in_parts);
	tcase_add_test(tcase, each_part_has_all_that_names_its_rows);
	tcase_add_test(tcase, long_lines_are_broken_between_words);
	tcase_add_test(tcase, units_are_readable);
	tcase_add_test(tcase, kernels_are_named_as_people_write_them);
	tcase_add_test(tcase, programs_that_no_preload_reaches_are_named);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
