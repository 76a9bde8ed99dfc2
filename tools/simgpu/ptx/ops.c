/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/ops.h"

#include <stdlib.h>
#include <string.h>

struct op_index {
	struct names names;
	struct pool pool;
	const struct op_row **row;
	uint32_t rows, capacity;
};

static const struct op_set *pick_set(void)
{
	const char *asked = secure_getenv("SIMGPU_PTX_ISA");

	__builtin_cpu_init();
	if (asked && !strcmp(asked, "base"))
		return &ops_base;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("bmi2"))
		return &ops_avx2;
	return &ops_base;
}

static int add_key(struct op_index *index, const struct op_row *row, const char *type,
		   size_t length)
{
	size_t op = strlen(row->op);
	char *key = pool_alloc(&index->pool, op + length + 2);
	const struct op_row **slot = GROW(index->row, index->rows, index->capacity);

	if (!key || !slot)
		return -1;
	memcpy(key, row->op, op);
	if (length) {
		key[op++] = '.';
		memcpy(key + op, type, length);
	}
	*slot = row;
	return names_put(&index->names, key, (uint32_t)(op + length), 0, index->rows - 1);
}

static int add_row(struct op_index *index, const struct op_row *row)
{
	const char *type = row->types;

	if (!*type)
		return add_key(index, row, type, 0);
	while (*type) {
		size_t length = strcspn(type, " ");

		if (add_key(index, row, type, length))
			return -1;
		type += length + (type[length] == ' ');
	}
	return 0;
}

struct op_index *ops_open(void)
{
	const struct op_set *set = pick_set();
	struct op_index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;
	for (unsigned table = 0; table < set->tables; table++) {
		for (unsigned i = 0; i < set->rows[table]; i++) {
			if (add_row(index, &set->table[table][i])) {
				ops_close(index);
				return NULL;
			}
		}
	}
	return index;
}

void ops_close(struct op_index *index)
{
	if (!index)
		return;
	names_free(&index->names);
	pool_free(&index->pool);
	free(index->row);
	free(index);
}

const struct op_row *ops_find(const struct op_index *index, const char *key)
{
	uint32_t row = names_get(&index->names, key, (uint32_t)strlen(key), 0);

	return row == UINT32_MAX ? NULL : index->row[row];
}
