/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "number_json.h"
#include "query.h"
#include "status_pairs.h"
#include "status_slo.h"
#include "status_text.h"

/* UINT64_MAX says "none". */
static json_t *limit(uint64_t value)
{
	return value == UINT64_MAX ? json_null() : number_json(value);
}

static json_t *text(const char *field, size_t size)
{
	json_t *string = json_stringn(field, strnlen(field, size));

	return string ? string : json_string("(not UTF-8)");
}

static json_t *text_known(const char *field, size_t size)
{
	return *field ? text(field, size) : json_null();
}

static json_t *device_json(const struct sluice_msg_status_device *row)
{
	json_t *object = json_object();

	json_object_set_new(object, "index", number_json(row->index));
	json_object_set_new(object, "name", text(row->name, sizeof(row->name)));
	json_object_set_new(object, "simulated", json_boolean(row->simulated));
	json_object_set_new(object, "mps", json_boolean(row->mps));
	json_object_set_new(object, "turns", json_boolean(row->turns));
	json_object_set_new(object, "policy", text(row->policy, sizeof(row->policy)));
	json_object_set_new(object, "sms", number_json(row->sms));
	json_object_set_new(object, "processes", number_json(row->processes));
	json_object_set_new(object, "memory_bytes", number_json(row->memory_bytes));
	json_object_set_new(object, "memory_granted_bytes", number_json(row->memory_granted_bytes));
	json_object_set_new(object, "reclaiming_bytes", number_json(row->reclaiming_bytes));
	return object;
}

static json_t *state_json(uint32_t state)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} words[] = {
		{SLUICE_STATE_PAUSED, "paused"},   {SLUICE_STATE_OPEN, "open"},
		{SLUICE_STATE_HELD, "held"},	   {SLUICE_STATE_EXCESS, "above_gpu_max"},
		{SLUICE_STATE_STALE, "hung"},	   {SLUICE_STATE_NO_REQUEST, "no_request"},
		{SLUICE_STATE_SET, "set_by_hand"},
	};
	json_t *array = json_array();

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (state & words[i].bit)
			json_array_append_new(array, json_string(words[i].word));
	return array;
}

static json_t *pressure_json(const struct sluice_msg_status_tenant *row)
{
	json_t *object = json_object();

	json_object_set_new(object, "avg10", json_real(row->pressure_avg10_permille / 1000.0));
	json_object_set_new(object, "avg60", json_real(row->pressure_avg60_permille / 1000.0));
	json_object_set_new(object, "avg300", json_real(row->pressure_avg300_permille / 1000.0));
	json_object_set_new(object, "total_ns", number_json(row->pressure_total_ns));
	return object;
}

static json_t *lately_json(const struct sluice_msg_status_tenant *row)
{
	json_t *object = json_object();

	json_object_set_new(object, "requests", number_json(row->lately_requests));
	json_object_set_new(object, "requests_late", number_json(row->lately_late));
	json_object_set_new(object, "service_p50_ns", number_json_known(row->lately_p50_ns));
	json_object_set_new(object, "service_p99_ns", number_json_known(row->lately_p99_ns));
	return object;
}

static json_t *tenant_json(const struct sluice_msg_status_tenant *row)
{
	json_t *object = json_object(), *slo = slo_json(row);

	json_object_set_new(object, "name", text(row->name, sizeof(row->name)));
	json_object_set_new(object, "class", json_string(status_class(row->tenant_class)));
	json_object_set_new(object, "device",
			    row->device == UINT32_MAX ? json_null() : number_json(row->device));
	json_object_set_new(object, "processes", number_json(row->processes));
	json_object_set_new(object, "gpu_used", json_real(row->used_permille / 1000.0));
	/* Of nothing nothing is due. */
	json_object_set_new(object, "gpu_entitled",
			    row->processes ? json_real(row->entitled_permille / 1000.0)
					   : json_null());
	json_object_set_new(object, "memory_used_bytes", number_json(row->memory_used_bytes));
	json_object_set_new(object, "memory_max_bytes", limit(row->memory_max_bytes));
	json_object_set_new(object, "service_p50_ns", number_json_known(row->service_p50_ns));
	json_object_set_new(object, "service_p99_ns", number_json_known(row->service_p99_ns));
	json_object_set_new(object, "lately", lately_json(row));
	json_object_set_new(object, "target_ns", number_json_known(row->target_ns));
	json_object_set_new(object, "requests", number_json(row->requests));
	json_object_set_new(object, "requests_late", number_json(row->requests_late));
	json_object_set_new(object, "be_in_flight_p99_ns",
			    number_json_known(row->be_in_flight_p99_ns));
	json_object_set_new(object, "longest_unit_ns", number_json_known(row->longest_unit_ns));
	json_object_set_new(object, "longest_unit",
			    text_known(row->longest_unit, sizeof(row->longest_unit)));
	json_object_set_new(object, "forced", number_json(row->forced));
	json_object_set_new(object, "unpredicted", number_json(row->unpredicted));
	json_object_set_new(object, "pressure", pressure_json(row));
	json_object_set_new(object, "state", state_json(row->state));
	if (slo)
		json_object_set_new(object, "slo", slo);
	return object;
}

static json_t *process_json(const struct sluice_msg_status_process *row)
{
	json_t *object = json_object();

	json_object_set_new(object, "pid", number_json(row->pid));
	json_object_set_new(object, "uid",
			    row->uid == UINT32_MAX ? json_null() : number_json(row->uid));
	json_object_set_new(object, "managed", json_boolean(row->managed));
	json_object_set_new(object, "device",
			    row->device == UINT32_MAX ? json_null() : number_json(row->device));
	json_object_set_new(object, "tenant", text(row->tenant, sizeof(row->tenant)));
	json_object_set_new(object, "program", text(row->program, sizeof(row->program)));
	json_object_set_new(object, "memory_used_bytes", number_json(row->memory_used_bytes));
	json_object_set_new(object, "launched_ns", number_json(row->launched_ns));
	json_object_set_new(object, "completed_ns", number_json(row->completed_ns));
	json_object_set_new(object, "state", state_json(row->state));
	return object;
}

int status_print_json(const struct query *query, const struct status *status, FILE *out)
{
	json_t *root = json_object(), *devices = json_array(), *tenants = json_array();
	json_t *processes = json_array(), *notes = json_array();
	int r;

	for (size_t i = 0; i < status->devices; i++)
		json_array_append_new(devices, device_json(&status->device[i]));
	for (size_t i = 0; i < status->tenants; i++)
		json_array_append_new(tenants, tenant_json(&status->tenant[i]));
	for (size_t i = 0; i < status->processes; i++)
		json_array_append_new(processes, process_json(&status->process[i]));
	for (size_t i = 0; i < status->notes; i++)
		json_array_append_new(notes,
				      text(status->note[i].text, sizeof(status->note[i].text)));
	json_object_set_new(root, "arbiter_pid", number_json(query->arbiter.pid));
	json_object_set_new(root, "config",
			    query->arbiter.config[0] ? json_string(query->arbiter.config)
						     : json_null());
	json_object_set_new(root, "devices", devices);
	json_object_set_new(root, "tenants", tenants);
	json_object_set_new(root, "processes", processes);
	json_object_set_new(root, "pairs", pairs_json(status));
	json_object_set_new(root, "notes", notes);
	r = json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) ? -EIO : 0;
	fputc('\n', out);
	json_decref(root);
	return r;
}
