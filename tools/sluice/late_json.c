/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "late.h"
#include "number_json.h"

/* Empty: null. */
static json_t *text(const char *field)
{
	json_t *string =
		*field ? json_stringn(field, strnlen(field, SLUICE_NAME_MAX)) : json_null();

	return string ? string : json_string("(not UTF-8)");
}

static json_t *cause_json(const struct sluice_msg_why_cause *cause)
{
	json_t *object = json_object();

	json_object_set_new(object, "tenant", text(cause->tenant));
	json_object_set_new(object, "pid", *cause->tenant ? number_json(cause->pid) : json_null());
	json_object_set_new(object, "in_flight_ns", number_json(cause->in_flight_ns));
	json_object_set_new(object, "launches", number_json(cause->launches));
	json_object_set_new(object, "longest_unit", text(cause->unit));
	json_object_set_new(object, "longest_unit_ns", number_json(cause->unit_ns));
	json_object_set_new(object, "behind", json_boolean(cause->before));
	return object;
}

static json_t *request_json(const struct late *late, size_t index)
{
	const struct sluice_msg_why_request *row = &late->request[index];
	json_t *object = json_object(), *causes = json_array();

	json_object_set_new(object, "ended_ago_ns", number_json(row->ago_ns));
	json_object_set_new(object, "device", number_json(row->device));
	json_object_set_new(object, "took_ns", number_json(row->took_ns));
	json_object_set_new(object, "queued_ns", number_json(row->queued_ns));
	json_object_set_new(object, "allowed_ns", number_json(row->limit_ns));
	json_object_set_new(object, "own_work_ns", number_json(row->own_ns));
	json_object_set_new(object, "launches", number_json(row->launches));
	for (size_t i = 0; i < late->causes; i++) {
		if (late->cause[i].request == index)
			json_array_append_new(causes, cause_json(&late->cause[i]));
	}
	json_object_set_new(object, "causes", causes);
	return object;
}

static json_t *sums_json(const struct late *late)
{
	json_t *array = json_array();
	struct late_sum *sum;
	size_t count;

	if (late_sum(late, &sum, &count)) {
		json_decref(array);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();

		json_object_set_new(object, "tenant", text(sum[i].tenant));
		json_object_set_new(object, "longest_unit", text(sum[i].unit));
		json_object_set_new(object, "late_requests", number_json(sum[i].requests));
		json_object_set_new(object, "in_flight_ns", number_json(sum[i].in_flight_ns));
		json_object_set_new(object, "longest_unit_ns", number_json(sum[i].longest_ns));
		json_array_append_new(array, object);
	}
	free(sum);
	return array;
}

int late_print_json(const char *tenant, const struct late *late, FILE *out)
{
	json_t *root = json_object(), *requests = json_array();
	int r;

	for (size_t i = 0; i < late->requests; i++)
		json_array_append_new(requests, request_json(late, i));
	json_object_set_new(root, "tenant", text(tenant));
	json_object_set_new(root, "minutes", number_json(late->end.minutes));
	json_object_set_new(root, "target_ns",
			    late->end.target_ns ? number_json(late->end.target_ns) : json_null());
	json_object_set_new(root, "target_over",
			    late->end.target_ns
				    ? json_null()
				    : json_real(late->end.target_over_permille / 1000.0));
	json_object_set_new(root, "of", text(late->end.of));
	json_object_set_new(root, "late", requests);
	json_object_set_new(root, "sums", sums_json(late));
	r = json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	fputc('\n', out);
	json_decref(root);
	return r ? -ENOMEM : 0;
}
