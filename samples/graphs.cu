/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures a small network of kernels and copies on two streams into a graph, replays it, and
 * compares with the same work computed on the host.
 */
#include <getopt.h>
#include <vector>

#include "check.cuh"
#include "common.h"

#define BLOCK 64

static __global__ void scale(uint32_t *x, uint32_t factor, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = x[i] * factor + 1;
}

static __global__ void rotate(const uint32_t *x, uint32_t *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[(i + 1) % n] ^ (x[i] >> 3);
}

static __global__ void combine(uint32_t *x, const uint32_t *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] += y[i];
}

struct work {
	int n;
	uint32_t *host_in, *host_out; /* pinned */
	uint32_t *x, *y;	      /* device */
	cudaStream_t main, side;
	cudaEvent_t fork, join;
};

/* The same on both: what one replay does. */
static void on_host(std::vector<uint32_t> &x, std::vector<uint32_t> &y, const uint32_t *in, int n)
{
	for (int i = 0; i < n; i++)
		x[i] ^= in[i];
	for (int i = 0; i < n; i++)
		y[i] = x[(i + 1) % n] ^ (x[i] >> 3);
	for (int i = 0; i < n; i++)
		x[i] = x[i] * 3 + 1;
	for (int i = 0; i < n; i++)
		y[i] = y[i] * 5 + 1;
	for (int i = 0; i < n; i++)
		x[i] += y[i];
}

static __global__ void mix_in(uint32_t *x, const uint32_t *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] ^= in[i];
}

static cudaGraphExec_t capture(const struct work *w, uint32_t *in)
{
	int blocks = (w->n + BLOCK - 1) / BLOCK;
	size_t bytes = w->n * sizeof(uint32_t);
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(w->main, cudaStreamCaptureModeThreadLocal));
	CHECK(cudaMemcpyAsync(in, w->host_in, bytes, cudaMemcpyHostToDevice, w->main));
	mix_in<<<blocks, BLOCK, 0, w->main>>>(w->x, in, w->n);
	rotate<<<blocks, BLOCK, 0, w->main>>>(w->x, w->y, w->n);
	CHECK(cudaEventRecord(w->fork, w->main));
	CHECK(cudaStreamWaitEvent(w->side, w->fork, 0));
	scale<<<blocks, BLOCK, 0, w->main>>>(w->x, 3, w->n);
	scale<<<blocks, BLOCK, 0, w->side>>>(w->y, 5, w->n);
	CHECK(cudaEventRecord(w->join, w->side));
	CHECK(cudaStreamWaitEvent(w->main, w->join, 0));
	combine<<<blocks, BLOCK, 0, w->main>>>(w->x, w->y, w->n);
	CHECK(cudaGetLastError()); /* of all launches above */
	CHECK(cudaMemcpyAsync(w->host_out, w->x, bytes, cudaMemcpyDeviceToHost, w->main));
	CHECK(cudaStreamEndCapture(w->main, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

static void make(struct work *w)
{
	size_t bytes = w->n * sizeof(uint32_t);

	CHECK(cudaMallocHost((void **)&w->host_in, bytes));
	CHECK(cudaMallocHost((void **)&w->host_out, bytes));
	CHECK(cudaMalloc((void **)&w->x, bytes));
	CHECK(cudaMalloc((void **)&w->y, bytes));
	CHECK(cudaStreamCreateWithFlags(&w->main, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&w->side, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&w->fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&w->join, cudaEventDisableTiming));
	CHECK(cudaMemset(w->x, 0, bytes));
	CHECK(cudaDeviceSynchronize());
}

static void destroy(struct work *w)
{
	CHECK(cudaEventDestroy(w->fork));
	CHECK(cudaEventDestroy(w->join));
	CHECK(cudaStreamDestroy(w->main));
	CHECK(cudaStreamDestroy(w->side));
	CHECK(cudaFree(w->x));
	CHECK(cudaFree(w->y));
	CHECK(cudaFreeHost(w->host_in));
	CHECK(cudaFreeHost(w->host_out));
}

static void usage(FILE *out)
{
	fputs("usage: graphs [--elements N] [--replays N] [--seed N]\n"
	      "Captures kernels and copies on two streams, replays the graph, checks every replay.\n",
	      out);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"elements", required_argument, NULL, 'e'},
						{"replays", required_argument, NULL, 'r'},
						{"seed", required_argument, NULL, 's'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	struct work w = {};
	uint64_t seed = 1, hash = HASH_START;
	int replays = 20, wrong = 0, option;
	uint32_t *in;

	w.n = 256;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'e': w.n = (int)option_number("elements", optarg, 2, 1e8); break;
		case 'r': replays = (int)option_number("replays", optarg, 1, 1e9); break;
		case 's': seed = (uint64_t)option_number("seed", optarg, 0, 1e15); break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	}
	make(&w);
	CHECK(cudaMalloc((void **)&in, w.n * sizeof(uint32_t)));
	cudaGraphExec_t exec = capture(&w, in);
	std::vector<uint32_t> x(w.n), y(w.n);
	for (int r = 0; r < replays; r++) {
		for (int i = 0; i < w.n; i++)
			w.host_in[i] = (uint32_t)random_next(&seed);
		CHECK(cudaGraphLaunch(exec, w.main));
		CHECK(cudaStreamSynchronize(w.main));
		on_host(x, y, w.host_in, w.n);
		wrong += memcmp(x.data(), w.host_out, w.n * sizeof(uint32_t)) != 0;
		hash = hash_bytes(hash, w.host_out, w.n * sizeof(uint32_t));
	}
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaFree(in));
	destroy(&w);
	if (wrong)
		fprintf(stderr, "graphs: %d of %d replays gave a wrong result\n", wrong, replays);
	print_result(hash);
	return wrong != 0;
}
