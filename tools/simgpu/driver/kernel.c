/* SPDX-License-Identifier: Apache-2.0 */

/* cuKernel*: a library's functions, before and beside those that they are in a context. */

#include "driver/function.h"
#include "driver/module.h"

static CUresult get_kernel(CUkernel handle, struct sim_function **ret_kernel)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	*ret_kernel = function_look(handle);
	return *ret_kernel && function_is_kernel(*ret_kernel) ? CUDA_SUCCESS
							      : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	struct sim_context *context;
	struct sim_function *found, *function;
	CUresult result = get_kernel(kernel, &found);

	if (result == CUDA_SUCCESS)
		result = sim_current(&context);
	if (result != CUDA_SUCCESS)
		return result;
	if (!pFunc)
		return CUDA_ERROR_INVALID_VALUE;
	result = function_bind(found, context, &function);
	if (result == CUDA_SUCCESS)
		*pFunc = (CUfunction)function;
	return result;
}

CUresult cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
	struct sim_function *found;
	CUresult result = get_kernel(kernel, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pLib)
		return CUDA_ERROR_INVALID_VALUE;
	*pLib = (CUlibrary)found->module->library;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
	struct sim_function *found;
	CUresult result = get_kernel(kernel, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!state_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return pi ? function_get_attribute(pi, attrib, found) : CUDA_ERROR_INVALID_VALUE;
}

/* Holds for functions of contexts to come; those that are there get it too. */
static void spread_settings(const struct sim_function *kernel)
{
	struct sim_library *library = kernel->module->library;
	struct sim_module *module;

	pthread_mutex_lock(&library->lock);
	for (module = library->instances; module; module = module->sibling)
		function_copy_settings(&module->function[kernel - kernel->module->function],
				       kernel);
	pthread_mutex_unlock(&library->lock);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
	struct sim_function *found;
	CUresult result = get_kernel(kernel, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!state_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	result = function_set_attribute(attrib, val, found, "cuKernelSetAttribute");
	if (result == CUDA_SUCCESS)
		spread_settings(found);
	return result;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	struct sim_function *found;
	CUresult result = get_kernel(kernel, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!state_device(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if ((unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	found->cache_config = (int)config;
	spread_settings(found);
	return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel hfunc)
{
	return function_get_name(name, hfunc);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
			      size_t *paramSize)
{
	return function_get_param(kernel, paramIndex, paramOffset, paramSize);
}
