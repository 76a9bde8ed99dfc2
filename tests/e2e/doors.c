/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through every door to the driver and says in which library each ended. It links the driver
 * (cuInit, cuLaunchKernel, ... are reached by name) and also opens it. Run bare and under the shim
 * its lines differ only in the library of what is hooked. Any driver; no device is used.
 *
 * doors [LIBRARY]: which libcuda to open, by default libcuda.so.1.
 */
#include <cuda.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef CUresult (*get_v1)(const char *, void **, int, uint64_t);
typedef CUresult (*get_v2)(const char *, void **, int, uint64_t, void *);

static const char *const hooked[] = {"cuInit",
				     "cuGetProcAddress",
				     "cuGetProcAddress_v2",
				     "cuLaunchKernel",
				     "cuLaunchKernel_ptsz",
				     "cuMemAlloc_v2",
				     "cuMemFree_v2",
				     "cuMemcpyHtoD_v2",
				     "cuGraphLaunch",
				     "cuStreamSynchronize",
				     "cuMemGetInfo_v2",
				     "cuCtxDestroy_v2"};
static const char *const others[] = {"cuDeviceGet", "cuDriverGetVersion", "cuGetErrorName"};

/* What cuGetProcAddress is asked for, and the exported name that answers it. */
static const struct {
	const char *base;
	int version;
	uint64_t flags;
	const char *symbol;
} asked[] = {
	{"cuInit", 2000, 0, "cuInit"},
	{"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
	{"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
	{"cuLaunchKernel", 4000, 0, "cuLaunchKernel"},
	{"cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz"},
	{"cuLaunchKernel", 12000, 1, "cuLaunchKernel"},
	{"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
	{"cuMemAlloc", 13000, 2, "cuMemAlloc_v2"},
	{"cuCtxSynchronize", 12000, 0, "cuCtxSynchronize"},
	{"cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"},
	{"cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds"},
	{"cuDeviceGet", 2000, 0, "cuDeviceGet"},
};

#define COUNT(array) (sizeof(array) / sizeof(array[0]))

static const char *library_of(void *address)
{
	const char *slash;
	Dl_info info;

	if (!address)
		return "nowhere";
	if (!dladdr(address, &info))
		return "nothing loaded";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

static void say(const char *door, const char *name, void *address)
{
	printf("%s %s: %s\n", door, name, library_of(address));
}

static void say_error(const char *what)
{
	const char *error = dlerror();

	printf("dlerror after %s: %s\n", what, error ? error : "none");
}

static void through_link(void)
{
	say("link", "cuInit", (void *)cuInit);
	say("link", "cuLaunchKernel", (void *)cuLaunchKernel);
	say("link", "cuMemAlloc_v2", (void *)cuMemAlloc);
	say("link", "cuDeviceGet", (void *)cuDeviceGet);
}

static void through_dlsym(const char *door, void *handle)
{
	for (unsigned int i = 0; i < COUNT(hooked); i++)
		say(door, hooked[i], dlsym(handle, hooked[i]));
	for (unsigned int i = 0; i < COUNT(others); i++)
		say(door, others[i], dlsym(handle, others[i]));
}

static void through_proc(void *handle)
{
	get_v1 v1 = (get_v1)dlsym(handle, "cuGetProcAddress");
	get_v2 v2 = (get_v2)dlsym(handle, "cuGetProcAddress_v2");

	for (unsigned int i = 0; i < COUNT(asked); i++) {
		void *first = NULL, *second = NULL;
		void *same = dlsym(handle, asked[i].symbol);

		if (v1(asked[i].base, &first, asked[i].version, asked[i].flags) ||
		    v2(asked[i].base, &second, asked[i].version, asked[i].flags, NULL)) {
			printf("proc %s: an error\n", asked[i].base);
			continue;
		}
		say("proc", asked[i].symbol, first);
		printf("both forms agree: %s, and with dlsym: %s\n", first == second ? "yes" : "no",
		       first == same ? "yes" : "no");
	}
}

/* Unknown names, versions of the future, missing pointers: the driver's own answers. */
static void through_proc_badly(void *handle)
{
	get_v2 v2 = (get_v2)dlsym(handle, "cuGetProcAddress_v2");
	void *address = &address;
	int status = 77, result;

	result = v2("cuNoSuchEntry", &address, 12000, 0, &status);
	printf("unknown: result %d address %s status %d\n", result, address ? "set" : "NULL",
	       status);
	address = &address;
	result = v2("cuLaunchKernel", &address, 999000, 0, NULL);
	printf("future version: result %d\n", result);
	result = v2("cuLaunchKernel", NULL, 12000, 0, NULL);
	printf("no pointer: result %d\n", result);
}

static void errors(void *handle)
{
	(void)dlerror();
	(void)dlsym(handle, "no_such_symbol");
	say_error("an unknown name");
	say_error("nothing");
	(void)dlsym(handle, "no_such_symbol");
	(void)dlsym(handle, "cuMemAlloc_v2");
	say_error("an unknown and a hooked name");
	(void)dlsym(handle, "no_such_symbol");
	(void)dlsym(RTLD_NEXT, "cuMemAlloc_v2");
	say_error("an unknown name and a hooked one by RTLD_NEXT");
	(void)dlsym(RTLD_DEFAULT, "no_such_symbol");
	say_error("an unknown name by RTLD_DEFAULT");
	(void)dlsym(RTLD_NEXT, "no_such_symbol");
	say_error("an unknown name by RTLD_NEXT");
	(void)dlvsym(handle, "no_such_symbol", "NOT_1.0");
	say_error("an unknown name by dlvsym");
	(void)dlopen("libno-such-library.so.7", RTLD_NOW);
	say_error("an unknown library");
}

#define THREADS 4
#define LOOKUPS 2000

static void *look_up(void *handle)
{
	void *expected = dlsym(handle, "cuLaunchKernel");
	uintptr_t wrong = 0;

	for (unsigned int i = 0; i < LOOKUPS; i++) {
		wrong += dlsym(handle, "cuLaunchKernel") != expected;
		wrong += dlsym(handle, "no_such_symbol") != NULL;
		wrong += dlsym(RTLD_NEXT, "getpid") == NULL;
	}
	return (void *)wrong;
}

static void threads(void *handle)
{
	pthread_t thread[THREADS];
	uintptr_t sum = 0;
	void *wrong;

	for (unsigned int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, look_up, handle))
			return;
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &wrong);
		sum += (uintptr_t)wrong;
	}
	printf("wrong look-ups of %d threads: %lu\n", THREADS, (unsigned long)sum);
}

int main(int argc, char **argv)
{
	const char *library = argc > 1 ? argv[1] : "libcuda.so.1";
	void *handle = dlopen(library, RTLD_NOW);

	if (!handle) {
		printf("%s\n", dlerror());
		return 1;
	}
	through_link();
	through_dlsym("dlopen", handle);
	through_dlsym("RTLD_DEFAULT", RTLD_DEFAULT);
	through_dlsym("RTLD_NEXT", RTLD_NEXT);
	say("dlvsym", "getpid", dlvsym(RTLD_NEXT, "getpid", "GLIBC_2.2.5"));
	say("dlvsym", "cuLaunchKernel", dlvsym(handle, "cuLaunchKernel", "LIBCUDA_1"));
	say("RTLD_NEXT", "malloc", dlsym(RTLD_NEXT, "malloc"));
	through_proc(handle);
	through_proc_badly(handle);
	errors(handle);
	threads(handle);
	printf("init: %d\n", (int)((CUresult(*)(unsigned int))dlsym(handle, "cuInit"))(0));
	return 0;
}
