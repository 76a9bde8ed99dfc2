/* SPDX-License-Identifier: Apache-2.0 */
#include "workload_impl.h"

#include <string.h>

#include "workload_reader.h"

static int read_kernel(struct reader *reader, const config_setting_t *list, struct workload_op *op)
{
	uint64_t sms = 0, key = 0, spread = 0;
	int r;

	if (config_setting_length(list) != 6)
		return reader_fail(reader, list,
				   "a kernel is (\"kernel\", ns, sms, class, key, spread)");
	(void)((r = reader_number(reader, config_setting_get_elem(list, 1), "ns", 1,
				  WORKLOAD_MAX_NS, &op->ns)) ||
	       (r = reader_number(reader, config_setting_get_elem(list, 2), "sms", 1, 1u << 24,
				  &sms)) ||
	       (r = reader_class(reader, config_setting_get_elem(list, 3), &op->bw_class)) ||
	       (r = reader_number(reader, config_setting_get_elem(list, 4), "key", 1, UINT32_MAX,
				  &key)) ||
	       (r = reader_number(reader, config_setting_get_elem(list, 5), "spread", 0, 900,
				  &spread)));
	op->kind = WORKLOAD_KERNEL;
	op->sms = (uint32_t)sms;
	op->key = (uint32_t)key;
	op->spread_permille = (uint16_t)spread;
	return r;
}

static int read_copy(struct reader *reader, const config_setting_t *list, struct workload_op *op)
{
	uint64_t key = 0;
	int r;

	if (config_setting_length(list) != 4)
		return reader_fail(reader, list, "a copy is (\"h2d\", ns, bytes, key)");
	(void)((r = reader_number(reader, config_setting_get_elem(list, 1), "ns", 1,
				  WORKLOAD_MAX_NS, &op->ns)) ||
	       (r = reader_number(reader, config_setting_get_elem(list, 2), "bytes", 0,
				  WORKLOAD_MAX_NS, &op->bytes)) ||
	       (r = reader_number(reader, config_setting_get_elem(list, 3), "key", 1, UINT32_MAX,
				  &key)));
	op->key = (uint32_t)key;
	return r;
}

static int read_graph(struct reader *reader, const config_setting_t *list, uint64_t left,
		      struct workload_op *op)
{
	uint64_t nodes = 0, key = 0;
	int r;

	if (config_setting_length(list) != 3)
		return reader_fail(reader, list, "a graph is (\"graph\", nodes, key)");
	(void)((r = reader_number(reader, config_setting_get_elem(list, 1), "nodes", 1, left,
				  &nodes)) ||
	       (r = reader_number(reader, config_setting_get_elem(list, 2), "key", 1, UINT32_MAX,
				  &key)));
	op->nodes = (uint32_t)nodes;
	op->key = (uint32_t)key;
	return r;
}

static int read_operation(struct reader *reader, const config_setting_t *list, uint64_t left,
			  struct workload_op *op)
{
	static const char *const kinds[] = {"kernel", "h2d", "d2h", "d2d", "graph"};
	const config_setting_t *first = NULL;
	const char *text = NULL;
	uint8_t kind = 0;

	*op = (struct workload_op){0};
	if (config_setting_is_list(list) && config_setting_length(list))
		first = config_setting_get_elem(list, 0);
	if (first)
		text = config_setting_get_string(first);
	while (text && kind < 5 && strcmp(text, kinds[kind]))
		kind++;
	if (!text || kind == 5)
		return reader_fail(
			reader, list,
			"an operation begins with \"kernel\", \"h2d\", \"d2h\", \"d2d\" or "
			"\"graph\"");
	op->kind = kind;
	if (kind == WORKLOAD_KERNEL)
		return read_kernel(reader, list, op);
	return kind == WORKLOAD_GRAPH ? read_graph(reader, list, left, op)
				      : read_copy(reader, list, op);
}

int reader_operations(struct reader *reader, const config_setting_t *list)
{
	struct workload *workload = reader->workload;
	uint32_t n = (uint32_t)config_setting_length(list), inside = 0;
	int r = reader_reserve(reader, list, n);

	for (uint32_t i = 0; !r && i < n; i++) {
		const config_setting_t *at = config_setting_get_elem(list, i);
		struct workload_op *op = &workload->ops[workload->n_ops];

		r = read_operation(reader, at, n - i - 1, op);
		if (!r && op->kind == WORKLOAD_GRAPH && inside)
			r = reader_fail(reader, at, "a graph inside of a graph");
		inside = op->kind == WORKLOAD_GRAPH ? op->nodes : inside - !!inside;
		workload->n_ops += !r;
	}
	return r;
}
