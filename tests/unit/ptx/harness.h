/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PTX_HARNESS_H
#define TESTS_UNIT_PTX_HARNESS_H

/*
 * Runs kernels for the interpreter's tests: a module from a compiled .ptx file or from text,
 * buffers that the kernel may touch and nothing else, parameters by value. One test at a time;
 * bench_start and bench_end belong to every test that uses the rest.
 */

#include <check.h>
#include <libgen.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptx/ptx.h"

#define BUFFERS 32
#define GUARD 256 /* bytes around a buffer, which must stay as they were */

struct buffer {
	uint8_t *memory, *data;
	size_t size;
	bool read_only;
};

struct bench {
	struct ptx_module *module;
	struct buffer buffer[BUFFERS];
	unsigned buffers;
	uint8_t params[4096];
	unsigned next_param;
	char *printed;
	size_t printed_size;
	struct ptx_result result;
	uint32_t dynamic_shared;
	const _Atomic bool *stop;
};

static struct bench bench;

static bool bench_check(void *arg, uint64_t address, uint32_t size, bool write, uint64_t *ret_low,
			uint64_t *ret_high)
{
	(void)arg;
	for (unsigned i = 0; i < bench.buffers; i++) {
		const struct buffer *buffer = &bench.buffer[i];
		uint64_t low = (uint64_t)(uintptr_t)buffer->data;

		if (address < low || address + size > low + buffer->size)
			continue;
		*ret_low = low;
		*ret_high = low + buffer->size;
		return !write || !buffer->read_only;
	}
	return false;
}

static void bench_print(void *arg, const char *text)
{
	size_t length = strlen(text);

	(void)arg;
	bench.printed = realloc(bench.printed, bench.printed_size + length + 1);
	ck_assert_ptr_nonnull(bench.printed);
	memcpy(bench.printed + bench.printed_size, text, length + 1);
	bench.printed_size += length;
}

static void *bench_buffer(size_t size)
{
	struct buffer *buffer = &bench.buffer[bench.buffers++];

	ck_assert_uint_le(bench.buffers, BUFFERS);
	buffer->memory = malloc(size + 2 * GUARD);
	ck_assert_ptr_nonnull(buffer->memory);
	memset(buffer->memory, 0xa5, size + 2 * GUARD);
	buffer->data = buffer->memory + GUARD;
	buffer->size = size;
	memset(buffer->data, 0, size);
	return buffer->data;
}

static void bench_place_globals(void)
{
	for (uint32_t i = 0; i < ptx_module_globals(bench.module); i++) {
		const struct ptx_global *global = ptx_module_global(bench.module, i);

		ptx_module_place_global(bench.module, i, bench_buffer(global->size_bytes + 1));
		bench.buffer[bench.buffers - 1].read_only = global->is_const;
	}
	ptx_module_init_globals(bench.module);
}

static void bench_load(const char *text, uint32_t cc)
{
	struct ptx_error error;

	bench.module = ptx_module_create(text, cc, &error);
	ck_assert_msg(bench.module != NULL, "line %u: %s", error.line, error.text);
	bench_place_globals();
}

static inline char *bench_read_file(const char *name)
{
	const char *build = secure_getenv("BUILD");
	char path[4096];
	char self[4096] = "";
	char *text;
	FILE *file;
	long size;

	if (build) {
		snprintf(path, sizeof(path), "%s/tests/unit/ptx/%s.ptx", build, name);
	} else {
		ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
		snprintf(path, sizeof(path), "%s/ptx/%s.ptx", dirname(self), name);
	}
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s is not there: make check builds it", path);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	text = calloc(1, (size_t)size + 1);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
	fclose(file);
	return text;
}

static inline void bench_load_file(const char *name)
{
	char *text = bench_read_file(name);

	bench_load(text, 100);
	free(text);
}

static void bench_start(void)
{
	memset(&bench, 0, sizeof(bench));
}

static void bench_end(void)
{
	for (unsigned i = 0; i < bench.buffers; i++) {
		const struct buffer *buffer = &bench.buffer[i];

		for (unsigned g = 0; g < GUARD; g++) {
			ck_assert_uint_eq(buffer->memory[g], 0xa5);
			ck_assert_uint_eq(buffer->data[buffer->size + g], 0xa5);
		}
		free(buffer->memory);
	}
	ptx_module_destroy(bench.module);
	free(bench.printed);
	memset(&bench, 0, sizeof(bench));
}

/* The next parameter, aligned as C aligns it. */
#define BENCH_PARAM(value) \
	do { \
		__typeof__(value) value_ = (value); \
		unsigned align_ = _Alignof(__typeof__(value)); \
		bench.next_param = (bench.next_param + align_ - 1) / align_ * align_; \
		memcpy(bench.params + bench.next_param, &value_, sizeof(value_)); \
		bench.next_param += sizeof(value_); \
	} while (0)

static enum ptx_fault bench_try(const char *kernel, uint32_t grid_x, uint32_t grid_y,
				uint32_t block_x, uint32_t block_y)
{
	const struct ptx_function *function = ptx_module_find(bench.module, kernel);
	const struct ptx_memory memory = {.check = bench_check};
	struct ptx_launch launch = {
		.function = function,
		.grid = {grid_x, grid_y, 1},
		.block = {block_x, block_y, 1},
		.dynamic_shared_bytes = bench.dynamic_shared,
		.params = bench.params,
		.memory = &memory,
		.stop = bench.stop,
		.print = bench_print,
		.clock_ns = 1000,
	};

	ck_assert_msg(function != NULL, "no kernel %s", kernel);
	memset(&bench.result, 0, sizeof(bench.result));
	bench.next_param = 0;
	return ptx_run(&launch, 0, (uint64_t)grid_x * grid_y, &bench.result);
}

static inline void bench_run(const char *kernel, uint32_t blocks, uint32_t threads)
{
	enum ptx_fault fault = bench_try(kernel, blocks, 1, threads, 1);

	ck_assert_msg(fault == PTX_OK, "fault %d: %s", fault, bench.result.text);
}

/* Fills with values that repeat for a seed. */
static inline uint32_t bench_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

static inline float bench_random_float(uint64_t *state)
{
	return (float)(bench_random(state) & 0xffffff) / 0x1p23f - 1.0f;
}

static inline int bench_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
