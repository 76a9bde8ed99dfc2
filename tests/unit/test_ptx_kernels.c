/* SPDX-License-Identifier: Apache-2.0 */
/* Whole kernels, compiled by nvcc (ptx/basic.cu), against the same computed in C. */
#include "unit/ptx/harness.h"

static float *random_floats(size_t count, uint64_t seed)
{
	float *x = bench_buffer(count * sizeof(*x));

	for (size_t i = 0; i < count; i++)
		x[i] = bench_random_float(&seed);
	return x;
}

static void assert_near(float got, double want, double tolerance)
{
	ck_assert_msg(fabs((double)got - want) <= tolerance * (1.0 + fabs(want)), "%g, not %g",
		      (double)got, want);
}

START_TEST(vector_add)
{
	enum { N = 1000 };
	float *a;
	float *b;
	float *c;

	bench_start();
	bench_load_file("basic");
	a = random_floats(N, 1);
	b = random_floats(N, 2);
	c = bench_buffer(N * sizeof(*c));
	BENCH_PARAM(a);
	BENCH_PARAM(b);
	BENCH_PARAM(c);
	BENCH_PARAM(N);
	bench_run("vector_add", 8, 128);
	for (int i = 0; i < N; i++)
		ck_assert(c[i] == a[i] + b[i]);
	/* 8 bytes read and 4 written by each element. */
	ck_assert_uint_eq(bench.result.global_bytes, 12 * N);
	ck_assert_uint_ge(bench.result.thread_instructions, 8 * 128 * 8);
	ck_assert_uint_ge(bench.result.warp_instructions * 32, bench.result.thread_instructions);
	bench_end();
}
END_TEST

START_TEST(saxpy)
{
	enum { N = 777 };
	float *x;
	float *y;
	float want[N];

	bench_start();
	bench_load_file("basic");
	x = random_floats(N, 3);
	y = random_floats(N, 4);
	for (int i = 0; i < N; i++)
		want[i] = fmaf(2.5f, x[i], y[i]);
	BENCH_PARAM(2.5f);
	BENCH_PARAM(x);
	BENCH_PARAM(y);
	BENCH_PARAM(N);
	bench_run("saxpy_stride", 3, 64);
	for (int i = 0; i < N; i++)
		ck_assert(y[i] == want[i]);
	bench_end();
}
END_TEST

START_TEST(sgemm)
{
	enum { N = 64 };
	float *a;
	float *b;
	float *c;
	enum ptx_fault fault;

	bench_start();
	bench_load_file("basic");
	a = random_floats(N * N, 5);
	b = random_floats(N * N, 6);
	c = bench_buffer(N * N * sizeof(*c));
	BENCH_PARAM(a);
	BENCH_PARAM(b);
	BENCH_PARAM(c);
	BENCH_PARAM(N);
	fault = bench_try("sgemm_tiled", N / 16, N / 16, 16, 16);
	ck_assert_msg(fault == PTX_OK, "%s", bench.result.text);
	for (int row = 0; row < N; row++) {
		for (int column = 0; column < N; column++) {
			float sum = 0;

			for (int k = 0; k < N; k++)
				sum = fmaf(a[row * N + k], b[k * N + column], sum);
			ck_assert(c[row * N + column] == sum);
		}
	}
	bench_end();
}
END_TEST

START_TEST(reduction)
{
	enum { N = 5000 };
	float *x;
	float *out;
	double sum = 0;

	bench_start();
	bench_load_file("basic");
	x = random_floats(N, 7);
	out = bench_buffer(sizeof(*out));
	for (int i = 0; i < N; i++)
		sum += (double)x[i];
	BENCH_PARAM(x);
	BENCH_PARAM(out);
	BENCH_PARAM(N);
	bench_run("reduce_sum", 4, 256);
	assert_near(*out, sum, 1e-4);
	bench_end();
}
END_TEST

START_TEST(scan)
{
	enum { N = 200 };
	int *in;
	int *out;
	int sum = 0;

	bench_start();
	bench_load_file("basic");
	in = bench_buffer(N * sizeof(*in));
	out = bench_buffer(N * sizeof(*out));
	for (int i = 0; i < N; i++)
		in[i] = i * 7 % 31 - 9;
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	BENCH_PARAM(N);
	bench.dynamic_shared = 256 * sizeof(int);
	bench_run("scan_block", 1, 256);
	for (int i = 0; i < N; i++) {
		sum += in[i];
		ck_assert_int_eq(out[i], sum);
	}
	bench_end();
}
END_TEST

START_TEST(histogram)
{
	enum { N = 4096 };
	uint8_t *data;
	uint32_t *bins;
	uint32_t want[256] = {0};
	uint64_t seed = 9;

	bench_start();
	bench_load_file("basic");
	data = bench_buffer(N);
	bins = bench_buffer(sizeof(want));
	for (int i = 0; i < N; i++) {
		data[i] = (uint8_t)(bench_random(&seed) >> 8);
		want[data[i]]++;
	}
	BENCH_PARAM(data);
	BENCH_PARAM(bins);
	BENCH_PARAM(N);
	bench_run("histogram", 3, 160);
	for (int i = 0; i < 256; i++)
		ck_assert_uint_eq(bins[i], want[i]);
	bench_end();
}
END_TEST

START_TEST(softmax)
{
	enum { ROWS = 5, COLUMNS = 70 };
	float *in;
	float *out;

	bench_start();
	bench_load_file("basic");
	in = random_floats(ROWS * COLUMNS, 10);
	out = bench_buffer(ROWS * COLUMNS * sizeof(*out));
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	BENCH_PARAM(COLUMNS);
	bench_run("softmax_rows", ROWS, 32);
	for (int row = 0; row < ROWS; row++) {
		double sum = 0;

		for (int i = 0; i < COLUMNS; i++)
			sum += exp((double)in[row * COLUMNS + i]);
		for (int i = 0; i < COLUMNS; i++)
			assert_near(out[row * COLUMNS + i],
				    exp((double)in[row * COLUMNS + i]) / sum, 1e-6);
	}
	bench_end();
}
END_TEST

START_TEST(layernorm)
{
	enum { ROWS = 4, COLUMNS = 96 };
	float *in;
	float *out;

	bench_start();
	bench_load_file("basic");
	in = random_floats(ROWS * COLUMNS, 11);
	out = bench_buffer(ROWS * COLUMNS * sizeof(*out));
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	BENCH_PARAM(1e-5f);
	BENCH_PARAM(COLUMNS);
	bench_run("layernorm_rows", ROWS, 32);
	for (int row = 0; row < ROWS; row++) {
		const float *x = in + row * COLUMNS;
		double mean = 0;
		double squares = 0;

		for (int i = 0; i < COLUMNS; i++) {
			mean += (double)x[i] / COLUMNS;
			squares += (double)x[i] * (double)x[i] / COLUMNS;
		}
		for (int i = 0; i < COLUMNS; i++)
			assert_near(out[row * COLUMNS + i],
				    ((double)x[i] - mean) / sqrt(squares - mean * mean + 1e-5),
				    1e-5);
	}
	bench_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptx_kernels");
	TCase *tcase = tcase_create("basic");

	tcase_add_test(tcase, vector_add);
	tcase_add_test(tcase, saxpy);
	tcase_add_test(tcase, sgemm);
	tcase_add_test(tcase, reduction);
	tcase_add_test(tcase, scan);
	tcase_add_test(tcase, histogram);
	tcase_add_test(tcase, softmax);
	tcase_add_test(tcase, layernorm);
	suite_add_tcase(suite, tcase);
	return bench_main(suite);
}
