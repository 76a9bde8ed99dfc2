/* SPDX-License-Identifier: Apache-2.0 */
#include "predict_tag.h"

uint64_t predict_text(const char *text)
{
	uint64_t digest = 0xcbf29ce484222325ull;

	for (; *text; text++)
		digest = (digest ^ (unsigned char)*text) * 0x100000001b3ull;
	return digest;
}

uint64_t predict_graph_tag(const void *graph_exec)
{
	return predict_mix((uintptr_t)graph_exec, PREDICT_GRAPH, 0, 0);
}

static uint64_t bytes_per_us(enum predict_kind kind)
{
	switch (kind) {
	case PREDICT_MEMSET:
	case PREDICT_COPY_DEVICE: return 500000;
	default: return 20000;
	}
}

uint64_t predict_bytes_tag(enum predict_kind kind, uint64_t bytes, uint32_t *ret_guess_ns)
{
	uint64_t class = bytes, guess_ns = 2000 + bytes * 1000 / bytes_per_us(kind);

	if (bytes >= 8) {
		unsigned int shift = 61u - (unsigned int)__builtin_clzll(bytes);

		class = (bytes >> shift) | (uint64_t)shift << 32;
	}
	*ret_guess_ns = guess_ns > PREDICT_MAX_NS ? PREDICT_MAX_NS : (uint32_t)guess_ns;
	return predict_mix(0, (uint64_t)kind, class, 1);
}
