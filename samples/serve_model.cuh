/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAMPLES_SERVE_MODEL_CUH
#define SAMPLES_SERVE_MODEL_CUH

/*
 * The network that serve answers requests with, on the host: a small transformer encoder in
 * integers, so that host and device agree to the bit. Activations stay within 16 bits, weights
 * within 4, sums within 32.
 */

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "common.h"

#define TOKENS 2
#define HIDDEN 32
#define HEADS 4
#define HEAD_DIM (HIDDEN / HEADS)
#define INNER 64 /* of the feed-forward part */
#define LAYERS 5
#define CLASSES 32
#define ACTIVATIONS (TOKENS * HIDDEN)
#define SCORES (HEADS * TOKENS * TOKENS)
#define INPUT_FOLD 16 /* input words per element of the embedding */
#define INPUT (ACTIVATIONS * INPUT_FOLD)
#define GEMM_SHIFT 4
#define MASKED (-32768)

struct layer_weights {
	int32_t qkv[3][HIDDEN * HIDDEN];
	int32_t qkv_bias[3][HIDDEN];
	int32_t proj[HIDDEN * HIDDEN];
	int32_t up[INNER * HIDDEN];
	int32_t down[HIDDEN * INNER];
};

struct weights {
	struct layer_weights layer[LAYERS];
	int32_t pool[HIDDEN * HIDDEN];
	int32_t head[CLASSES * HIDDEN];
};

static void make_weights(struct weights *weights, uint64_t seed)
{
	int32_t *w = (int32_t *)weights;

	for (size_t i = 0; i < sizeof(*weights) / sizeof(*w); i++)
		w[i] = (int32_t)(random_next(&seed) & 15) - 8;
}

static void make_input(int32_t *input, uint64_t seed, uint64_t request)
{
	uint64_t state = seed ^ (request + 1) * 0xd6e8feb86659fd93ull;

	for (int i = 0; i < INPUT; i++)
		input[i] = (int32_t)(random_next(&state) & 255) - 128;
}

/* ---- the reference: plain loops over whole tensors, in 64 bits ---- */

static int32_t clamp16(int64_t x)
{
	return (int32_t)std::min<int64_t>(std::max<int64_t>(x, -32768), 32767);
}

static void host_gemm(const int32_t *w, const int32_t *x, int32_t *y, int rows, int in, int out)
{
	for (int t = 0; t < rows; t++)
		for (int o = 0; o < out; o++) {
			int64_t sum = 0;

			for (int k = 0; k < in; k++)
				sum += (int64_t)w[o * in + k] * x[t * in + k];
			y[t * out + o] = clamp16(sum >> GEMM_SHIFT);
		}
}

static void host_layer_norm(const int32_t *x, int32_t *y)
{
	for (int t = 0; t < TOKENS; t++) {
		int64_t sum = 0, spread = 0, mean;

		for (int k = 0; k < HIDDEN; k++)
			sum += x[t * HIDDEN + k];
		mean = sum >> 5;
		for (int k = 0; k < HIDDEN; k++)
			spread += std::llabs(x[t * HIDDEN + k] - mean);
		spread = (spread >> 5) + 1;
		for (int k = 0; k < HIDDEN; k++)
			y[t * HIDDEN + k] = clamp16((x[t * HIDDEN + k] - mean) * 64 / spread);
	}
}

static void host_attention(const int32_t *q, const int32_t *k, const int32_t *v, int32_t *y)
{
	for (int h = 0; h < HEADS; h++)
		for (int t = 0; t < TOKENS; t++) {
			int64_t score[TOKENS], high = INT64_MIN, total = 0, p[TOKENS];

			for (int u = 0; u < TOKENS; u++) {
				score[u] = 0;
				for (int d = h * HEAD_DIM; d < (h + 1) * HEAD_DIM; d++)
					score[u] += (int64_t)q[t * HIDDEN + d] * k[u * HIDDEN + d];
				score[u] = clamp16(score[u] >> 12);
				score[u] = u > t ? MASKED : score[u] >> 1;
				high = std::max(high, score[u]);
			}
			for (int u = 0; u < TOKENS; u++) {
				p[u] = 256 >> std::min<int64_t>((high - score[u]) >> 2, 9);
				total += p[u];
			}
			for (int d = h * HEAD_DIM; d < (h + 1) * HEAD_DIM; d++) {
				int64_t sum = 0;

				for (int u = 0; u < TOKENS; u++)
					sum += p[u] * 256 / total * v[u * HIDDEN + d];
				y[t * HIDDEN + d] = clamp16(sum >> 8);
			}
		}
}

static void host_residual(int32_t *x, const int32_t *y)
{
	for (int i = 0; i < ACTIVATIONS; i++)
		x[i] = clamp16((int64_t)x[i] + y[i]);
}

static void host_layer(const struct layer_weights *w, int32_t *x)
{
	int32_t normal[ACTIVATIONS], qkv[3][ACTIVATIONS], mixed[ACTIVATIONS], y[ACTIVATIONS];
	int32_t inner[TOKENS * INNER];

	host_layer_norm(x, normal);
	for (int i = 0; i < 3; i++) {
		host_gemm(w->qkv[i], normal, qkv[i], TOKENS, HIDDEN, HIDDEN);
		for (int j = 0; j < ACTIVATIONS; j++)
			qkv[i][j] = clamp16((int64_t)qkv[i][j] + w->qkv_bias[i][j % HIDDEN]);
	}
	host_attention(qkv[0], qkv[1], qkv[2], mixed);
	host_gemm(w->proj, mixed, y, TOKENS, HIDDEN, HIDDEN);
	host_residual(x, y);
	host_layer_norm(x, normal);
	host_gemm(w->up, normal, inner, TOKENS, HIDDEN, INNER);
	for (int i = 0; i < TOKENS * INNER; i++)
		inner[i] = (int32_t)((int64_t)inner[i] *
					     std::min(std::max(inner[i] + 256, 0), 512) >>
				     9);
	host_gemm(w->down, inner, y, TOKENS, INNER, HIDDEN);
	host_residual(x, y);
}

/* What the device must answer. */
static void answer_on_host(const struct weights *w, const int32_t *input, int32_t *answer)
{
	int32_t x[ACTIVATIONS], pooled[HIDDEN];

	for (int i = 0; i < ACTIVATIONS; i++) {
		int64_t sum = 0;

		for (int k = 0; k < INPUT_FOLD; k++)
			sum += (int64_t)input[i * INPUT_FOLD + k] * (k + 1);
		x[i] = clamp16(sum >> 4);
	}
	for (int l = 0; l < LAYERS; l++)
		host_layer(&w->layer[l], x);
	host_gemm(w->pool, x, pooled, 1, HIDDEN, HIDDEN);
	host_gemm(w->head, pooled, answer, 1, HIDDEN, CLASSES);
}

#endif
