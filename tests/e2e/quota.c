/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes memory of every kind against a quota and says what it is told: quota fill; or holds a part
 * of it until it is killed: quota hold MIB (prints the result and its pid); or does what standard
 * input says, a line at a time: quota steps ("alloc MIB", "free", which takes the newest, "info").
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ull << 20)

static void tell(const char *when)
{
	size_t free_bytes = 0, total_bytes = 0, device_bytes = 0;

	if (cuMemGetInfo(&free_bytes, &total_bytes) || cuDeviceTotalMem(&device_bytes, 0))
		printf("%s: an error\n", when);
	else
		printf("%s: free %llu total %llu device %llu\n", when,
		       (unsigned long long)(free_bytes / MIB),
		       (unsigned long long)(total_bytes / MIB),
		       (unsigned long long)(device_bytes / MIB));
}

/* How many MiB there are to be had, one by one; gives them back. */
static unsigned int fill(void)
{
	static CUdeviceptr block[4096];
	unsigned int count = 0;

	while (count < 4096 && cuMemAlloc(&block[count], MIB) == CUDA_SUCCESS)
		count++;
	for (unsigned int i = 0; i < count; i++)
		(void)cuMemFree(block[i]);
	return count;
}

static void kinds(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUdeviceptr plain = 0, managed = 0, pooled = 0, pitched = 0;
	CUmemGenericAllocationHandle handle = 0;
	size_t pitch;

	printf("plain 16: %d\n", (int)cuMemAlloc(&plain, 16 * MIB));
	printf("managed 8: %d\n", (int)cuMemAllocManaged(&managed, 8 * MIB, CU_MEM_ATTACH_GLOBAL));
	printf("pooled 4: %d\n", (int)cuMemAllocAsync(&pooled, 4 * MIB, NULL));
	printf("pitched 2: %d\n", (int)cuMemAllocPitch(&pitched, &pitch, 1024, 2048, 4));
	printf("created 2: %d\n", (int)cuMemCreate(&handle, 2 * MIB, &prop, 0));
	tell("with all of them");
	printf("too much: %d\n", (int)cuMemAlloc(&plain, 64 * MIB));
	printf("frees: %d %d %d %d\n", (int)cuMemFree(managed), (int)cuMemFreeAsync(pooled, NULL),
	       (int)cuMemFree(pitched), (int)cuMemRelease(handle));
	tell("with 16");
}

static void steps(void)
{
	static CUdeviceptr block[64];
	unsigned int count = 0;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "alloc ", 6) && count < 64) {
			CUresult result =
				cuMemAlloc(&block[count], strtoull(line + 6, NULL, 10) * MIB);

			count += result == CUDA_SUCCESS;
			printf("alloc: %d\n", (int)result);
		} else if (!strncmp(line, "free", 4) && count) {
			printf("free: %d\n", (int)cuMemFree(block[--count]));
		} else {
			tell("info");
		}
	}
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdeviceptr address;
	CUresult result;

	if (argc < 2 || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) ||
	    cuCtxSetCurrent(context))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(argv[1], "fill")) {
		tell("at first");
		printf("to be had: %u\n", fill());
		kinds();
		printf("to be had: %u\n", fill());
		(void)cuDevicePrimaryCtxReset(0);
		(void)cuDevicePrimaryCtxRetain(&context, 0);
		(void)cuCtxSetCurrent(context);
		tell("after a reset");
		return 0;
	}
	if (!strcmp(argv[1], "steps")) {
		steps();
		return 0;
	}
	result = cuMemAlloc(&address, strtoull(argv[2], NULL, 10) * MIB);
	printf("hold: %d pid %d\n", (int)result, (int)getpid());
	if (result == CUDA_SUCCESS)
		pause();
	return 0;
}
