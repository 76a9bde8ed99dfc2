/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc LIVE: what an allocation and a free take with so many live. Batches of 64 random ones are
 * freed and allocated anew.
 */
#include "bench.h"

#define BATCH 64
#define ROUNDS 4000

static double free_ns[ROUNDS], alloc_ns[ROUNDS];

int main(int argc, char **argv)
{
	unsigned int live = argc > 1 ? bench_number(argv[1]) : 20000;
	CUdeviceptr *pointers = calloc(live, sizeof(*pointers));
	uint64_t random = 88172645463325252ull;
	unsigned int chosen[BATCH];

	if (!pointers || live < BATCH)
		return 2;
	bench_start();
	for (unsigned int i = 0; i < live; i++)
		bench_check(cuMemAlloc_v2(&pointers[i], 4096), "cuMemAlloc");
	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t start_ns, middle_ns;

		/* Distinct ones: a random start, and steps of a prime. */
		for (unsigned int i = 0; i < BATCH; i++)
			chosen[i] =
				(unsigned int)((i ? chosen[i - 1] + 7919 : bench_random(&random)) %
					       live);
		start_ns = sluice_now_ns();
		for (unsigned int i = 0; i < BATCH; i++)
			cuMemFree_v2(pointers[chosen[i]]);
		middle_ns = sluice_now_ns();
		for (unsigned int i = 0; i < BATCH; i++)
			cuMemAlloc_v2(&pointers[chosen[i]], 4096);
		free_ns[round] = (double)(middle_ns - start_ns) / BATCH;
		alloc_ns[round] = (double)(sluice_now_ns() - middle_ns) / BATCH;
	}
	printf("alloc %.2f\nfree %.2f\n", bench_quantile(alloc_ns, ROUNDS, 0.5),
	       bench_quantile(free_ns, ROUNDS, 0.5));
	return 0;
}
