/* SPDX-License-Identifier: Apache-2.0 */
#include "workload_impl.h"

#include <string.h>

#include "workload_reader.h"

static int read_group(struct reader *reader, const config_setting_t *setting,
		      struct workload_group *ret)
{
	static const char *const known[] = {"class", "count",		"total_ns", "ns",
					    "sms",   "spread_permille", NULL};
	uint64_t count = 0, spread = 0, sms[3] = {0};
	int r;

	if (!config_setting_is_group(setting))
		return reader_fail(reader, setting,
				   "a group is { class, count, total_ns, ns, sms }");
	(void)((r = reader_known_keys(reader, setting, known, "a group")) ||
	       (r = reader_class(reader, config_setting_get_member(setting, "class"),
				 &ret->bw_class)) ||
	       (r = reader_member(reader, setting, "count", 1, WORKLOAD_MAX_OPS, &count)) ||
	       (r = reader_member(reader, setting, "total_ns", count, WORKLOAD_MAX_NS,
				  &ret->total_ns)) ||
	       (r = reader_rising(reader, setting, "ns", WORKLOAD_MAX_NS, ret->ns,
				  WORKLOAD_LEVELS)) ||
	       (r = reader_rising(reader, setting, "sms", 1u << 24, sms, 3)) ||
	       (r = reader_optional(reader, setting, "spread_permille", 0, 900, &spread)));
	if (r)
		return r;
	ret->count = (uint32_t)count;
	ret->spread_permille = (uint16_t)spread;
	for (int i = 0; i < 3; i++)
		ret->sms[i] = (uint32_t)sms[i];
	return 0;
}

#define MAX_GROUPS 64

static int read_groups(struct reader *reader, const config_setting_t *list)
{
	struct workload *workload = reader->workload;
	uint32_t counts[MAX_GROUPS], n = 0, first = workload->n_ops;
	int groups = config_setting_length(list);

	if (groups < 1 || groups > MAX_GROUPS)
		return reader_fail(reader, list, "a phase has 1 to %d groups", MAX_GROUPS);
	for (int i = 0; i < groups; i++) {
		const config_setting_t *at = config_setting_get_elem(list, (unsigned int)i);
		struct workload_group group;
		int r = read_group(reader, at, &group);

		if (!r)
			r = reader_reserve(reader, at, group.count);
		if (r)
			return r;
		if (!workload_draw_group(&group, reader->next_key, workload->ops + workload->n_ops))
			return reader_fail(reader, at,
					   "the group's ns do not go with its total_ns");
		counts[i] = group.count;
		reader->next_key += group.count;
		workload->n_ops += group.count;
		n += group.count;
	}
	return workload_interleave(counts, (uint32_t)groups, first, workload->ops + first, n);
}

/* A phase is a list of groups, or { graph = true; groups = (...); }: one launch unit. */
static int read_phase(struct reader *reader, const config_setting_t *phase)
{
	static const char *const known[] = {"graph", "groups", NULL};
	struct workload *workload = reader->workload;
	const config_setting_t *groups = phase, *graph = NULL;
	uint32_t at;
	int r;

	if (config_setting_is_group(phase)) {
		r = reader_known_keys(reader, phase, known, "a phase");
		if (r)
			return r;
		graph = config_setting_get_member(phase, "graph");
		if (graph && config_setting_type(graph) != CONFIG_TYPE_BOOL)
			return reader_fail(reader, graph, "graph must be true or false");
		groups = config_setting_get_member(phase, "groups");
	}
	if (!groups || !config_setting_is_list(groups))
		return reader_fail(reader, phase, "a phase is a list of groups in ( )");
	if (!graph || !config_setting_get_bool(graph))
		return read_groups(reader, groups);

	r = reader_reserve(reader, phase, 1);
	if (r)
		return r;
	at = workload->n_ops++;
	workload->ops[at] = (struct workload_op){.kind = WORKLOAD_GRAPH, .key = reader->next_key++};
	r = read_groups(reader, groups);
	if (!r)
		workload->ops[at].nodes = workload->n_ops - at - 1;
	return r;
}

int reader_phases(struct reader *reader, const config_setting_t *phases)
{
	int r = 0;

	for (int i = 0; !r && i < config_setting_length(phases); i++)
		r = read_phase(reader, config_setting_get_elem(phases, (unsigned int)i));
	return r;
}
