/* SPDX-License-Identifier: Apache-2.0 */
/* The facts as a table, and as JSON. */

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "plan/facts/facts.h"

static const char *const group_name[FACTS_GROUPS] = {"tuned", "held_out"};

static void print_value(double value, bool known, FILE *out)
{
	if (known)
		(void)fprintf(out, " %8.3f", value);
	else
		(void)fprintf(out, " %8s", "-");
}

static const char *verdict(bool holds, bool missed)
{
	if (holds)
		return missed ? "REPRODUCED NOW" : "reproduced";
	return missed ? "not reproduced (known)" : "NOT REPRODUCED";
}

uint32_t facts_print(const struct facts_table *table, const struct facts_outcome *outcome,
		     FILE *out)
{
	uint32_t surprises = 0;

	(void)fprintf(out,
		      "Simulated. Published facts, and the model on the pairs it was tuned on "
		      "and on those held out.\n%-40s %8s %8s %8s %8s %17s\n",
		      "", "publ.", "study", "tuned", "held out", "bounds");
	for (uint32_t i = 0; i < table->facts; i++) {
		const struct fact *fact = &table->fact[i];
		const struct facts_values *values = &outcome->fact[i];
		bool holds = facts_holds(fact, values);

		(void)fprintf(out, "%-40s %8.3f", fact->name, fact->published);
		print_value(fact->study, fact->study >= 0, out);
		for (int group = 0; group < FACTS_GROUPS; group++)
			print_value(values->value[group], values->known[group], out);
		(void)fprintf(out, " %8.3f %8.3f  %s\n", fact->low, fact->high,
			      verdict(holds, fact->missed));
		surprises += holds == fact->missed;
	}
	(void)fprintf(out, "Orders, from least to most:\n");
	for (uint32_t i = 0; i < table->orders; i++) {
		const struct facts_order *order = &table->order[i];
		bool holds = facts_order_holds(order, outcome->order[i]);

		(void)fprintf(out, "%s: %s\n", order->name, verdict(holds, order->missed));
		surprises += holds == order->missed;
	}
	return surprises;
}

/* ---- JSON ---- */

static json_t *values_json(const struct facts_values *values)
{
	json_t *object = json_object();

	for (int group = 0; group < FACTS_GROUPS; group++)
		if (values->known[group])
			(void)json_object_set_new(object, group_name[group],
						  json_real(values->value[group]));
	return object;
}

static json_t *fact_json(const struct fact *fact, const struct facts_values *values)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:o, s:b}", "name", fact->name, "row",
			 fact->place.row, "mode", suite_mode_name[fact->place.mode], "source",
			 fact->source, "published", fact->published, "low", fact->low, "high",
			 fact->high, "model", values_json(values), "reproduced",
			 facts_holds(fact, values));
}

static json_t *order_json(const struct facts_order *order, const struct facts_values *values)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < order->places; i++)
		(void)json_array_append_new(rows,
					    json_pack("{s:s, s:s, s:o}", "row", order->place[i].row,
						      "mode", suite_mode_name[order->place[i].mode],
						      "model", values_json(&values[i])));
	return json_pack("{s:s, s:o, s:b}", "name", order->name, "rows", rows, "reproduced",
			 facts_order_holds(order, values));
}

int facts_write(const struct facts_table *table, const struct facts_outcome *outcome,
		const char *path)
{
	json_t *facts = json_array(), *orders = json_array(), *root;
	int r;

	for (uint32_t i = 0; i < table->facts; i++)
		(void)json_array_append_new(facts, fact_json(&table->fact[i], &outcome->fact[i]));
	for (uint32_t i = 0; i < table->orders; i++)
		(void)json_array_append_new(orders,
					    order_json(&table->order[i], outcome->order[i]));
	root = json_pack("{s:b, s:o, s:o}", "simulated", 1, "facts", facts, "orders", orders);
	if (!root)
		return -ENOMEM;
	r = json_dump_file(root, path, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) ? -EIO : 0;
	if (r)
		(void)fprintf(stderr, "%s: cannot be written\n", path);
	json_decref(root);
	return r;
}
