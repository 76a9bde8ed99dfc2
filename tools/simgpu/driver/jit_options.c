/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/jit_options.h"

/* -1: not given */
static int find(const struct module_options *options, CUjit_option wanted)
{
	for (unsigned int i = 0; i < options->count; i++)
		if (options->option[i] == wanted)
			return (int)i;
	return -1;
}

CUresult jit_options_check(const struct module_options *options, const char *where)
{
	if (options->count > 0 && (!options->option || !options->value))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < options->count; i++) {
		CUjit_option option = options->option[i];

		if ((unsigned int)option >= CU_JIT_NUM_OPTIONS)
			return CUDA_ERROR_INVALID_VALUE;
		if (option == CU_JIT_GLOBAL_SYMBOL_NAMES ||
		    option == CU_JIT_GLOBAL_SYMBOL_ADDRESSES)
			return sim_refuse(where, "symbols that are placed by the program");
	}
	if ((find(options, CU_JIT_ERROR_LOG_BUFFER) >= 0 &&
	     find(options, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) < 0) ||
	    (find(options, CU_JIT_INFO_LOG_BUFFER) >= 0 &&
	     find(options, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) < 0))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static void fill(const struct module_options *options, CUjit_option buffer, CUjit_option size,
		 const char *message)
{
	int at = find(options, buffer), size_at = find(options, size);
	unsigned int room, length = (unsigned int)strlen(message);

	if (size_at < 0)
		return;
	room = (unsigned int)(uintptr_t)options->value[size_at];
	if (at >= 0 && options->value[at] && room > 0) {
		if (length > room - 1)
			length = room - 1;
		memcpy(options->value[at], message, length);
		((char *)options->value[at])[length] = '\0';
	} else {
		length = 0;
	}
	options->value[size_at] = (void *)(uintptr_t)length;
}

void jit_options_log(const struct module_options *options, const char *message)
{
	int wall = find(options, CU_JIT_WALL_TIME);
	float none = 0;

	fill(options, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, message);
	fill(options, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, "");
	if (wall >= 0)
		memcpy(&options->value[wall], &none, sizeof(none));
}
