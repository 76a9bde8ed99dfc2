/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch THREADS: what one launch takes. 64 pairs of function and grid in random order, 4 streams
 * in turn; each thread has its own. Prints ns a launch, the 99th percentile over batches of 16, and
 * with several threads the CPU time a launch.
 */
#include <pthread.h>

#include "bench.h"

#define KERNELS 64
#define STREAMS 4
#define BATCH 16
#define BATCHES 20000
#define WARM 2000 /* batches */
#define MAX_THREADS 16

struct worker {
	pthread_t thread;
	double batch_ns[BATCHES];
	uint64_t cpu_ns;
	unsigned int number;
};

static struct worker workers[MAX_THREADS];

static void launch_batch(const unsigned char *order, CUstream *streams)
{
	for (unsigned int i = 0; i < BATCH; i++)
		cuLaunchKernel(BENCH_FUNCTION(order[i] % 16), 1u + order[i], 1, 1, 128, 1, 1, 0,
			       streams[i % STREAMS], NULL, NULL);
}

static void *work(void *closure)
{
	struct worker *worker = closure;
	unsigned char order[BATCH * 64];
	CUstream streams[STREAMS];
	uint64_t random = 88172645463325252ull + worker->number, cpu_ns;

	bench_start();
	for (unsigned int i = 0; i < sizeof(order); i++)
		order[i] = bench_random(&random) % KERNELS;
	for (unsigned int i = 0; i < STREAMS; i++)
		bench_check(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	for (unsigned int i = 0; i < WARM; i++)
		launch_batch(order + i % 64 * BATCH, streams);
	cpu_ns = bench_clock(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned int i = 0; i < BATCHES; i++) {
		uint64_t start_ns = sluice_now_ns();

		launch_batch(order + i % 64 * BATCH, streams);
		worker->batch_ns[i] = (double)(sluice_now_ns() - start_ns) / BATCH;
	}
	worker->cpu_ns = bench_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 1 ? bench_number(argv[1]) : 1;
	double cpu_ns = 0;

	if (!threads || threads > MAX_THREADS)
		return 2;
	for (unsigned int i = 0; i < threads; i++) {
		workers[i].number = i;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		cpu_ns += (double)workers[i].cpu_ns / (BATCHES * BATCH);
	}
	printf("p50 %.2f\np99 %.2f\ncpu %.2f\n", bench_quantile(workers[0].batch_ns, BATCHES, 0.5),
	       bench_quantile(workers[0].batch_ns, BATCHES, 0.99), cpu_ns / threads);
	return 0;
}
