/* SPDX-License-Identifier: Apache-2.0 */
/* The file of published facts, and what counts as reproduced. */

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/facts/facts.h"

static struct facts_table table;
static struct facts_error error;

static int load_text(const char *text)
{
	char path[] = "/tmp/sluice-facts-XXXXXX";
	int fd = mkstemp(path), r;
	FILE *file = fdopen(fd, "w");

	ck_assert_ptr_nonnull(file);
	(void)fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
	r = facts_table_load(path, &table, &error);
	ck_assert_int_eq(unlink(path), 0);
	return r;
}

#define FACT_WITH(rest) \
	"facts = (\n{ name = \"a\"; row = \"mps\"; mode = \"mps\"; figure = \"be\"; source = " \
	"\"b\";\n" \
	"published = 0.5; low = 0.4; " rest "; } );\n"

START_TEST(the_files_own_facts_load)
{
	uint32_t kinds[3] = {0};

	ck_assert_int_eq(facts_table_load("tools/plan/suites/facts.cfg", &table, &error), 0);
	ck_assert_uint_ge(table.facts, 14);
	ck_assert_uint_ge(table.orders, 5);
	for (uint32_t i = 0; i < table.facts; i++) {
		ck_assert_double_lt(table.fact[i].low, table.fact[i].high);
		kinds[table.fact[i].kind]++;
	}
	ck_assert_uint_eq(kinds[FACTS_TWINS], 2);
	ck_assert_uint_eq(kinds[FACTS_FLIGHT], 1);
}
END_TEST

START_TEST(a_fact_lands_in_its_fields)
{
	ck_assert_int_eq(load_text(FACT_WITH("high = 0.6; study = 0.45; missed = true")), 0);
	ck_assert_uint_eq(table.facts, 1);
	ck_assert_str_eq(table.fact[0].name, "a");
	ck_assert_str_eq(table.fact[0].place.row, "mps");
	ck_assert_uint_eq(table.fact[0].place.mode, SUITE_MPS);
	ck_assert_int_eq(table.fact[0].figure, FACTS_BE);
	ck_assert_double_eq(table.fact[0].study, 0.45);
	ck_assert(table.fact[0].missed);
	ck_assert_int_eq(load_text(FACT_WITH("high = 0.6")), 0);
	ck_assert_double_lt(table.fact[0].study, 0);
	ck_assert(!table.fact[0].missed);
}
END_TEST

START_TEST(mistakes_name_their_line)
{
	static const struct {
		const char *text, *says;
		int line;
	} cases[] = {
		{FACT_WITH("high = 0.45"), "outside of its bounds", 2},
		{FACT_WITH("high = 1"), "high must be a number with a point", 3},
		{FACT_WITH("low_ = 0.1"), "unknown key low_", 3},
		{FACT_WITH("study = 0.1"), "high must be", 2},
		{"fact = ();\n", "unknown key fact", 1},
		{"orders = ( { name = \"x\"; figure = \"be\";\nrows = ( (\"a\", \"mps\") ); } );\n",
		 "two rows or more", 1},
		{"orders = ( { name = \"x\"; figure = \"be\";\n"
		 "rows = ( (\"a\", \"mps\"), (\"a\", \"mpss\") ); } );\n",
		 "\"time\" or \"mps\"", 2},
		{"facts = (\n", "syntax error", 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(load_text(cases[i].text), -EINVAL);
		ck_assert_msg(strstr(error.text, cases[i].says), "'%s' lacks '%s'", error.text,
			      cases[i].says);
		ck_assert_int_eq(error.line, cases[i].line);
	}
	ck_assert_int_eq(facts_table_load("/nonexistent/facts.cfg", &table, &error), -ENOENT);
	ck_assert_int_eq(facts_table_load("/tmp", &table, &error), -EINVAL);
	ck_assert_int_eq(load_text(""), -EINVAL);
}
END_TEST

START_TEST(a_fact_holds_where_both_groups_are_within)
{
	const struct fact fact = {.low = 0.4, .high = 0.6};
	struct facts_values values = {{0.4, 0.6}, {true, true}};

	ck_assert(facts_holds(&fact, &values));
	values.value[FACTS_HELD_OUT] = 0.61;
	ck_assert(!facts_holds(&fact, &values));
	values.known[FACTS_HELD_OUT] = false;
	ck_assert(facts_holds(&fact, &values));
	values.value[FACTS_TUNED] = 0.39;
	ck_assert(!facts_holds(&fact, &values));
	values.known[FACTS_TUNED] = false;
	ck_assert(!facts_holds(&fact, &values)); /* nothing was measured */
}
END_TEST

START_TEST(an_order_holds_where_both_groups_rise)
{
	const struct facts_order order = {.places = 3};
	struct facts_values values[3] = {
		{{1, 5}, {true, true}}, {{2, 6}, {true, true}}, {{3, 7}, {true, true}}};

	ck_assert(facts_order_holds(&order, values));
	values[1].value[FACTS_HELD_OUT] = 7;
	ck_assert(!facts_order_holds(&order, values)); /* equal is no order */
	for (int i = 0; i < 3; i++)
		values[i].known[FACTS_HELD_OUT] = false;
	ck_assert(facts_order_holds(&order, values));
	for (int i = 0; i < 3; i++)
		values[i].known[FACTS_TUNED] = false;
	ck_assert(!facts_order_holds(&order, values));
}
END_TEST

START_TEST(surprises_are_counted)
{
	static struct facts_outcome outcome;
	FILE *out = tmpfile();
	char text[2048];
	size_t length;

	ck_assert_int_eq(load_text(FACT_WITH("high = 0.6")), 0);
	outcome.fact[0] = (struct facts_values){{0.5, 0.5}, {true, true}};
	ck_assert_uint_eq(facts_print(&table, &outcome, out), 0);
	outcome.fact[0].value[1] = 0.7;
	ck_assert_uint_eq(facts_print(&table, &outcome, out), 1);
	table.fact[0].missed = true;
	ck_assert_uint_eq(facts_print(&table, &outcome, out), 0);
	outcome.fact[0].value[1] = 0.5;
	ck_assert_uint_eq(facts_print(&table, &outcome, out), 1);
	rewind(out);
	length = fread(text, 1, sizeof(text) - 1, out);
	text[length] = 0;
	ck_assert_ptr_nonnull(strstr(text, "NOT REPRODUCED"));
	ck_assert_ptr_nonnull(strstr(text, "not reproduced (known)"));
	ck_assert_ptr_nonnull(strstr(text, "REPRODUCED NOW"));
	(void)fclose(out);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("facts table");
	TCase *tcase = tcase_create("facts table");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, the_files_own_facts_load);
	tcase_add_test(tcase, a_fact_lands_in_its_fields);
	tcase_add_test(tcase, mistakes_name_their_line);
	tcase_add_test(tcase, a_fact_holds_where_both_groups_are_within);
	tcase_add_test(tcase, an_order_holds_where_both_groups_rise);
	tcase_add_test(tcase, surprises_are_counted);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
