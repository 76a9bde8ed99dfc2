/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of a frontier: its scale fits what is there, what lies outside is marked, and the
 * numbers can be read. */

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/frontier_labels.h"
#include "plan/frontier_svg.h"

static char *draw(const struct frontier_point *point, uint32_t points, double a_target)
{
	struct frontier frontier = {.title = "a < b",
				    .subtitle = "made up",
				    .idle = 0.48,
				    .a_target = a_target,
				    .s_target = NAN,
				    .point = point,
				    .points = points};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(frontier_draw(&frontier, out), 0);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static uint32_t count_of(const char *text, const char *what)
{
	uint32_t count = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		count++;
	return count;
}

START_TEST(test_scale_fits)
{
	const struct frontier_point near[] = {{.label = "x", .throughput = 0.44, .a_over = 0.01},
					      {.label = "y", .throughput = 0.49, .a_over = 0.02}};
	const struct frontier_point far[] = {{.label = "x", .throughput = 0.1, .a_over = 0.01},
					     {.label = "y", .throughput = 1.9, .a_over = 5000}};
	char *text = draw(near, 2, NAN);

	ck_assert_uint_eq(count_of(text, ">44 %</text>"), 2);
	ck_assert_uint_eq(count_of(text, ">49 %</text>"), 2);
	ck_assert_uint_eq(count_of(text, ">10 %</text>"), 2); /* over alone */
	ck_assert_uint_eq(count_of(text, ">0 %</text>"), 0);
	ck_assert_uint_eq(count_of(text, ">100 %</text>"), 0);
	ck_assert_uint_eq(count_of(text, "&#8804;"), 2);
	ck_assert_uint_eq(count_of(text, "&#8805;"), 0);
	ck_assert_ptr_nonnull(strstr(text, "a &lt; b"));
	ck_assert_ptr_nonnull(strstr(text, "best-effort 44.0 %<"));
	free(text);

	text = draw(far, 2, NAN);
	ck_assert_uint_eq(count_of(text, ">0 %</text>"), 2);
	ck_assert_uint_eq(count_of(text, ">200 %</text>"), 2);
	ck_assert_uint_eq(count_of(text, "&#8805; 10000 %"), 2);
	free(text);
}
END_TEST

START_TEST(test_target_and_hollow_points_are_explained)
{
	struct frontier_point point[] = {{.label = "x", .throughput = 0.4, .a_over = 0.01},
					 {.label = "y", .throughput = 0.5, .a_over = 0.5}};
	char *text = draw(point, 2, 0.1);

	ck_assert_uint_eq(count_of(text, "target +10.0 %"), 1); /* it is on A alone */
	ck_assert_ptr_null(strstr(text, "unstable"));
	free(text);
	point[1].unstable = true;
	text = draw(point, 2, NAN);
	ck_assert_ptr_null(strstr(text, "target"));
	ck_assert_uint_eq(count_of(text, "hollow, unstable: "), 1);
	free(text);
}
END_TEST

static bool apart(double a_left, double a_right, double a_bottom, double b_left, double b_right,
		  double b_bottom)
{
	return a_right <= b_left || b_right <= a_left || a_bottom <= b_bottom - LABEL_HEIGHT ||
	       b_bottom <= a_bottom - LABEL_HEIGHT;
}

START_TEST(test_no_number_lies_on_another)
{
	struct label label[12] = {{.x = 0}};
	double width[12];

	for (uint32_t i = 0; i < 12; i++) {
		/* Four of them in one place. */
		label[i].x = 100 + 3 * (i / 4);
		label[i].y = 200 + (i % 4 ? 0 : 2);
		width[i] = LABEL_DIGIT * (i < 9 ? 1 : 2);
	}
	labels_place(label, 12);
	for (uint32_t i = 0; i < 12; i++) {
		double left = label[i].text_x, right = left + width[i];

		ck_assert_double_lt(hypot(left - label[i].x, label[i].text_y - label[i].y), 100);
		for (uint32_t j = 0; j < 12; j++) {
			ck_assert(i == j || apart(left, right, label[i].text_y, label[j].text_x,
						  label[j].text_x + width[j], label[j].text_y));
			ck_assert(apart(left, right, label[i].text_y, label[j].x - 4,
					label[j].x + 4, label[j].y + LABEL_HEIGHT / 2));
		}
	}
	/* One with room around it stands beside its point. */
	label[0] = (struct label){.x = 50, .y = 50};
	labels_place(label, 1);
	ck_assert(!label[0].apart);
	ck_assert_double_lt(hypot(label[0].text_x - 50, label[0].text_y - 50), 20);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_frontier");
	TCase *tcase = tcase_create("picture");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, test_scale_fits);
	tcase_add_test(tcase, test_target_and_hollow_points_are_explained);
	tcase_add_test(tcase, test_no_number_lies_on_another);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
