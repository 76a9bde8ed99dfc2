/* SPDX-License-Identifier: Apache-2.0 */
/* The orders in the report, and in the table for people. */

#include <math.h>
#include <string.h>

#include "plan/suites/orders.h"

#define LINE 96u

/* False: the scene was not played. */
static bool verdict_of(const struct suite *suite, uint32_t index, struct order_verdict *ret)
{
	struct order_values value[SUITE_SEEDS];
	uint32_t seeds = 0, failed = 0;

	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];
		const struct suite_result *result = &suite->result[i];

		if (job->kind != SUITE_ORDER || job->row != index)
			continue;
		if (result->error)
			failed++;
		else
			value[seeds++] = result->order;
	}
	order_judge(order_at(index), value, seeds, failed, ret);
	return seeds || failed;
}

static double rounded(double value)
{
	return round(value * 10000) / 10000;
}

static json_t *scene_json(const struct order_scene *scene, const struct order_verdict *verdict)
{
	json_t *object = json_object(), *figures = json_object();

	for (uint32_t i = 0; verdict->seeds && scene->figure[i].name; i++)
		json_object_set_new(figures, scene->figure[i].name,
				    json_pack("{s:f,s:f}", "without",
					      rounded(verdict->value[ORDER_WITHOUT][i]), "with",
					      rounded(verdict->value[ORDER_WITH][i])));
	json_object_set_new(object, "source", json_string(scene->source));
	json_object_set_new(object, "about", json_string(scene->about));
	json_object_set_new(object, "figures", figures);
	json_object_set_new(object, "seeds", json_integer(verdict->seeds));
	json_object_set_new(object, "wins", json_boolean(verdict->wins));
	json_object_set_new(object, "default", json_boolean(scene->is_default));
	json_object_set_new(object, "why", json_string(scene->why));
	return object;
}

json_t *suite_orders_json(const struct suite *suite)
{
	json_t *all = json_object();
	struct order_verdict verdict;

	for (uint32_t i = 0; order_at(i); i++) {
		if (verdict_of(suite, i, &verdict))
			json_object_set_new(all, order_at(i)->name,
					    scene_json(order_at(i), &verdict));
	}
	return all;
}

/* In lines that fit a terminal. */
static void print_text(const char *text, FILE *out)
{
	while (*text) {
		size_t length = strlen(text);

		if (length > LINE) {
			length = LINE;
			while (length > 1 && text[length] != ' ')
				length--;
		}
		(void)fprintf(out, "  %.*s\n", (int)length, text);
		text += length;
		text += strspn(text, " ");
	}
}

static void print_scene(const struct order_scene *scene, const struct order_verdict *verdict,
			FILE *out)
{
	static const char *const use[] = {
		[ORDER_GAIN] = "must gain", [ORDER_GUARD] = "must not lose", [ORDER_SHOWN] = ""};

	(void)fprintf(out, "%s: %s, %s\n", scene->name, verdict->wins ? "wins" : "no gain",
		      scene->is_default ? "default" : "no default");
	print_text(scene->why, out);
	for (uint32_t i = 0; verdict->seeds && scene->figure[i].name; i++)
		(void)fprintf(out, "    %-28s %12.4f %12.4f%s%s\n", scene->figure[i].name,
			      verdict->value[ORDER_WITHOUT][i], verdict->value[ORDER_WITH][i],
			      *use[scene->figure[i].use] ? "  " : "", use[scene->figure[i].use]);
}

void suite_orders_print(const struct suite *suite, FILE *out)
{
	struct order_verdict verdict;
	bool head = false;

	for (uint32_t i = 0; order_at(i); i++) {
		if (!verdict_of(suite, i, &verdict))
			continue;
		if (!head)
			(void)fprintf(out, "\n%-32s %12s %12s\n", "orders from papers", "without",
				      "with");
		head = true;
		print_scene(order_at(i), &verdict, out);
	}
}
