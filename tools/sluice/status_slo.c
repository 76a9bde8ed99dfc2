/* SPDX-License-Identifier: Apache-2.0 */
#include "status_slo.h"

#include <stdbool.h>

#include "number_json.h"
#include "table.h"

#define TEXT 32

static const char *const states[] = {
	[SLUICE_SLO_NO_TARGET] = "no_target", [SLUICE_SLO_FIXED] = "fixed",
	[SLUICE_SLO_LEARNING] = "learning",   [SLUICE_SLO_NO_ARRIVALS] = "no_arrivals",
	[SLUICE_SLO_STEERED] = "steered",     [SLUICE_SLO_UNREACHABLE] = "unreachable",
	[SLUICE_SLO_AT_FLOOR] = "at_floor",
};

static bool has_controller(const struct sluice_msg_status_tenant *row)
{
	return row->tenant_class == SLUICE_LATENCY_CRITICAL && row->window_ns &&
	       row->slo_state < sizeof(states) / sizeof(states[0]);
}

void slo_format_target(const struct sluice_msg_status_tenant *row, size_t size, char *ret_text)
{
	if (!row->target_over_permille)
		format_ns(row->target_ns, size, ret_text);
	else if (row->target_over_permille % 10)
		snprintf(ret_text, size, "+%u.%u %%", row->target_over_permille / 10,
			 row->target_over_permille % 10);
	else
		snprintf(ret_text, size, "+%u %%", row->target_over_permille / 10);
}

static void print_tail(const char *what, uint64_t shared_ns, uint64_t alone_ns, FILE *out)
{
	char shared[TEXT], alone[TEXT];

	if (!shared_ns || !alone_ns)
		return;
	format_ns(shared_ns, sizeof(shared), shared);
	format_ns(alone_ns, sizeof(alone), alone);
	fprintf(out, "; %s %s, alone %s (%+.1f %%)", what, shared, alone,
		((double)shared_ns / (double)alone_ns - 1) * 100);
}

static void print_state(const struct sluice_msg_status_tenant *row, FILE *out)
{
	switch (row->slo_state) {
	case SLUICE_SLO_NO_TARGET: fputs("no target", out); return;
	case SLUICE_SLO_FIXED: fputs(", level fixed by the configuration", out); return;
	case SLUICE_SLO_LEARNING: fputs(", still learning", out); return;
	case SLUICE_SLO_NO_ARRIVALS: fputs(", no arrival known", out); return;
	case SLUICE_SLO_UNREACHABLE: fputs(", not reachable with best-effort closed", out); return;
	case SLUICE_SLO_AT_FLOOR:
		fputs(", not met yet with best-effort held as far as it goes", out);
		return;
	default: return;
	}
}

void slo_print(const struct sluice_msg_status_tenant *row, FILE *out)
{
	char target[TEXT], window[TEXT], guard[TEXT], from[TEXT], until[TEXT];

	if (!has_controller(row))
		return;
	slo_format_target(row, sizeof(target), target);
	format_ns(row->window_ns, sizeof(window), window);
	format_ns(row->guard_ns, sizeof(guard), guard);
	fprintf(out, "%.*s: ", (int)sizeof(row->name), row->name);
	if (row->slo_state != SLUICE_SLO_NO_TARGET)
		fprintf(out, "target p99 %s %s", target,
			row->target_arrival ? "from arrival" : "of service");
	print_state(row, out);
	fprintf(out, "; level %.2f, window %s, guard %s", row->level / 1000.0, window, guard);
	if (row->cap_sms)
		fprintf(out, ", %u SMs beside it", row->cap_sms);
	if (row->quiet_until_ns) {
		format_ns(row->quiet_from_ns, sizeof(from), from);
		format_ns(row->quiet_until_ns, sizeof(until), until);
		fprintf(out, ", next arrival expected %s to %s after the last", from, until);
	}
	if (row->steered_requests)
		fprintf(out, "; of the last %u requests", row->steered_requests);
	print_tail("p99 of service", row->recent_service_p99_ns, row->alone_service_p99_ns, out);
	print_tail("from arrival", row->recent_arrival_p99_ns, row->alone_arrival_p99_ns, out);
	fputc('\n', out);
}

json_t *slo_json(const struct sluice_msg_status_tenant *row)
{
	json_t *object;

	if (!has_controller(row))
		return NULL;
	object = json_object();
	json_object_set_new(object, "state", json_string(states[row->slo_state]));
	json_object_set_new(object, "of", json_string(row->target_arrival ? "arrival" : "service"));
	json_object_set_new(object, "target_ns", number_json_known(row->target_ns));
	json_object_set_new(object, "target_over",
			    row->target_over_permille
				    ? json_real(row->target_over_permille / 1000.0)
				    : json_null());
	json_object_set_new(object, "level", json_real(row->level / 1000.0));
	json_object_set_new(object, "window_ns", number_json_known(row->window_ns));
	json_object_set_new(object, "guard_ns", number_json_known(row->guard_ns));
	json_object_set_new(object, "cap_sms", json_integer(row->cap_sms));
	json_object_set_new(object, "busy_limit_ns", number_json_known(row->busy_limit_ns));
	json_object_set_new(object, "quiet_from_ns", number_json_known(row->quiet_from_ns));
	json_object_set_new(object, "quiet_until_ns", number_json_known(row->quiet_until_ns));
	json_object_set_new(object, "requests", json_integer(row->steered_requests));
	json_object_set_new(object, "service_p99_ns",
			    number_json_known(row->recent_service_p99_ns));
	json_object_set_new(object, "service_alone_p99_ns",
			    number_json_known(row->alone_service_p99_ns));
	json_object_set_new(object, "arrival_p99_ns",
			    number_json_known(row->recent_arrival_p99_ns));
	json_object_set_new(object, "arrival_alone_p99_ns",
			    number_json_known(row->alone_arrival_p99_ns));
	json_object_set_new(object, "alone_median_ns", number_json_known(row->alone_median_ns));
	json_object_set_new(object, "reachable_p99_ns", number_json_known(row->reachable_p99_ns));
	return object;
}
