/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "plan/policy.h"
#include "plan_text.h"
#include "table.h"

static void print_ns(uint64_t ns, FILE *out)
{
	char text[32];

	format_ns(ns, sizeof(text), text);
	fputs(ns ? text : "0", out);
}

static void print_preset(const struct plan_option *option, FILE *out)
{
	double value = (double)option->preset;

	if (option->preset == PLAN_OPEN)
		fputs("open", out);
	else if (option->unit == PLAN_NS)
		print_ns(option->preset, out);
	else if (option->unit == PLAN_PERMILLE)
		fprintf(out, "%g %%", value / 10);
	else if (option->unit == PLAN_MILLI)
		fprintf(out, "%g", (double)(int64_t)option->preset / 1000);
	else if (option->unit == PLAN_FLAG)
		fputs(option->preset ? "true" : "false", out);
	else
		fprintf(out, "%g", value);
}

static void print_all(FILE *out)
{
	const struct plan_policy *policy;

	for (unsigned int i = 0; (policy = plan_policy_at(i)); i++) {
		uint32_t options = plan_policy_options(policy);

		fprintf(out, "%s: %s\n", policy->name, policy->about);
		for (uint32_t j = 0; j < options; j++) {
			fprintf(out, "  %-16s %s (", policy->options[j].name,
				policy->options[j].help);
			print_preset(&policy->options[j], out);
			fputs(")\n", out);
		}
	}
}

int plan_print_policies(size_t columns, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return -ENOMEM;
	print_all(memory);
	if (fclose(memory)) {
		free(text);
		return -ENOMEM;
	}
	print_wrapped(text, columns, out);
	free(text);
	return 0;
}
