/* SPDX-License-Identifier: Apache-2.0 */
/* What CUDA C++ compiles to beyond plain loops; test_ptx_features.c checks it. */
#include <cassert>
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

/* ---- control flow ---- */

extern "C" __global__ void collatz(const unsigned *in, unsigned *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	unsigned x = in[i];
	unsigned steps = 0;
	while (x != 1) {
		if (x % 2)
			x = 3 * x + 1;
		else
			x /= 2;
		steps++;
		if (steps > 100000)
			break;
	}
	out[i] = steps;
}

extern "C" __global__ void switch_cases(const int *in, int *out)
{
	int x = in[threadIdx.x];
	int y;

	switch (x) {
	case 0: y = x + 100; break;
	case 1: y = x * 7; break;
	case 2: y = x - 1000; /* falls through */
	case 3: y = x ^ 0x55; break;
	case 4: y = x << 3; break;
	case 7: y = ~x; break;
	case 9:
		y = 0;
		for (int i = 0; i < (int)threadIdx.x; i++)
			y += i * x;
		break;
	default: y = -1;
	}
	out[threadIdx.x] = y;
}

struct params {
	char tag;
	double scale;
	short offset[3];
	int64_t big;
	struct {
		float x, y;
	} pair[2];
};

__device__ __noinline__ double apply(params p, double x, int *calls)
{
	*calls += 1;
	return x * p.scale + p.offset[1] + (double)p.big + p.pair[1].y;
}

extern "C" __global__ void by_value(params p, const double *in, double *out, int pick)
{
	int calls = 0;
	double x = apply(p, in[threadIdx.x], &calls);

	if (threadIdx.x % 3 == 0)
		x = apply(p, x, &calls);
	out[threadIdx.x] = x + calls + p.tag + p.pair[pick].x;
}

__device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recursion(int *out)
{
	out[threadIdx.x] = fibonacci(threadIdx.x % 11);
}

__device__ int twice(int x)
{
	return 2 * x;
}

__device__ int square(int x)
{
	return x * x;
}

typedef int (*function)(int);
__device__ function table[2] = {twice, square};

extern "C" __global__ void indirect(int *out)
{
	out[threadIdx.x] = table[threadIdx.x & 1](threadIdx.x);
}

struct shape {
	__device__ virtual float area(float x) { return x; }
};
struct box : shape {
	__device__ float area(float x) override { return x * x; }
};
struct disc : shape {
	__device__ float area(float x) override { return 3 * x * x; }
};

extern "C" __global__ void virtual_calls(float *out)
{
	box b;
	disc d;
	shape *s = threadIdx.x % 2 ? (shape *)&b : (shape *)&d;

	out[threadIdx.x] = s->area((float)threadIdx.x);
}

/* ---- memory ---- */

__constant__ float weights[8] = {1, 2, 4, 8};
__device__ int counter = 41;
__device__ int *where = &counter;
__device__ const char *const text = "hello";
__device__ short numbers[] = {1, -2, 3};

extern "C" __global__ void variables(float *out, int *ints)
{
	out[threadIdx.x] = weights[threadIdx.x % 8];
	if (threadIdx.x == 0) {
		*where += 1;
		ints[0] = counter;
		ints[1] = text[4];
		ints[2] = numbers[1];
	}
}

extern "C" __global__ void local_array(int *out, int n)
{
	int a[40];

	for (int i = 0; i < 40; i++)
		a[i] = i * threadIdx.x;
	for (int i = 0; i < n; i++)
		a[(i * 7) % 40] += a[(i * 3 + threadIdx.x) % 40];
	out[threadIdx.x] = a[n % 40] + a[threadIdx.x % 40];
}

__device__ __noinline__ int sum_through(const int *p, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += p[i];
	return sum;
}

/* One pointer type for global, shared, local and constant memory. */
extern "C" __global__ void generic_pointers(const int *global, int *out)
{
	__shared__ int shared[32];
	int local[4] = {1, 2, 3, (int)threadIdx.x};

	shared[threadIdx.x] = threadIdx.x;
	__syncthreads();
	out[threadIdx.x] = sum_through(global, 4) + 100 * sum_through(shared, 8) +
			   10000 * sum_through(local, 4) + __isShared(shared) +
			   2 * __isGlobal(global) + 4 * __isLocal(local);
}

struct alignas(16) quad {
	float x, y, z, w;
};

extern "C" __global__ void vectors(const quad *in, quad *out, const uchar4 *bytes, uchar4 *bytes_out,
				   const longlong2 *wide, longlong2 *wide_out)
{
	int i = threadIdx.x;
	quad q = in[i];
	uchar4 b = bytes[i];
	longlong2 w = wide[i];

	out[i] = quad{q.w, q.z, q.y, q.x};
	bytes_out[i] = make_uchar4(b.w, b.x, b.y, b.z);
	wide_out[i] = make_longlong2(w.y, w.x);
}

/* ---- numbers ---- */

extern "C" __global__ void wide_integers(const uint64_t *a, const uint64_t *b, uint64_t *out)
{
	int i = threadIdx.x;
	unsigned __int128 product = (unsigned __int128)a[i] * b[i];
	unsigned __int128 sum = product + a[i] - b[i] * 3;

	out[4 * i] = (uint64_t)sum;
	out[4 * i + 1] = (uint64_t)(sum >> 64);
	out[4 * i + 2] = a[i] / (b[i] | 1);
	out[4 * i + 3] = (uint64_t)((int64_t)a[i] % (int64_t)(b[i] | 1));
}

extern "C" __global__ void math(const float *in, float *out)
{
	float x = in[threadIdx.x];
	float *o = out + 8 * threadIdx.x;

	o[0] = expf(x);
	o[1] = logf(fabsf(x) + 0.1f);
	o[2] = sinf(x * 100);
	o[3] = tanhf(x);
	o[4] = powf(fabsf(x) + 0.5f, 2.5f);
	o[5] = erff(x);
	o[6] = cosf(x);
	o[7] = rsqrtf(fabsf(x) + 1.0f);
}

extern "C" __global__ void math_double(const double *in, double *out)
{
	double x = in[threadIdx.x];
	double *o = out + 4 * threadIdx.x;

	o[0] = exp(x);
	o[1] = log(fabs(x) + 0.1);
	o[2] = sin(x * 100);
	o[3] = x / 3.7 + sqrt(fabs(x)) + cbrt(x);
}

extern "C" __global__ void halves(const __half *in, __half *out, __half2 *pairs, float *floats)
{
	int i = threadIdx.x;
	__half h = in[i];
	__half2 p = __halves2half2(h, __float2half(2.0f));

	out[i] = __hadd(__hmul(h, h), __float2half(0.5f));
	pairs[i] = __hfma2(p, p, p);
	floats[i] = __half2float(h) + (__hgt(h, __float2half(0.0f)) ? 10.0f : 0.0f);
}

/* ---- threads together ---- */

extern "C" __global__ void print_lines(int n)
{
	if (threadIdx.x < n)
		printf("thread %d of %s: %5.2f %lld %c %x%%\n", threadIdx.x, "kernel",
		       threadIdx.x * 1.5, 1ll << 40, 'z', 255u);
}

extern "C" __global__ void check_positive(const int *in)
{
	assert(in[threadIdx.x] > 0);
}

extern "C" __global__ void trap_if(int n)
{
	if (threadIdx.x == n)
		__trap();
}

extern "C" __global__ void grid_sum(const int *in, int *partial, int *out)
{
	cg::grid_group grid = cg::this_grid();

	partial[blockIdx.x] = 0;
	grid.sync();
	atomicAdd(&partial[(blockIdx.x + 1) % gridDim.x], in[blockIdx.x * blockDim.x + threadIdx.x]);
	grid.sync();
	if (threadIdx.x == 0) {
		int sum = 0;
		for (int i = 0; i < gridDim.x; i++)
			sum += partial[i];
		out[blockIdx.x] = sum;
	}
}

extern "C" __global__ void cooperative(const int *in, int *out)
{
	cg::thread_block block = cg::this_thread_block();
	auto tile = cg::tiled_partition<8>(block);
	int x = in[threadIdx.x];

	for (int step = 4; step; step /= 2)
		x += tile.shfl_down(x, step);
	out[threadIdx.x] = tile.shfl(x, 0) * 10 + tile.thread_rank();
	if (threadIdx.x % 3 == 1) {
		auto some = cg::coalesced_threads();
		out[threadIdx.x] += 1000 * some.size() + 100000 * some.thread_rank();
	}
	block.sync();
}

extern "C" __global__ void warp_votes(const int *in, unsigned *out)
{
	int x = in[threadIdx.x];

	out[threadIdx.x] = __ballot_sync(0xffffffff, x > 0);
	out[32 + threadIdx.x] = __any_sync(0xffffffff, x > 100) + 2 * __all_sync(0xffffffff, x > -100);
	out[64 + threadIdx.x] = __match_any_sync(0xffffffff, x);
	if (threadIdx.x >= 8 && threadIdx.x < 20)
		out[96 + threadIdx.x] = __activemask();
	else
		out[96 + threadIdx.x] = 0;
	out[128 + threadIdx.x] = __syncthreads_count(x > 0) + 1000 * __syncthreads_and(x > -50) +
				 2000 * __syncthreads_or(x > 50);
}

/* A lock that lanes of one warp take from each other. */
__device__ int lock_word;

extern "C" __global__ void spin_lock(int *shared_count)
{
	bool done = false;

	while (!done) {
		if (atomicCAS(&lock_word, 0, 1) == 0) {
			*(volatile int *)shared_count += 1;
			__threadfence();
			atomicExch(&lock_word, 0);
			done = true;
		}
	}
}

/* Warps wait for each other through shared memory. */
extern "C" __global__ void relay(int *out)
{
	__shared__ volatile int turn;
	int warp = threadIdx.x / 32;

	if (threadIdx.x == 0)
		turn = 0;
	__syncthreads();
	while (turn != warp)
		;
	__syncwarp();
	if (threadIdx.x % 32 == 0) {
		out[warp] = warp * 10;
		turn = warp + 1;
	}
}

extern "C" __global__ void atomics(int *ints, unsigned *words, unsigned long long *wides,
				   float *floats, double *doubles)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&ints[0], i);
	atomicMin(&ints[1], 50 - i);
	atomicMax(&ints[2], i - 50);
	atomicSub(&ints[3], 1);
	atomicInc(&words[0], 9);
	atomicDec(&words[1], 9);
	atomicOr(&words[2], 1u << (i % 32));
	atomicAnd(&words[3], ~(1u << (i % 16)));
	atomicXor(&words[4], 1u << (i % 5));
	atomicAdd(&wides[0], 1ull << 33);
	atomicMax(&wides[1], (unsigned long long)i << 32);
	atomicMin(&wides[2], ~0ull - i);
	atomicAdd(&floats[0], 0.5f);
	atomicAdd(&doubles[0], 0.25);
	atomicExch(&words[5], i);
	unsigned old = words[6];
	unsigned seen;
	do {
		seen = old;
		old = atomicCAS(&words[6], seen, seen + 2);
	} while (old != seen);
}

extern "C" __global__ void endless(int *out)
{
	while (true)
		atomicAdd(out, 1);
}

extern "C" __global__ void wait_clock(long long *out, long long cycles)
{
	long long start = clock64();

	while (clock64() - start < cycles)
		;
	out[threadIdx.x] = clock64() - start;
}

/* Warps leave at different times; the others' barriers must not wait for them. */
extern "C" __global__ void early_exit(int *out)
{
	__shared__ int sum;

	if (threadIdx.x == 0)
		sum = 0;
	__syncthreads();
	if (threadIdx.x >= 64)
		return;
	atomicAdd(&sum, 1);
	__syncthreads();
	out[threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(128) bounded(int *out)
{
	__shared__ double a[16];
	__shared__ char b[3];
	extern __shared__ int dynamic[];

	a[threadIdx.x % 16] = threadIdx.x;
	b[threadIdx.x % 3] = 1;
	dynamic[threadIdx.x] = (int)threadIdx.x;
	__syncthreads();
	out[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x] + b[2] + (int)a[0] * 0;
}

/* The same, with a branch in the loop: the spinning lanes part and meet in every round. */
extern "C" __global__ void spin_and_branch(int *count, int *rounds)
{
	bool done = false;
	int spins = 0;

	while (!done) {
		if (spins++ % 3 == threadIdx.x % 3)
			atomicAdd(&rounds[threadIdx.x % 3], 1);
		if (atomicCAS(&lock_word, 0, 1) == 0) {
			*(volatile int *)count += 1;
			__threadfence();
			atomicExch(&lock_word, 0);
			done = true;
		}
	}
}

/* Half of a warp waits for the other half, which comes later in the program. */
extern "C" __global__ void wait_for_later(int *out)
{
	__shared__ volatile int flag;

	if (threadIdx.x == 0)
		flag = 0;
	__syncthreads();
	if (threadIdx.x % 2) {
		int spins = 0;
		while (!flag)
			spins += threadIdx.x % 4 == 1 ? 1 : 2;
		out[threadIdx.x] = spins >= 0 ? 1 : 3;
	} else {
		flag = 1;
		out[threadIdx.x] = 2;
	}
}
