/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes, of which one's GPU work waits for a launch of the other's.
 *
 * wait_for other FILE     launches now and then; when the holder is under way once more, and then
 *                         writes the word of FILE that it waits for; says "done", and stays
 * wait_for holder FILE    once the other has launched a while: a request whose work waits for that
 *                         word; ends when it is done
 */
#include <cuda.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(CUresult result, const char *call)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%s: error %d\n", call, (int)result);
	exit(1);
}

#define CHECK(call) check((call), #call)

/* As both processes and the GPU see the file. */
struct words {
	cuuint32_t awaited;
	_Atomic uint32_t launched, is_under_way;
};

static struct words *map_words(const char *path, CUdeviceptr *ret_device)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	struct words *words;

	if (fd < 0 || ftruncate(fd, 4096))
		exit(2);
	words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		exit(2);
	CHECK(cuMemHostRegister(words, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
	CHECK(cuMemHostGetDevicePointer(ret_device, words, 0));
	return words;
}

static void launch(CUdeviceptr memory, CUstream stream)
{
	CHECK(cuMemsetD8Async(memory, 0, 4096, stream));
	CHECK(cuStreamSynchronize(stream));
}

static void hold(struct words *words, CUdeviceptr device, CUdeviceptr memory, CUstream stream)
{
	uint32_t from = atomic_load(&words->launched);

	/* By then each has heard of the other; mail is taken at launches. */
	while (atomic_load(&words->launched) - from < 300) {
		launch(memory, stream);
		usleep(1000);
	}
	CHECK(cuMemsetD8Async(memory, 0, 4096, stream));
	CHECK(cuStreamWaitValue32(stream, device, 7, CU_STREAM_WAIT_VALUE_EQ));
	CHECK(cuMemsetD8Async(memory, 0, 4096, stream));
	atomic_store(&words->is_under_way, 1);
	CHECK(cuStreamSynchronize(stream));
	printf("done\n");
}

static void help(struct words *words, CUdeviceptr device, CUdeviceptr memory, CUstream stream)
{
	while (!atomic_load(&words->is_under_way)) {
		launch(memory, stream);
		atomic_fetch_add(&words->launched, 1);
		usleep(1000);
	}
	launch(memory, stream);
	CHECK(cuStreamWriteValue32(stream, device, 7, CU_STREAM_WRITE_VALUE_DEFAULT));
	CHECK(cuStreamSynchronize(stream));
	printf("done\n");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	CUdeviceptr memory, device;
	struct words *words;
	CUcontext context;
	CUstream stream;

	if (argc != 3)
		return 2;
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, 4096));
	words = map_words(argv[2], &device);
	if (strcmp(argv[1], "holder"))
		help(words, device, memory, stream);
	hold(words, device, memory, stream);
	return 0;
}
