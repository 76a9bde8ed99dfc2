/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAMPLES_TRAIN_KERNELS_CUH
#define SAMPLES_TRAIN_KERNELS_CUH

/*
 * The kernels of a training step: one thread per element of the output, blocks of 64. Single
 * operations are written as intrinsics that round once, so that the compiler fuses nothing.
 */

#include "train_model.cuh"

#define THREADS 64

static __device__ __forceinline__ int element(void)
{
	return blockIdx.x * THREADS + threadIdx.x;
}

static __global__ void augment_input(const float *raw, float *x)
{
	int i = element();
	float sum = 0;

	for (int k = 0; k < INPUT_FOLD; k += 8)
		sum = __fadd_rn(sum, raw[i * INPUT_FOLD + k]);
	x[i] = sum;
}

static __global__ void make_target(const float *x, float *target)
{
	int i = element();
	float shifted = x[i / WIDTH * WIDTH + (i + 1) % WIDTH];

	target[i] = __fmul_rn(x[i], shifted) > 0 ? fabsf(x[i]) : 0.25f;
}

static __global__ void gemm_fwd(const float *w, const float *x, float *y)
{
	int i = element();
	float sum = 0;

#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		sum = __fmaf_rn(w[i % WIDTH * WIDTH + k], x[i / WIDTH * WIDTH + k], sum);
	y[i] = sum;
}

static __global__ void batchnorm_fwd(const float *linear, float *normal, float *inverse)
{
	int i = element(), j = i % WIDTH;
	float sum = 0, squares = 0, mean, scale;

#pragma unroll
	for (int r = 0; r < BATCH; r++)
		sum = __fadd_rn(sum, linear[r * WIDTH + j]);
	mean = __fmul_rn(sum, 1.0f / BATCH);
#pragma unroll
	for (int r = 0; r < BATCH; r++) {
		float d = __fsub_rn(linear[r * WIDTH + j], mean);

		squares = __fmaf_rn(d, d, squares);
	}
	scale = __fdiv_rn(1.0f, __fsqrt_rn(__fmaf_rn(squares, 1.0f / BATCH, EPSILON)));
	normal[i] = __fmul_rn(__fsub_rn(linear[i], mean), scale);
	if (i < WIDTH)
		inverse[i] = scale;
}

static __global__ void relu_fwd(const float *x, float *y)
{
	int i = element();

	y[i] = x[i] > 0 ? x[i] : 0;
}

/* One thread: the order of the sum is part of the result. */
static __global__ void mse_loss(const float *y, const float *target, float *loss)
{
	float sum = 0;

	if (element() != 0)
		return;
	for (int i = 0; i < CELLS; i++) {
		float d = __fsub_rn(y[i], target[i]);

		sum = __fmaf_rn(d, d, sum);
	}
	*loss = __fmul_rn(sum, 1.0f / CELLS);
}

static __global__ void mse_loss_bwd(const float *y, const float *target, float *grad)
{
	int i = element();

	grad[i] = __fmul_rn(__fsub_rn(y[i], target[i]), 2.0f / CELLS);
}

static __global__ void relu_bwd(const float *normal, const float *grad, float *out)
{
	int i = element();

	out[i] = normal[i] > 0 ? grad[i] : 0;
}

static __global__ void batchnorm_bwd(const float *normal, const float *inverse, const float *grad,
				     float *out)
{
	int i = element(), j = i % WIDTH;
	float sum = 0, dot = 0, rest;

#pragma unroll
	for (int r = 0; r < BATCH; r++) {
		sum = __fadd_rn(sum, grad[r * WIDTH + j]);
		dot = __fmaf_rn(grad[r * WIDTH + j], normal[r * WIDTH + j], dot);
	}
	rest = __fsub_rn(grad[i], __fmul_rn(sum, 1.0f / BATCH));
	rest = __fmaf_rn(-normal[i], __fmul_rn(dot, 1.0f / BATCH), rest);
	out[i] = __fmul_rn(rest, inverse[j]);
}

static __global__ void gemm_bwd_weight(const float *x, const float *grad, float *w_grad)
{
	int i = element();
	float sum = 0;

#pragma unroll
	for (int r = 0; r < BATCH; r++)
		sum = __fmaf_rn(grad[r * WIDTH + i / WIDTH], x[r * WIDTH + i % WIDTH], sum);
	w_grad[i] = sum;
}

static __global__ void gemm_bwd_data(const float *w, const float *grad, float *x_grad)
{
	int i = element();
	float sum = 0;

#pragma unroll
	for (int o = 0; o < WIDTH; o++)
		sum = __fmaf_rn(grad[i / WIDTH * WIDTH + o], w[o * WIDTH + i % WIDTH], sum);
	x_grad[i] = sum;
}

static __global__ void adam_update(struct adam_state *s, const float *grad)
{
	int i = element();
	float g = grad[i];
	float m = __fmaf_rn(BETA1, s->m[i], __fmul_rn(1 - BETA1, g));
	float v = __fmaf_rn(BETA2, s->v[i], __fmul_rn(1 - BETA2, __fmul_rn(g, g)));

	s->m[i] = m;
	s->v[i] = v;
	s->w[i] = __fmaf_rn(-RATE, __fdiv_rn(m, __fadd_rn(__fsqrt_rn(v), EPSILON)), s->w[i]);
}

#endif
