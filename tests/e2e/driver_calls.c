/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program of the driver API with its kernels as PTX text, linked against the toolkit's stub:
 * several of its processes share one device.
 *
 *	driver_calls vecadd          adds vectors, checks the sum, prints "ok"
 *	driver_calls hold MIB        takes memory, says "ready PID", keeps the device busy for ever
 *	driver_calls need MIB SECONDS  waits for that much memory, uses it, prints "ok"
 *	driver_calls burn COUNT      COUNT kernels on all SMs, one sync; prints "ok"
 *	driver_calls pass PATH TURN  two processes hand a word back and forth by memory operations
 */

#include <cuda.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char ptx[] =
	".version 7.5\n.target sm_75\n.address_size 64\n"
	".visible .entry vecadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n"
	".reg .pred %p<2>;\n.reg .f32 %f<4>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<8>;\n"
	"ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\n"
	"ld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\n"
	"mov.u32 %r4, %tid.x;\nmad.lo.s32 %r5, %r2, %r3, %r4;\nsetp.ge.u32 %p1, %r5, %r1;\n"
	"@%p1 bra DONE;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd5, %rd1, %rd4;\n"
	"add.s64 %rd6, %rd2, %rd4;\nadd.s64 %rd7, %rd3, %rd4;\nld.global.f32 %f1, [%rd5];\n"
	"ld.global.f32 %f2, [%rd6];\nadd.f32 %f3, %f1, %f2;\nst.global.f32 [%rd7], %f3;\n"
	"DONE:\nret;\n}\n"
	".visible .entry burn()\n{\nret;\n}\n";

#define N 10000

static CUmodule module;
static CUstream stream;

static void check(CUresult result, const char *call)
{
	const char *name = "?";

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorName(result, &name);
	fprintf(stderr, "driver_calls: %s: %s\n", call, name);
	exit(1);
}

#define CHECK(call) check(call, #call)

static void start(void)
{
	CUcontext context;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void vecadd(void)
{
	float *host = malloc(3 * N * sizeof(float));
	CUdeviceptr device[3];
	CUfunction function;
	unsigned int n = N;
	void *params[] = {&device[0], &device[1], &device[2], &n};

	CHECK(cuModuleGetFunction(&function, module, "vecadd"));
	for (int i = 0; i < 3; i++)
		CHECK(cuMemAlloc(&device[i], N * sizeof(float)));
	for (int i = 0; i < 2 * N; i++)
		host[i] = (float)i;
	CHECK(cuMemcpyHtoDAsync(device[0], host, N * sizeof(float), stream));
	CHECK(cuMemcpyHtoDAsync(device[1], host + N, N * sizeof(float), stream));
	CHECK(cuLaunchKernel(function, (N + 255) / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
	CHECK(cuMemcpyDtoHAsync(host + 2 * N, device[2], N * sizeof(float), stream));
	CHECK(cuStreamSynchronize(stream));
	for (int i = 0; i < N; i++)
		if (host[2 * N + i] != (float)(N + 2 * i)) {
			fprintf(stderr, "driver_calls: element %d is %g\n", i,
				(double)host[2 * N + i]);
			exit(1);
		}
	for (int i = 0; i < 3; i++)
		CHECK(cuMemFree(device[i]));
	free(host);
}

static void burn(unsigned long count)
{
	CUfunction function;

	CHECK(cuModuleGetFunction(&function, module, "burn"));
	for (unsigned long i = 0; i < count; i++)
		CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK(cuStreamSynchronize(stream));
}

static void hold(size_t bytes)
{
	CUdeviceptr device;

	CHECK(cuMemAlloc(&device, bytes));
	printf("ready %ld\n", (long)getpid());
	fflush(stdout);
	for (;;)
		burn(100);
}

static void need(size_t bytes, time_t seconds)
{
	time_t until = time(NULL) + seconds;
	CUdeviceptr device;
	CUresult result;

	while ((result = cuMemAlloc(&device, bytes)) == CUDA_ERROR_OUT_OF_MEMORY &&
	       time(NULL) < until)
		usleep(10000);
	check(result, "cuMemAlloc");
	CHECK(cuMemsetD8(device, 1, bytes < 4096 ? bytes : 4096));
	vecadd();
}

/* Word 0 counts; each process waits for its turn and adds one, on the device. */
static void pass(const char *path, unsigned int turn)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CUdeviceptr device;
	uint32_t *word;

	if (fd < 0 || ftruncate(fd, 4096) != 0) {
		perror(path);
		exit(1);
	}
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (word == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	CHECK(cuMemHostRegister(word, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
	CHECK(cuMemHostGetDevicePointer(&device, word, 0));
	for (unsigned int i = turn; i < 200; i += 2) {
		CHECK(cuStreamWaitValue32(stream, device, i, CU_STREAM_WAIT_VALUE_EQ));
		CHECK(cuStreamWriteValue32(stream, device, i + 1, 0));
	}
	CHECK(cuStreamSynchronize(stream));
	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) < 199) {
		fprintf(stderr, "driver_calls: stopped at %u\n", *word);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned long number = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	start();
	if (strcmp(mode, "vecadd") == 0) {
		vecadd();
	} else if (strcmp(mode, "hold") == 0) {
		hold(number << 20);
	} else if (strcmp(mode, "need") == 0) {
		need(number << 20, argc > 3 ? (time_t)strtoul(argv[3], NULL, 10) : 0);
	} else if (strcmp(mode, "burn") == 0) {
		burn(number);
	} else if (strcmp(mode, "pass") == 0 && argc > 3) {
		pass(argv[2], (unsigned int)strtoul(argv[3], NULL, 10));
	} else {
		fprintf(stderr, "driver_calls: which mode?\n");
		return 2;
	}
	puts("ok");
	return 0;
}
