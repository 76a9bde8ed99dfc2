/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls across fork, exec and closed descriptors, with errno watched: what it prints
 * must not depend on what is preloaded. lifecycle again: the exec'd half.
 */
#include <cuda.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ODD 1234

static int spoilt;

/* Runs a call with errno set, and counts those that change it. */
#define CALL(name, call) \
	do { \
		errno = ODD; \
		printf("%s: %d\n", name, (int)(call)); \
		spoilt += errno != ODD; \
	} while (0)

static void memory(void)
{
	CUdeviceptr address = 0, other = 0;
	size_t pitch, free_bytes, total_bytes;
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemGenericAllocationHandle handle;

	CALL("alloc", cuMemAlloc(&address, 1 << 20));
	CALL("pitch", cuMemAllocPitch(&other, &pitch, 1000, 10, 4));
	CALL("info", cuMemGetInfo(&free_bytes, &total_bytes));
	CALL("free", cuMemFree(address));
	CALL("free pitch", cuMemFree(other));
	CALL("free nothing", cuMemFree(0));
	CALL("create", cuMemCreate(&handle, 2 << 20, &prop, 0));
	CALL("release", cuMemRelease(handle));
}

static void *in_a_thread(void *context)
{
	CALL("current", cuCtxSetCurrent(context));
	memory();
	return NULL;
}

static void work(CUdevice device)
{
	CUcontext context, own;
	CUstream stream;
	pthread_t thread;

	CALL("retain", cuDevicePrimaryCtxRetain(&context, device));
	CALL("current", cuCtxSetCurrent(context));
	memory();
	CALL("stream", cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CALL("synchronize", cuStreamSynchronize(stream));
	CALL("destroy stream", cuStreamDestroy(stream));
	if (!pthread_create(&thread, NULL, in_a_thread, context))
		pthread_join(thread, NULL);
	CALL("create context", cuCtxCreate(&own, NULL, 0, device));
	memory();
	CALL("destroy context", cuCtxDestroy(own));
	CALL("release", cuDevicePrimaryCtxRelease(device));
}

static int in_a_child(void)
{
	CUdeviceptr address = 0;
	size_t bytes = 0;
	int count = -1;

	/* CUDA does not live on in a child; that it is asked must not hurt. */
	printf("child alloc fails: %s\n", cuMemAlloc(&address, 4096) ? "yes" : "no");
	printf("child info fails: %s\n", cuMemGetInfo(&bytes, &bytes) ? "yes" : "no");
	printf("child count fails: %s\n", cuDeviceGetCount(&count) ? "yes" : "no");
	printf("child errno kept: %s\n", spoilt ? "no" : "yes");
	fflush(stdout);
	return 0;
}

static void fork_and_wait(const char *self)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(in_a_child());
	waitpid(pid, &status, 0);
	printf("child ended: %d\n", status);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execl(self, self, "again", NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	printf("exec ended: %d\n", status);
}

int main(int argc, char **argv)
{
	CUdevice device;
	CUdeviceptr address;
	CUstream stream;

	CALL("stream before init", cuStreamCreate(&stream, 0));
	CALL("alloc before init", cuMemAlloc(&address, 4096));
	CALL("init", cuInit(0));
	CALL("init again", cuInit(0));
	CALL("device", cuDeviceGet(&device, 0));
	work(device);
	if (argc > 1 && !strcmp(argv[1], "again")) {
		printf("errno changed: %d\n", spoilt);
		return 0;
	}
	fork_and_wait(argv[0]);
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	work(device);
	printf("errno changed: %d\n", spoilt);
	return 0;
}
