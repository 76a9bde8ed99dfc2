/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaches the driver, which it does not link, by one door; launches through it, says how many launches
 * the device counted, and stays until it is killed.
 *
 * launch local|global|default|deepbind|proc|proc_v1 LAUNCHES MIB
 */
#include <cuda.h>

#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../count_kernel.h"

/* What is used of the driver: the name in programs' source, its exported symbol and version. */
#define ENTRIES(X) \
	X(cuInit, "cuInit", "cuInit", 2000) \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000) \
	X(cuCtxSetCurrent, "cuCtxSetCurrent", "cuCtxSetCurrent", 4000) \
	X(cuModuleLoadData, "cuModuleLoadData", "cuModuleLoadData", 2000) \
	X(cuModuleGetFunction, "cuModuleGetFunction", "cuModuleGetFunction", 2000) \
	X(cuMemAlloc, "cuMemAlloc", "cuMemAlloc_v2", 3020) \
	X(cuMemsetD8, "cuMemsetD8", "cuMemsetD8_v2", 3020) \
	X(cuMemcpyDtoH, "cuMemcpyDtoH", "cuMemcpyDtoH_v2", 3020) \
	X(cuLaunchKernel, "cuLaunchKernel", "cuLaunchKernel", 4000) \
	X(cuStreamSynchronize, "cuStreamSynchronize", "cuStreamSynchronize", 2000)

static struct {
#define MEMBER(name, base, symbol, version) __typeof__(name) *name##_;
	ENTRIES(MEMBER)
} driver;

static const struct {
	const char *base, *symbol;
	int version;
	size_t offset;
} entries[] = {
#define ROW(name, base, symbol, version) \
	{base, symbol, version, offsetof(__typeof__(driver), name##_)},
	ENTRIES(ROW)};

typedef CUresult (*get_v1)(const char *, void **, int, uint64_t);
typedef CUresult (*get_v2)(const char *, void **, int, uint64_t, void *);

static void *find(const char *door, void *handle, unsigned int entry)
{
	void *address = NULL;

	if (!strcmp(door, "proc")) {
		get_v2 get = (get_v2)dlsym(handle, "cuGetProcAddress_v2");

		return get(entries[entry].base, &address, entries[entry].version, 0, NULL)
			       ? NULL
			       : address;
	}
	if (!strcmp(door, "proc_v1")) {
		get_v1 get = (get_v1)dlsym(handle, "cuGetProcAddress");

		return get(entries[entry].base, &address, entries[entry].version, 0) ? NULL
										     : address;
	}
	return dlsym(handle, entries[entry].symbol);
}

static int fill(const char *door)
{
	int flags = RTLD_NOW;
	void *handle;

	if (!strcmp(door, "global") || !strcmp(door, "default"))
		flags |= RTLD_GLOBAL;
	if (!strcmp(door, "deepbind"))
		flags |= RTLD_DEEPBIND;
	handle = dlopen("libcuda.so.1", flags);
	if (!handle) {
		printf("%s\n", dlerror());
		return -1;
	}
	if (!strcmp(door, "default"))
		handle = RTLD_DEFAULT;
	for (unsigned int i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		void *address = find(door, handle, i);

		if (!address) {
			printf("%s: no %s\n", door, entries[i].symbol);
			return -1;
		}
		memcpy((char *)&driver + entries[i].offset, &address, sizeof(address));
	}
	return 0;
}

static void check(CUresult result, const char *call)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%s: error %d\n", call, (int)result);
	exit(1);
}

#define CALL(name, ...) check(driver.name##_(__VA_ARGS__), #name)

int main(int argc, char **argv)
{
	unsigned long launches = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	size_t bytes = argc > 3 ? strtoull(argv[3], NULL, 10) << 20 : 0;
	unsigned long long counted = 0;
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr word, block;
	void *params[] = {&word};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc < 4 || fill(argv[1]))
		return 2;
	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, count_ptx);
	CALL(cuModuleGetFunction, &kernel, module, "count");
	CALL(cuMemAlloc, &block, bytes);
	CALL(cuMemAlloc, &word, sizeof(counted));
	CALL(cuMemsetD8, word, 0, sizeof(counted));
	for (unsigned long i = 0; i < launches; i++)
		CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
	CALL(cuStreamSynchronize, NULL);
	CALL(cuMemcpyDtoH, &counted, word, sizeof(counted));
	printf("counted %llu\n", counted);
	fflush(stdout);
	while (counted == launches)
		pause();
	return 1;
}
