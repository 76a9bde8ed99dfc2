/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAMPLES_SERVE_KERNELS_CUH
#define SAMPLES_SERVE_KERNELS_CUH

/*
 * The kernels of serve's network: one thread per element of the output, one block of 64 threads
 * per 64 elements, so a launch has one or two small blocks.
 */

#include "serve_model.cuh"

#define BLOCK 64

static __device__ __forceinline__ int clamp_16(int x)
{
	return min(max(x, -32768), 32767);
}

template <int IN> static __device__ __forceinline__ int dot(const int *w, const int *x)
{
	int sum = 0;

#pragma unroll 8
	for (int k = 0; k < IN; k++)
		sum += w[k] * x[k];
	return sum;
}

/* Element i of rows of OUT outputs, each over IN inputs. */
template <int IN, int OUT>
static __device__ __forceinline__ void gemm(const int *w, const int *x, int *y, int i)
{
	y[i] = clamp_16(dot<IN>(w + i % OUT * IN, x + i / OUT * IN) >> GEMM_SHIFT);
}

static __device__ __forceinline__ int element(void)
{
	return blockIdx.x * BLOCK + threadIdx.x;
}

static __global__ void embed(const int *input, int *x)
{
	int i = element(), sum = 0;

#pragma unroll 4
	for (int k = 0; k < INPUT_FOLD; k++)
		sum += input[i * INPUT_FOLD + k] * (k + 1);
	x[i] = clamp_16(sum >> 4);
}

static __global__ void layer_norm(const int *x, int *y)
{
	int i = element(), sum = 0, spread = 0, mean;
	const int *row = x + i / HIDDEN * HIDDEN;

#pragma unroll 8
	for (int k = 0; k < HIDDEN; k++)
		sum += row[k];
	mean = sum >> 5;
#pragma unroll 8
	for (int k = 0; k < HIDDEN; k++)
		spread += abs(row[k] - mean);
	spread = (spread >> 5) + 1;
	y[i] = clamp_16((x[i] - mean) * 64 / spread);
}

static __global__ void qkv_gemm(const int *w, const int *x, int *y)
{
	gemm<HIDDEN, HIDDEN>(w, x, y, element());
}

static __global__ void bias_add(const int *bias, int *x)
{
	int i = element();

	x[i] = clamp_16(x[i] + bias[i % HIDDEN]);
}

/* Scores are [head][token][token]. */
static __global__ void attention_scores(const int *q, const int *k, int *score)
{
	int i = element();
	int h = i / (TOKENS * TOKENS), t = i / TOKENS % TOKENS, u = i % TOKENS;

	if (i < SCORES)
		score[i] = clamp_16(dot<HEAD_DIM>(q + t * HIDDEN + h * HEAD_DIM,
						  k + u * HIDDEN + h * HEAD_DIM) >>
				    12);
}

static __global__ void mask_scale(int *score)
{
	int i = element();

	if (i < SCORES)
		score[i] = i % TOKENS > i / TOKENS % TOKENS ? MASKED : score[i] >> 1;
}

static __global__ void softmax(const int *score, int *p)
{
	int i = element(), high = INT32_MIN, total = 0;
	const int *row = score + i / TOKENS * TOKENS;

	if (i >= SCORES)
		return;
	for (int u = 0; u < TOKENS; u++)
		high = max(high, row[u]);
	for (int u = 0; u < TOKENS; u++)
		total += 256 >> min((high - row[u]) >> 2, 9);
	p[i] = (256 >> min((high - score[i]) >> 2, 9)) * 256 / total;
}

static __global__ void attention_context(const int *p, const int *v, int *y)
{
	int i = element(), sum = 0;
	int t = i / HIDDEN, h = i % HIDDEN / HEAD_DIM;

	for (int u = 0; u < TOKENS; u++)
		sum += p[(h * TOKENS + t) * TOKENS + u] * v[u * HIDDEN + i % HIDDEN];
	y[i] = clamp_16(sum >> 8);
}

static __global__ void proj_gemm(const int *w, const int *x, int *y)
{
	gemm<HIDDEN, HIDDEN>(w, x, y, element());
}

static __global__ void residual_add(int *x, const int *y)
{
	int i = element();

	x[i] = clamp_16(x[i] + y[i]);
}

static __global__ void mlp_up(const int *w, const int *x, int *y)
{
	gemm<HIDDEN, INNER>(w, x, y, element());
}

static __global__ void gelu(int *x)
{
	int i = element(), value = x[i];

	x[i] = value * min(max(value + 256, 0), 512) >> 9;
}

static __global__ void mlp_down(const int *w, const int *x, int *y)
{
	gemm<INNER, HIDDEN>(w, x, y, element());
}

static __global__ void pooler(const int *w, const int *x, int *y)
{
	if (element() < HIDDEN)
		gemm<HIDDEN, HIDDEN>(w, x, y, element());
}

static __global__ void head_gemm(const int *w, const int *x, int *y)
{
	if (element() < CLASSES)
		gemm<HIDDEN, CLASSES>(w, x, y, element());
}

#endif
