/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAMPLES_TRAIN_MODEL_CUH
#define SAMPLES_TRAIN_MODEL_CUH

/*
 * The network that train trains, and one step of it on the host: BLOCKS times linear layer, batch
 * normalization and ReLU, a squared loss against the output of a fixed function, Adam. Single
 * precision, every operation written out in one order, so that host and device agree to the bit.
 */

#include <cmath>
#include <vector>

#include "common.h"

#define BATCH 8
#define WIDTH 16
#define BLOCKS 8
#define CELLS (BATCH * WIDTH)	/* of an activation */
#define WEIGHTS (WIDTH * WIDTH) /* of a layer: [out][in] */
#define INPUT_FOLD 32		/* words of the raw input per cell */
#define INPUT (CELLS * INPUT_FOLD)
#define EPSILON 1e-3f
#define RATE 0.02f
#define BETA1 0.9f
#define BETA2 0.99f

struct adam_state {
	float w[WEIGHTS], m[WEIGHTS], v[WEIGHTS];
};

struct block_state {
	float linear[CELLS];  /* the layer's output */
	float normal[CELLS];  /* normalized */
	float active[CELLS];  /* after ReLU: the next block's input */
	float inverse[WIDTH]; /* 1 / standard deviation of each feature */
};

static void make_weights(struct adam_state *layer, uint64_t seed)
{
	memset(layer, 0, BLOCKS * sizeof(*layer));
	for (int l = 0; l < BLOCKS; l++)
		for (int i = 0; i < WEIGHTS; i++)
			layer[l].w[i] = (float)(random_unit(&seed) - 0.5);
}

/* What a loader would read for a step: raw words, of which INPUT_FOLD make one cell. */
static void make_input(float *raw, uint64_t seed, uint64_t step)
{
	uint64_t state = seed ^ (step + 1) * 0xd6e8feb86659fd93ull;

	for (int i = 0; i < INPUT; i++)
		raw[i] = (float)((int)(random_next(&state) & 255) - 128) * (1.0f / 512);
}

/* ---- one step on the host ---- */

static void host_augment(const float *raw, float *x, float *target)
{
	for (int i = 0; i < CELLS; i++) {
		float sum = 0;

		for (int k = 0; k < INPUT_FOLD; k += 8)
			sum = sum + raw[i * INPUT_FOLD + k];
		x[i] = sum;
	}
	for (int i = 0; i < CELLS; i++) {
		float shifted = x[i / WIDTH * WIDTH + (i + 1) % WIDTH];

		target[i] = x[i] * shifted > 0 ? std::fabs(x[i]) : 0.25f;
	}
}

static void host_linear(const float *w, const float *x, float *y)
{
	for (int i = 0; i < CELLS; i++) {
		float sum = 0;

		for (int k = 0; k < WIDTH; k++)
			sum = fmaf(w[i % WIDTH * WIDTH + k], x[i / WIDTH * WIDTH + k], sum);
		y[i] = sum;
	}
}

static void host_normalize(struct block_state *b)
{
	for (int j = 0; j < WIDTH; j++) {
		float sum = 0, squares = 0, mean;

		for (int r = 0; r < BATCH; r++)
			sum = sum + b->linear[r * WIDTH + j];
		mean = sum * (1.0f / BATCH);
		for (int r = 0; r < BATCH; r++) {
			float d = b->linear[r * WIDTH + j] - mean;

			squares = fmaf(d, d, squares);
		}
		b->inverse[j] = 1.0f / sqrtf(fmaf(squares, 1.0f / BATCH, EPSILON));
		for (int r = 0; r < BATCH; r++) {
			int i = r * WIDTH + j;

			b->normal[i] = (b->linear[i] - mean) * b->inverse[j];
			b->active[i] = b->normal[i] > 0 ? b->normal[i] : 0;
		}
	}
}

static float host_loss(const float *y, const float *target, float *grad)
{
	float loss = 0;

	for (int i = 0; i < CELLS; i++) {
		float d = y[i] - target[i];

		loss = fmaf(d, d, loss);
		grad[i] = d * (2.0f / CELLS);
	}
	return loss * (1.0f / CELLS);
}

/* Through ReLU and normalization: grad becomes the gradient of the layer's output. */
static void host_normalize_back(const struct block_state *b, float *grad)
{
	for (int i = 0; i < CELLS; i++)
		grad[i] = b->normal[i] > 0 ? grad[i] : 0;
	for (int j = 0; j < WIDTH; j++) {
		float sum = 0, dot = 0;

		for (int r = 0; r < BATCH; r++) {
			sum = sum + grad[r * WIDTH + j];
			dot = fmaf(grad[r * WIDTH + j], b->normal[r * WIDTH + j], dot);
		}
		for (int r = 0; r < BATCH; r++) {
			int i = r * WIDTH + j;
			float rest = grad[i] - sum * (1.0f / BATCH);

			rest = fmaf(-b->normal[i], dot * (1.0f / BATCH), rest);
			grad[i] = rest * b->inverse[j];
		}
	}
}

static void host_linear_back(const float *w, const float *x, const float *grad, float *w_grad,
			     float *x_grad)
{
	for (int i = 0; i < WEIGHTS; i++) {
		float sum = 0;

		for (int r = 0; r < BATCH; r++)
			sum = fmaf(grad[r * WIDTH + i / WIDTH], x[r * WIDTH + i % WIDTH], sum);
		w_grad[i] = sum;
	}
	for (int i = 0; i < CELLS; i++) {
		float sum = 0;

		for (int o = 0; o < WIDTH; o++)
			sum = fmaf(grad[i / WIDTH * WIDTH + o], w[o * WIDTH + i % WIDTH], sum);
		x_grad[i] = sum;
	}
}

static void host_adam(struct adam_state *s, const float *grad)
{
	for (int i = 0; i < WEIGHTS; i++) {
		s->m[i] = fmaf(BETA1, s->m[i], (1 - BETA1) * grad[i]);
		s->v[i] = fmaf(BETA2, s->v[i], (1 - BETA2) * (grad[i] * grad[i]));
		s->w[i] = fmaf(-RATE, s->m[i] / (sqrtf(s->v[i]) + EPSILON), s->w[i]);
	}
}

/* Returns the loss before the update. */
static float step_on_host(struct adam_state *layer, const float *raw)
{
	static struct block_state block[BLOCKS];
	float x[CELLS], target[CELLS], grad[CELLS], x_grad[CELLS], w_grad[WEIGHTS], loss;

	host_augment(raw, x, target);
	for (int l = 0; l < BLOCKS; l++) {
		host_linear(layer[l].w, l ? block[l - 1].active : x, block[l].linear);
		host_normalize(&block[l]);
	}
	loss = host_loss(block[BLOCKS - 1].active, target, grad);
	for (int l = BLOCKS - 1; l >= 0; l--) {
		host_normalize_back(&block[l], grad);
		host_linear_back(layer[l].w, l ? block[l - 1].active : x, grad, w_grad, x_grad);
		host_adam(&layer[l], w_grad);
		memcpy(grad, x_grad, sizeof(grad));
	}
	return loss;
}

#endif
