/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ beyond plain loops (ptx/features.cu): control flow, calls, address spaces, warps and
 * blocks together, printf and assert, atomics from several host threads. */
#include "unit/ptx/harness.h"

#include <pthread.h>
#include <stdatomic.h>

static void setup(void)
{
	bench_start();
	bench_load_file("features");
}

static void teardown(void)
{
	bench_end();
}

static int *int_buffer(unsigned count)
{
	return bench_buffer(count * sizeof(int));
}

/* ---- control flow ---- */

static unsigned collatz_steps(unsigned x)
{
	unsigned steps = 0;

	for (; x != 1; steps++)
		x = x % 2 ? 3 * x + 1 : x / 2;
	return steps;
}

START_TEST(divergent_loops)
{
	enum { N = 300 };
	unsigned *in = bench_buffer(N * sizeof(*in));
	unsigned *out = bench_buffer(N * sizeof(*out));

	for (unsigned i = 0; i < N; i++)
		in[i] = i * 37 + 1;
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	BENCH_PARAM((int)N);
	bench_run("collatz", 3, 128);
	for (unsigned i = 0; i < N; i++)
		ck_assert_uint_eq(out[i], collatz_steps(in[i]));
}
END_TEST

static int switch_value(int x, int thread)
{
	switch (x) {
	case 0: return 100;
	case 1: return 7;
	case 2:
	case 3: return x ^ 0x55;
	case 4: return x << 3;
	case 7: return ~x;
	case 9: return 9 * thread * (thread - 1) / 2;
	default: return -1;
	}
}

START_TEST(switches)
{
	int *in = int_buffer(64);
	int *out = int_buffer(64);

	for (int i = 0; i < 64; i++)
		in[i] = i * 5 % 13 - 1;
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	bench_run("switch_cases", 1, 64);
	for (int i = 0; i < 64; i++)
		ck_assert_int_eq(out[i], switch_value(in[i], i));
}
END_TEST

struct params {
	char tag;
	double scale;
	short offset[3];
	int64_t big;
	struct {
		float x, y;
	} pair[2];
};

static double apply(const struct params *p, double x)
{
	return fma(x, p->scale, p->offset[1]) + (double)p->big + (double)p->pair[1].y;
}

START_TEST(structs_by_value)
{
	const struct params p = {3, 1.5, {7, -8, 9}, 1ll << 33, {{1, 2}, {3, 4}}};
	double *in = bench_buffer(40 * sizeof(*in));
	double *out = bench_buffer(40 * sizeof(*out));

	for (int i = 0; i < 40; i++)
		in[i] = i * 0.75;
	BENCH_PARAM(p);
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	BENCH_PARAM(1);
	bench_run("by_value", 1, 40);
	for (int i = 0; i < 40; i++) {
		double x = apply(&p, in[i]);

		if (i % 3 == 0)
			x = apply(&p, x);
		ck_assert(out[i] == x + (i % 3 ? 1 : 2) + 3 + 3);
	}
}
END_TEST

static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

START_TEST(calls)
{
	int *out = int_buffer(96);
	float *areas = bench_buffer(32 * sizeof(*areas));

	BENCH_PARAM(out);
	bench_run("recursion", 1, 48);
	for (int i = 0; i < 48; i++)
		ck_assert_int_eq(out[i], fibonacci(i % 11));
	BENCH_PARAM(out);
	bench_run("indirect", 1, 96);
	for (int i = 0; i < 96; i++)
		ck_assert_int_eq(out[i], i & 1 ? i * i : 2 * i);
	BENCH_PARAM(areas);
	bench_run("virtual_calls", 1, 32);
	for (int i = 0; i < 32; i++)
		ck_assert(areas[i] == (float)(i % 2 ? i * i : 3 * i * i));
}
END_TEST

/* ---- memory ---- */

START_TEST(module_variables)
{
	static const float weights[8] = {1, 2, 4, 8};
	float *out = bench_buffer(32 * sizeof(*out));
	int *ints = int_buffer(3);

	for (int round = 1; round <= 2; round++) {
		BENCH_PARAM(out);
		BENCH_PARAM(ints);
		bench_run("variables", 1, 32);
		for (int i = 0; i < 32; i++)
			ck_assert(out[i] == weights[i % 8]);
		ck_assert_int_eq(ints[0], 41 + round);
		ck_assert_int_eq(ints[1], 'o');
		ck_assert_int_eq(ints[2], -2);
	}
}
END_TEST

START_TEST(local_arrays)
{
	int *out = int_buffer(64);

	BENCH_PARAM(out);
	BENCH_PARAM(23);
	bench_run("local_array", 1, 64);
	for (int t = 0; t < 64; t++) {
		int a[40];

		for (int i = 0; i < 40; i++)
			a[i] = i * t;
		for (int i = 0; i < 23; i++)
			a[i * 7 % 40] += a[(i * 3 + t) % 40];
		ck_assert_int_eq(out[t], a[23] + a[t % 40]);
	}
}
END_TEST

START_TEST(generic_addresses)
{
	int *in = int_buffer(4);
	int *out = int_buffer(32);

	for (int i = 0; i < 4; i++)
		in[i] = i + 5;
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	bench_run("generic_pointers", 1, 32);
	for (int i = 0; i < 32; i++)
		ck_assert_int_eq(out[i], 26 + 100 * 28 + 10000 * (6 + i) + 7);
}
END_TEST

START_TEST(vector_accesses)
{
	float(*in)[4] = bench_buffer(48 * sizeof(*in));
	float(*out)[4] = bench_buffer(48 * sizeof(*out));
	uint8_t(*bytes)[4] = bench_buffer(48 * sizeof(*bytes));
	uint8_t(*bytes_out)[4] = bench_buffer(48 * sizeof(*bytes_out));
	int64_t(*wide)[2] = bench_buffer(48 * sizeof(*wide));
	int64_t(*wide_out)[2] = bench_buffer(48 * sizeof(*wide_out));

	for (int i = 0; i < 48; i++) {
		for (int k = 0; k < 4; k++) {
			in[i][k] = (float)(i * 4 + k);
			bytes[i][k] = (uint8_t)(i * 5 + k);
		}
		wide[i][0] = -i;
		wide[i][1] = 1ll << (i % 60);
	}
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	BENCH_PARAM(bytes);
	BENCH_PARAM(bytes_out);
	BENCH_PARAM(wide);
	BENCH_PARAM(wide_out);
	bench_run("vectors", 1, 48);
	for (int i = 0; i < 48; i++) {
		for (int k = 0; k < 4; k++) {
			ck_assert(out[i][k] == in[i][3 - k]);
			ck_assert_uint_eq(bytes_out[i][k], bytes[i][(k + 3) % 4]);
		}
		ck_assert_int_eq(wide_out[i][0], wide[i][1]);
		ck_assert_int_eq(wide_out[i][1], wide[i][0]);
	}
}
END_TEST

/* ---- numbers ---- */

START_TEST(wide_integers)
{
	uint64_t *a = bench_buffer(64 * sizeof(*a));
	uint64_t *b = bench_buffer(64 * sizeof(*b));
	uint64_t *out = bench_buffer(256 * sizeof(*out));
	uint64_t seed = 77;

	for (int i = 0; i < 64; i++) {
		a[i] = (uint64_t)bench_random(&seed) << 33 ^ bench_random(&seed);
		b[i] = (uint64_t)bench_random(&seed) << (i % 34) ^ bench_random(&seed);
	}
	BENCH_PARAM(a);
	BENCH_PARAM(b);
	BENCH_PARAM(out);
	bench_run("wide_integers", 1, 64);
	for (int i = 0; i < 64; i++) {
		unsigned __int128 sum = (unsigned __int128)a[i] * b[i] + a[i] - b[i] * 3;

		ck_assert_uint_eq(out[4 * i], (uint64_t)sum);
		ck_assert_uint_eq(out[4 * i + 1], (uint64_t)(sum >> 64));
		ck_assert_uint_eq(out[4 * i + 2], a[i] / (b[i] | 1));
		ck_assert_uint_eq(out[4 * i + 3], (uint64_t)((int64_t)a[i] % (int64_t)(b[i] | 1)));
	}
}
END_TEST

static void assert_near(double got, double want, double tolerance)
{
	ck_assert_msg(fabs(got - want) <= tolerance * (fabs(want) + tolerance), "%.17g, not %.17g",
		      got, want);
}

START_TEST(math_functions)
{
	float *in = bench_buffer(64 * sizeof(*in));
	float *out = bench_buffer(512 * sizeof(*out));

	for (int i = 0; i < 64; i++)
		in[i] = (float)(i - 32) * 0.11f;
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	bench_run("math", 1, 64);
	for (int i = 0; i < 64; i++) {
		const float *o = out + 8 * i;
		double x = (double)in[i];

		assert_near((double)o[0], exp(x), 1e-6);
		assert_near((double)o[1], log((double)(fabsf(in[i]) + 0.1f)), 1e-5);
		assert_near((double)o[2], sin((double)(in[i] * 100)), 1e-5);
		assert_near((double)o[3], tanh(x), 1e-6);
		assert_near((double)o[4], pow((double)(fabsf(in[i]) + 0.5f), 2.5), 1e-6);
		assert_near((double)o[5], erf(x), 1e-6);
		assert_near((double)o[6], cos(x), 1e-5);
		assert_near((double)o[7], 1 / sqrt(fabs(x) + 1), 1e-6);
	}
}
END_TEST

START_TEST(math_of_doubles)
{
	double *in = bench_buffer(64 * sizeof(*in));
	double *out = bench_buffer(256 * sizeof(*out));

	for (int i = 0; i < 64; i++)
		in[i] = (i - 32) * 0.37;
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	bench_run("math_double", 1, 64);
	for (int i = 0; i < 64; i++) {
		const double *o = out + 4 * i;

		assert_near(o[0], exp(in[i]), 1e-14);
		assert_near(o[1], log(fabs(in[i]) + 0.1), 1e-13);
		assert_near(o[2], sin(in[i] * 100), 1e-12);
		assert_near(o[3], in[i] / 3.7 + sqrt(fabs(in[i])) + cbrt(in[i]), 1e-13);
	}
}
END_TEST

START_TEST(half_precision)
{
	static const uint16_t values[8] = {0x3c00, 0xbc00, 0x4000, 0x3800,
					   0x0001, 0x7bff, 0x8000, 0xc500};
	static const float as_floats[8] = {1, -1, 2, 0.5f, 0x1p-24f, 65504, -0.0f, -5};
	/* x * x + 0.5 */
	static const uint16_t want[8] = {0x3e00, 0x3e00, 0x4480, 0x3a00,
					 0x3800, 0x7c00, 0x3800, 0x4e60};
	uint16_t *in = bench_buffer(sizeof(values));
	uint16_t *out = bench_buffer(sizeof(values));
	uint32_t *pairs = bench_buffer(8 * sizeof(*pairs));
	float *floats = bench_buffer(8 * sizeof(*floats));

	memcpy(in, values, sizeof(values));
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	BENCH_PARAM(pairs);
	BENCH_PARAM(floats);
	bench_run("halves", 1, 8);
	for (int i = 0; i < 8; i++) {
		ck_assert_uint_eq(out[i], want[i]);
		ck_assert_uint_eq(pairs[i] >> 16, 0x4600); /* 2 * 2 + 2 */
		ck_assert(floats[i] == as_floats[i] + (as_floats[i] > 0 ? 10 : 0));
	}
	ck_assert_uint_eq(pairs[0] & 0xffff, 0x4000); /* 1 * 1 + 1 */
	ck_assert_uint_eq(pairs[7] & 0xffff, 0x4d00); /* 25 - 5 */
}
END_TEST

/* ---- threads together ---- */

START_TEST(printing)
{
	BENCH_PARAM(3);
	bench_run("print_lines", 1, 32);
	ck_assert_str_eq(bench.printed, "thread 0 of kernel:  0.00 1099511627776 z ff%\n"
					"thread 1 of kernel:  1.50 1099511627776 z ff%\n"
					"thread 2 of kernel:  3.00 1099511627776 z ff%\n");
}
END_TEST

START_TEST(assertion)
{
	int *in = int_buffer(64);

	for (int i = 0; i < 64; i++)
		in[i] = 41 - i;
	BENCH_PARAM(in);
	ck_assert_int_eq(bench_try("check_positive", 1, 1, 64, 1), PTX_ASSERT);
	ck_assert_ptr_nonnull(strstr(bench.result.text, "in[threadIdx.x] > 0"));
	ck_assert_ptr_nonnull(strstr(bench.result.text, "features.cu:"));
	ck_assert_ptr_nonnull(strstr(bench.result.text, "thread (41,0,0)"));
	for (int i = 0; i < 64; i++)
		in[i] = 1;
	BENCH_PARAM(in);
	bench_run("check_positive", 1, 64);
}
END_TEST

START_TEST(trapping)
{
	BENCH_PARAM(77);
	ck_assert_int_eq(bench_try("trap_if", 2, 1, 96, 1), PTX_TRAP);
	ck_assert_ptr_nonnull(strstr(bench.result.text, "block (0,0,0) thread (77,0,0)"));
	BENCH_PARAM(100);
	bench_run("trap_if", 2, 96);
}
END_TEST

START_TEST(grid_sync)
{
	enum { BLOCKS = 7, THREADS = 64 };
	int *in = int_buffer(BLOCKS * THREADS);
	int *partial = int_buffer(BLOCKS);
	int *out = int_buffer(BLOCKS);
	int sum = 0;

	for (int i = 0; i < BLOCKS * THREADS; i++) {
		in[i] = i % 17 - 3;
		sum += in[i];
	}
	ck_assert(ptx_function_get_info(ptx_module_find(bench.module, "grid_sum"))->uses_grid_sync);
	ck_assert(!ptx_function_get_info(ptx_module_find(bench.module, "relay"))->uses_grid_sync);
	BENCH_PARAM(in);
	BENCH_PARAM(partial);
	BENCH_PARAM(out);
	bench_run("grid_sum", BLOCKS, THREADS);
	for (int i = 0; i < BLOCKS; i++)
		ck_assert_int_eq(out[i], sum);
}
END_TEST

START_TEST(tiles)
{
	int *in = int_buffer(64);
	int *out = int_buffer(64);

	for (int i = 0; i < 64; i++)
		in[i] = i;
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	bench_run("cooperative", 1, 64);
	for (int i = 0; i < 64; i++) {
		int first = i / 8 * 8;
		int want = (8 * first + 28) * 10 + i % 8;
		int size = 0;
		int rank = 0;

		for (int t = i / 32 * 32; t < i / 32 * 32 + 32; t++) {
			size += t % 3 == 1;
			rank += t % 3 == 1 && t < i;
		}
		if (i % 3 == 1)
			want += 1000 * size + 100000 * rank;
		ck_assert_int_eq(out[i], want);
	}
}
END_TEST

START_TEST(votes)
{
	int *in = int_buffer(32);
	uint32_t *out = bench_buffer(160 * sizeof(*out));
	uint32_t positive = 0;

	for (int i = 0; i < 32; i++) {
		in[i] = i % 5 - 2;
		positive |= (uint32_t)(in[i] > 0) << i;
	}
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	bench_run("warp_votes", 1, 32);
	for (int i = 0; i < 32; i++) {
		uint32_t same = 0;

		for (int k = 0; k < 32; k++)
			same |= (uint32_t)(in[k] == in[i]) << k;
		ck_assert_uint_eq(out[i], positive);
		ck_assert_uint_eq(out[32 + i], 2);
		ck_assert_uint_eq(out[64 + i], same);
		ck_assert_uint_eq(out[96 + i], i >= 8 && i < 20 ? 0xfff00 : 0);
		ck_assert_uint_eq(out[128 + i], (uint32_t)__builtin_popcount(positive) + 1000);
	}
}
END_TEST

START_TEST(lanes_wait_for_lanes)
{
	int *count = int_buffer(1);

	BENCH_PARAM(count);
	bench_run("spin_lock", 2, 64);
	ck_assert_int_eq(*count, 128);
}
END_TEST

START_TEST(lanes_wait_and_branch)
{
	int *count = int_buffer(1);
	int *rounds = int_buffer(3);
	int *out = int_buffer(64);

	BENCH_PARAM(count);
	BENCH_PARAM(rounds);
	bench_run("spin_and_branch", 2, 64);
	ck_assert_int_eq(*count, 128);
	for (int i = 0; i < 3; i++)
		ck_assert_int_gt(rounds[i], 0);
	BENCH_PARAM(out);
	bench_run("wait_for_later", 1, 64);
	for (int i = 0; i < 64; i++)
		ck_assert_int_eq(out[i], i % 2 ? 1 : 2);
}
END_TEST

START_TEST(warps_wait_for_warps)
{
	int *out = int_buffer(8);

	BENCH_PARAM(out);
	bench_run("relay", 1, 256);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(out[i], i * 10);
}
END_TEST

START_TEST(exits_before_barrier)
{
	int *out = int_buffer(128);

	BENCH_PARAM(out);
	bench_run("early_exit", 1, 128);
	for (int i = 0; i < 128; i++)
		ck_assert_int_eq(out[i], i < 64 ? 64 : 0);
}
END_TEST

START_TEST(shared_memory)
{
	const struct ptx_function_info *info =
		ptx_function_get_info(ptx_module_find(bench.module, "bounded"));
	int *out = int_buffer(128);

	ck_assert_uint_eq(info->max_threads, 128);
	ck_assert_uint_ge(info->shared_bytes, 3);
	bench.dynamic_shared = 128 * sizeof(int);
	BENCH_PARAM(out);
	bench_run("bounded", 1, 128);
	for (int i = 0; i < 128; i++)
		ck_assert_int_eq(out[i], 127 - i + 1);
}
END_TEST

START_TEST(clocks)
{
	int64_t *out = bench_buffer(32 * sizeof(*out));

	BENCH_PARAM(out);
	BENCH_PARAM(5000ll);
	bench_run("wait_clock", 1, 32);
	for (int i = 0; i < 32; i++)
		ck_assert_int_ge(out[i], 5000);
}
END_TEST

/* ---- several host threads run one grid ---- */

enum { THREADS = 4, BLOCKS_EACH = 8, SIZE = 96 };

struct piece {
	const struct ptx_launch *launch;
	uint64_t first;
	struct ptx_result result;
};

static void *run_piece(void *arg)
{
	struct piece *piece = arg;

	ptx_run(piece->launch, piece->first, BLOCKS_EACH, &piece->result);
	return NULL;
}

static void check_atomics(const int *ints, const uint32_t *words, const uint64_t *wides,
			  float floats, double doubles)
{
	const int n = THREADS * BLOCKS_EACH * SIZE;

	ck_assert_int_eq(ints[0], n * (n - 1) / 2);
	ck_assert_int_eq(ints[1], 50 - (n - 1));
	ck_assert_int_eq(ints[2], n - 1 - 50);
	ck_assert_int_eq(ints[3], -n);
	ck_assert_uint_eq(words[0], n % 10);
	ck_assert_uint_eq(words[1], (10 - n % 10) % 10);
	ck_assert_uint_eq(words[2], UINT32_MAX);
	ck_assert_uint_eq(words[3], 0xffff0000);
	/* 3072 threads toggle five bits: 614 or 615 times each. */
	ck_assert_uint_eq(words[4], 3);
	ck_assert_uint_lt(words[5], n);
	ck_assert_uint_eq(words[6], 2 * n);
	ck_assert_uint_eq(wides[0], (uint64_t)n << 33);
	ck_assert_uint_eq(wides[1], (uint64_t)(n - 1) << 32);
	ck_assert_uint_eq(wides[2], UINT64_MAX - (uint64_t)(n - 1));
	ck_assert(floats == (float)n * 0.5f);
	ck_assert(doubles == n * 0.25);
}

START_TEST(atomics_between_threads)
{
	const struct ptx_memory memory = {.check = bench_check};
	struct piece piece[THREADS];
	pthread_t thread[THREADS];
	int *ints = int_buffer(4);
	uint32_t *words = bench_buffer(7 * sizeof(*words));
	uint64_t *wides = bench_buffer(3 * sizeof(*wides));
	float *floats = bench_buffer(sizeof(*floats));
	double *doubles = bench_buffer(sizeof(*doubles));
	struct ptx_launch launch = {
		.function = ptx_module_find(bench.module, "atomics"),
		.grid = {THREADS * BLOCKS_EACH, 1, 1},
		.block = {SIZE, 1, 1},
		.params = bench.params,
		.memory = &memory,
	};

	words[3] = UINT32_MAX;
	wides[2] = UINT64_MAX;
	BENCH_PARAM(ints);
	BENCH_PARAM(words);
	BENCH_PARAM(wides);
	BENCH_PARAM(floats);
	BENCH_PARAM(doubles);
	for (unsigned i = 0; i < THREADS; i++) {
		piece[i] = (struct piece){.launch = &launch, .first = i * BLOCKS_EACH};
		ck_assert_int_eq(pthread_create(&thread[i], NULL, run_piece, &piece[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		ck_assert_msg(piece[i].result.fault == PTX_OK, "%s", piece[i].result.text);
	}
	check_atomics(ints, words, wides, *floats, *doubles);
}
END_TEST

static void *stop_soon(void *arg)
{
	_Atomic bool *stop = arg;

	usleep(20000);
	atomic_store(stop, true);
	return NULL;
}

START_TEST(endless_kernel_stops)
{
	_Atomic bool stop = false;
	pthread_t thread;
	int *out = int_buffer(1);

	bench.stop = &stop;
	ck_assert_int_eq(pthread_create(&thread, NULL, stop_soon, &stop), 0);
	BENCH_PARAM(out);
	ck_assert_int_eq(bench_try("endless", 1, 1, 64, 1), PTX_STOPPED);
	pthread_join(thread, NULL);
	ck_assert_int_ne(*out, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptx_features");
	TCase *tcase = tcase_create("cuda");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, divergent_loops);
	tcase_add_test(tcase, switches);
	tcase_add_test(tcase, structs_by_value);
	tcase_add_test(tcase, calls);
	tcase_add_test(tcase, module_variables);
	tcase_add_test(tcase, local_arrays);
	tcase_add_test(tcase, generic_addresses);
	tcase_add_test(tcase, vector_accesses);
	tcase_add_test(tcase, wide_integers);
	tcase_add_test(tcase, math_functions);
	tcase_add_test(tcase, math_of_doubles);
	tcase_add_test(tcase, half_precision);
	tcase_add_test(tcase, printing);
	tcase_add_test(tcase, assertion);
	tcase_add_test(tcase, trapping);
	tcase_add_test(tcase, grid_sync);
	tcase_add_test(tcase, tiles);
	tcase_add_test(tcase, votes);
	tcase_add_test(tcase, lanes_wait_for_lanes);
	tcase_add_test(tcase, lanes_wait_and_branch);
	tcase_add_test(tcase, warps_wait_for_warps);
	tcase_add_test(tcase, exits_before_barrier);
	tcase_add_test(tcase, shared_memory);
	tcase_add_test(tcase, clocks);
	tcase_add_test(tcase, atomics_between_threads);
	tcase_add_test(tcase, endless_kernel_stops);
	suite_add_tcase(suite, tcase);
	return bench_main(suite);
}
