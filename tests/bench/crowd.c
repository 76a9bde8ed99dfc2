/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd PROCESSES SECONDS WORK: so many processes of the GPU, idle (WORK 0) or each launching a few
 * kernels every WORK us and waiting for them. Prints `ready` when all are there, and ends after
 * SECONDS. The first asks to be the tenant lc, the others be.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define KERNELS_A_TURN 8

static void take_part(unsigned int number, unsigned int seconds, unsigned int work_us, int ready)
{
	uint64_t end_ns;
	CUstream stream;

	setenv("SLUICE_TENANT", number ? "be" : "lc", 1);
	bench_start();
	bench_check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	cuLaunchKernel(BENCH_FUNCTION(number), 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
	cuStreamSynchronize(stream);
	if (write(ready, "x", 1) != 1)
		exit(EXIT_FAILURE);
	end_ns = sluice_now_ns() + seconds * SLUICE_NS_PER_S;
	if (!work_us)
		usleep(seconds * 1000000);
	while (sluice_now_ns() < end_ns) {
		usleep(work_us);
		for (unsigned int i = 0; i < KERNELS_A_TURN; i++)
			cuLaunchKernel(BENCH_FUNCTION(i), 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
		cuStreamSynchronize(stream);
	}
	exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
	unsigned int processes = argc > 3 ? bench_number(argv[1]) : 0;
	int ready[2], status, bad = 0;
	char byte;

	if (!processes || pipe(ready))
		return 2;
	for (unsigned int i = 0; i < processes; i++) {
		if (!fork())
			take_part(i, bench_number(argv[2]), bench_number(argv[3]), ready[1]);
	}
	close(ready[1]);
	for (unsigned int i = 0; i < processes; i++)
		bad |= read(ready[0], &byte, 1) != 1;
	printf("ready\n");
	fflush(stdout);
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
