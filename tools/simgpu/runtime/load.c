/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

struct rt_driver rt_driver[2];

typedef CUresult (*get_proc_address_fn)(const char *, void **, int, cuuint64_t,
					CUdriverProcAddressQueryResult *);

static pthread_once_t bound = PTHREAD_ONCE_INIT, started = PTHREAD_ONCE_INIT;
static cudaError_t bind_error, start_error;
static int devices;
static CUdevice device[RT_MAX_DEVICES];

struct query {
	const char *name;
	int version, version_pt; /* version_pt 0: has no per-thread form */
	size_t offset;		 /* of the member of struct rt_driver; SIZE_MAX: only asked */
};

/* What is only asked comes between what is used, as far as order goes: nothing depends on it. */
static const struct query query[] = {
#define DRV(field, entry, version) {#field, version, 0, offsetof(struct rt_driver, field)},
#define DRV_BOTH(field, entry, version, version_pt) \
	{#field, version, version_pt, offsetof(struct rt_driver, field)},
#include "driver.def"
#define ASK(name, version) {#name, version, 0, SIZE_MAX},
#define ASK_BOTH(name, version, version_pt) {#name, version, version_pt, SIZE_MAX},
#include "queries.def"
};

static void set_member(int table, size_t offset, void *address)
{
	if (offset != SIZE_MAX)
		memcpy((char *)&rt_driver[table] + offset, &address, sizeof(address));
}

static void ask(get_proc_address_fn get, const struct query *q)
{
	void *address = NULL;

	if (get(q->name, &address, q->version, CU_GET_PROC_ADDRESS_DEFAULT, NULL) != CUDA_SUCCESS)
		address = NULL;
	set_member(0, q->offset, address);
	if (q->version_pt) {
		void *plain = address;

		address = NULL;
		if (get(q->name, &address, q->version_pt,
			CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL) != CUDA_SUCCESS ||
		    !address)
			address = plain;
	}
	set_member(1, q->offset, address);
}

/* The same way in as NVIDIA's runtime: one dlopen, five names by dlsym, and everything else by
 * versioned queries, all of it before cuInit. Whoever stands between sees the same doors used. */
static void bind_driver(void)
{
	static const char *const first[] = {"cuGetProcAddress_v2", "cuDriverGetVersion",
					    "cuGetProcAddress", "cuGetExportTable", "cuInit"};
	void *found[sizeof(first) / sizeof(first[0])];
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *nothing = NULL;
	get_proc_address_fn get;

	bind_error = cudaErrorInsufficientDriver;
	if (!library) {
		const char *why = dlerror();

		fprintf(stderr, "simgpu: no CUDA driver: %s\n", why ? why : "libcuda.so.1");
		return;
	}
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		found[i] = dlsym(library, first[i]);
	if (!found[0])
		return;
	memcpy(&get, &found[0], sizeof(get));
	get("", &nothing, 0, CU_GET_PROC_ADDRESS_DEFAULT, NULL);
	for (size_t i = 0; i < sizeof(query) / sizeof(query[0]); i++)
		ask(get, &query[i]);
	if (RT_PLAIN->cuInit && RT_PLAIN->cuDriverGetVersion)
		bind_error = cudaSuccess;
}

cudaError_t rt_bind(void)
{
	pthread_once(&bound, bind_driver);
	return bind_error;
}

static cudaError_t start(void)
{
	int version = 0;
	cudaError_t error = RT_CALL(RT_PLAIN, cuDriverGetVersion, &version);

	if (error != cudaSuccess)
		return error;
	if (version < CUDART_VERSION / 1000 * 1000)
		return cudaErrorInsufficientDriver;
	error = RT_CALL(RT_PLAIN, cuInit, 0);
	if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuDeviceGetCount, &devices);
	if (error != cudaSuccess)
		return error;
	if (devices > RT_MAX_DEVICES)
		devices = RT_MAX_DEVICES;
	for (int i = 0; i < devices && error == cudaSuccess; i++)
		error = RT_CALL(RT_PLAIN, cuDeviceGet, &device[i], i);
	if (error == cudaSuccess && devices == 0)
		error = cudaErrorNoDevice;
	return error;
}

static void start_once(void)
{
	start_error = rt_bind();
	if (start_error == cudaSuccess)
		start_error = start();
}

cudaError_t rt_load(void)
{
	pthread_once(&started, start_once);
	return start_error;
}

int rt_device_count(void)
{
	return devices;
}

CUdevice rt_device_handle(int ordinal)
{
	return device[ordinal];
}

cudaError_t rt_refuse(const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const char *told[512];
	static size_t count;
	bool known = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count && !known; i++)
		known = told[i] == name;
	if (!known && count < sizeof(told) / sizeof(told[0]))
		told[count++] = name;
	pthread_mutex_unlock(&lock);
	if (!known)
		fprintf(stderr, "simgpu: %s is not modelled\n", name);
	return rt_leave(cudaErrorNotSupported);
}
