/* SPDX-License-Identifier: Apache-2.0 */
#include "registry.h"

#include <pthread.h>
#include <uthash.h>

struct fatbin {
	void *wrapper;
	CUlibrary library; /* NULL: not loaded */
	bool loaded;	   /* tried, with `error` */
	cudaError_t error;
};

struct rt_function {
	const void *host; /* key */
	const char *name; /* as the compiler mangled it; lives as long as the program's image */
	struct fatbin *fatbin;
	CUkernel kernel; /* NULL: not looked up */
	UT_hash_handle hh;
};

struct variable {
	const void *host; /* key: the shadow variable, or what a managed one's pointer points at */
	void **managed;	  /* the program's pointer; NULL: not managed */
	const char *name;
	struct fatbin *fatbin;
	UT_hash_handle hh;
};

struct handle {
	const void *handle; /* key */
	UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below, and of loading */
static struct rt_function *functions;
static struct variable *variables;
static struct handle *handles;
static unsigned int fatbins;

void **__cudaRegisterFatBinary(void *wrapper)
{
	struct fatbin *fatbin = calloc(1, sizeof(*fatbin));

	if (!fatbin)
		return NULL;
	fatbin->wrapper = wrapper;
	pthread_mutex_lock(&lock);
	fatbins++;
	pthread_mutex_unlock(&lock);
	return (void **)fatbin;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
			    int *warp_size)
{
	struct rt_function *function, *old;

	if (!handle || !(function = calloc(1, sizeof(*function))))
		return;
	function->host = host;
	function->name = name;
	function->fatbin = (struct fatbin *)handle;
	pthread_mutex_lock(&lock);
	HASH_REPLACE_PTR(functions, host, function, old);
	free(old);
	pthread_mutex_unlock(&lock);
}

static void add_variable(void **handle, const void *host, void **managed, const char *name)
{
	struct variable *variable, *old;

	if (!handle || !(variable = calloc(1, sizeof(*variable))))
		return;
	variable->host = host;
	variable->managed = managed;
	variable->name = name;
	variable->fatbin = (struct fatbin *)handle;
	pthread_mutex_lock(&lock);
	HASH_REPLACE_PTR(variables, host, variable, old);
	free(old);
	pthread_mutex_unlock(&lock);
}

void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int ext,
		       size_t size, int constant, int global)
{
	add_variable(handle, host, NULL, name);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *address, const char *name, int ext,
			      size_t size, int constant, int global)
{
	add_variable(handle, host, host, name);
}

/* Host variables that device code names need unified addressing of host memory; a program that
 * reads one gets the loader's error for the symbol. */
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
	(void)rt_refuse("__cudaRegisterHostVar");
}

void __cudaRegisterUnifiedTable(void **handle, void *table)
{
	(void)rt_refuse("__cudaRegisterUnifiedTable");
}

/* Managed variables are pointers on the host's side; they must point somewhere once the library
 * is there. */
static cudaError_t place_managed(struct fatbin *fatbin)
{
	struct variable *variable, *next;

	HASH_ITER(hh, variables, variable, next) {
		CUdeviceptr address;
		size_t bytes;
		cudaError_t error;

		if (variable->fatbin != fatbin || !variable->managed)
			continue;
		error = RT_CALL(RT_PLAIN, cuLibraryGetManaged, &address, &bytes, fatbin->library,
				variable->name);
		if (error != cudaSuccess)
			return error;
		*variable->managed = (void *)(uintptr_t)address;
	}
	return cudaSuccess;
}

/* The lock is held. */
static cudaError_t load(struct fatbin *fatbin)
{
	CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
	void *value = (void *)(uintptr_t)1;

	if (fatbin->loaded)
		return fatbin->error;
	fatbin->error = RT_CALL(RT_PLAIN, cuLibraryLoadData, &fatbin->library, fatbin->wrapper,
				NULL, NULL, 0, &option, &value, 1);
	if (fatbin->error == cudaSuccess)
		fatbin->error = place_managed(fatbin);
	fatbin->loaded = true;
	return fatbin->error;
}

char __cudaInitModule(void **handle)
{
	cudaError_t error = handle ? rt_enter() : cudaErrorInvalidValue;

	if (error == cudaSuccess) {
		pthread_mutex_lock(&lock);
		error = load((struct fatbin *)handle);
		pthread_mutex_unlock(&lock);
	}
	return rt_leave(error) == cudaSuccess;
}

static void forget(struct fatbin *fatbin)
{
	struct rt_function *function, *next_function;
	struct variable *variable, *next_variable;

	HASH_ITER(hh, functions, function, next_function) {
		if (function->fatbin == fatbin) {
			HASH_DEL(functions, function);
			free(function);
		}
	}
	HASH_ITER(hh, variables, variable, next_variable) {
		if (variable->fatbin == fatbin) {
			HASH_DEL(variables, variable);
			free(variable);
		}
	}
}

void __cudaUnregisterFatBinary(void **handle)
{
	struct fatbin *fatbin = (struct fatbin *)handle;
	bool last;

	if (!fatbin)
		return;
	pthread_mutex_lock(&lock);
	forget(fatbin);
	if (fatbin->library)
		(void)RT_CALL(RT_PLAIN, cuLibraryUnload, fatbin->library);
	last = --fatbins == 0;
	pthread_mutex_unlock(&lock);
	free(fatbin);
	if (last)
		rt_release_primaries();
}

struct rt_function *rt_function_find(const void *host)
{
	struct rt_function *function;

	pthread_mutex_lock(&lock);
	HASH_FIND_PTR(functions, &host, function);
	pthread_mutex_unlock(&lock);
	return function;
}

cudaError_t rt_function_kernel(struct rt_function *function, CUkernel *ret_kernel)
{
	cudaError_t error = cudaSuccess;
	CUkernel kernel = __atomic_load_n(&function->kernel, __ATOMIC_ACQUIRE);

	if (!kernel) {
		pthread_mutex_lock(&lock);
		error = load(function->fatbin);
		if (error == cudaSuccess)
			error = RT_CALL(RT_PLAIN, cuLibraryGetKernel, &kernel,
					function->fatbin->library, function->name);
		/* A symbol that the image lacks is a wrong function to the program. */
		if (error == cudaErrorSymbolNotFound)
			error = cudaErrorInvalidDeviceFunction;
		if (error == cudaSuccess)
			__atomic_store_n(&function->kernel, kernel, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&lock);
	}
	if (error == cudaSuccess)
		*ret_kernel = kernel;
	return error;
}

void rt_kernel_remember(const void *value)
{
	struct handle *handle;

	pthread_mutex_lock(&lock);
	HASH_FIND_PTR(handles, &value, handle);
	if (!handle && (handle = calloc(1, sizeof(*handle)))) {
		handle->handle = value;
		HASH_ADD_PTR(handles, handle, handle);
	}
	pthread_mutex_unlock(&lock);
}

cudaError_t rt_kernel_of(const void *symbol, CUkernel *ret_kernel)
{
	struct rt_function *function = rt_function_find(symbol);
	struct handle *handle;

	if (function)
		return rt_function_kernel(function, ret_kernel);
	pthread_mutex_lock(&lock);
	HASH_FIND_PTR(handles, &symbol, handle);
	pthread_mutex_unlock(&lock);
	if (!handle)
		return cudaErrorInvalidDeviceFunction;
	*ret_kernel = (CUkernel)(uintptr_t)symbol;
	return cudaSuccess;
}

/* A node of a graph answers with the kernel's function in its context. */
static bool is_handle_of(const struct rt_function *function, CUkernel handle)
{
	CUfunction in_context;

	if (!function->kernel)
		return false;
	return function->kernel == handle || (RT_CALL(RT_PLAIN, cuKernelGetFunction, &in_context,
						      function->kernel) == cudaSuccess &&
					      (CUkernel)in_context == handle);
}

const void *rt_host_of_kernel(CUkernel handle)
{
	const void *host = NULL;
	struct rt_function *function, *next;

	pthread_mutex_lock(&lock);
	HASH_ITER(hh, functions, function, next) {
		if (!host && is_handle_of(function, handle))
			host = function->host;
	}
	pthread_mutex_unlock(&lock);
	if (host)
		return host;
	rt_kernel_remember(handle);
	return handle;
}

/* A program names a managed variable by where it lies, not by the pointer that nvcc made of it. */
static struct variable *find_variable(const void *symbol)
{
	struct variable *variable, *next;

	HASH_FIND_PTR(variables, &symbol, variable);
	if (variable)
		return variable;
	HASH_ITER(hh, variables, variable, next) {
		if (variable->managed && *variable->managed == symbol)
			return variable;
	}
	return NULL;
}

cudaError_t rt_symbol_of(const void *symbol, CUdeviceptr *ret_address, size_t *ret_bytes)
{
	struct variable *variable;
	cudaError_t error;

	pthread_mutex_lock(&lock);
	variable = find_variable(symbol);
	error = variable ? load(variable->fatbin) : cudaErrorInvalidSymbol;
	if (error == cudaSuccess && variable->managed)
		error = RT_CALL(RT_PLAIN, cuLibraryGetManaged, ret_address, ret_bytes,
				variable->fatbin->library, variable->name);
	else if (error == cudaSuccess)
		error = RT_CALL(RT_PLAIN, cuLibraryGetGlobal, ret_address, ret_bytes,
				variable->fatbin->library, variable->name);
	pthread_mutex_unlock(&lock);
	return error == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : error;
}
