/* SPDX-License-Identifier: Apache-2.0 */

/* cuFunc*: what may be asked of a function and set in it. */

#include "driver/context.h"
#include "driver/device_attribute.h"
#include "driver/function.h"
#include "driver/module.h"

#define CARVEOUT_DEFAULT (-1)

/* The devices of a process are all alike. */
static const struct model_desc *desc_of(const struct sim_function *function)
{
	const struct sim_context *context = function->module->context;

	return context ? &context->device->desc : &state_device(0)->desc;
}

void function_init(struct sim_function *function, struct sim_module *module,
		   const struct ptx_function *ptx)
{
	int free_shared;

	function->magic = SIM_MAGIC_FUNCTION;
	function->module = module;
	function->ptx = module->is_timing_only ? NULL : ptx;
	function->info = ptx_function_get_info(ptx);
	free_shared = device_attribute_shared_default(desc_of(function)) -
		      (int)function->info->shared_bytes;
	function->max_dynamic_shared = free_shared > 0 ? free_shared : 0;
	function->carveout = CARVEOUT_DEFAULT;
	function->cache_config = CU_FUNC_CACHE_PREFER_NONE;
}

void function_copy_settings(struct sim_function *to, const struct sim_function *from)
{
	to->max_dynamic_shared = from->max_dynamic_shared;
	to->carveout = from->carveout;
	to->cache_config = from->cache_config;
}

struct sim_function *function_look(const void *handle)
{
	struct sim_function *function = (struct sim_function *)handle;

	if ((uintptr_t)handle < 4096 || (uintptr_t)handle % _Alignof(struct sim_function) != 0)
		return NULL;
	return function->magic == SIM_MAGIC_FUNCTION ? function : NULL;
}

bool function_is_kernel(const struct sim_function *function)
{
	return function->module->library && function->module == function->module->library->kernels;
}

CUresult function_bind(struct sim_function *kernel, struct sim_context *context,
		       struct sim_function **ret_function)
{
	struct sim_module *module;
	CUresult result = library_instance(kernel->module->library, context, &module);

	if (result == CUDA_SUCCESS)
		*ret_function = &module->function[kernel - kernel->module->function];
	return result;
}

struct sim_function *sim_function_get(CUfunction handle)
{
	struct sim_function *function = function_look(handle);
	struct sim_context *context;

	if (!function || !function_is_kernel(function))
		return function;
	context = sim_current_or_null();
	if (!context || function_bind(function, context, &function) != CUDA_SUCCESS)
		return NULL;
	return function;
}

/* ---- attributes ---- */

CUresult function_get_attribute(int *ret, CUfunction_attribute attribute,
				const struct sim_function *function)
{
	const struct ptx_function_info *info = function->info;
	const struct model_desc *desc = desc_of(function);

	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *ret = (int)info->max_threads; break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *ret = (int)info->shared_bytes; break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *ret = (int)info->const_bytes; break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *ret = (int)info->local_bytes; break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS: *ret = (int)info->regs; break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION: *ret = function->module->ptx_version; break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret = (int)(desc->cc_major * 10 + desc->cc_minor);
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret = function->max_dynamic_shared;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *ret = function->carveout; break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *ret = 0; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult function_set_attribute(CUfunction_attribute attribute, int value,
				struct sim_function *function, const char *where)
{
	int room = (int)desc_of(function)->smem_per_block_bytes - (int)function->info->shared_bytes;

	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || value > room)
			return CUDA_ERROR_INVALID_VALUE;
		function->max_dynamic_shared = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < CARVEOUT_DEFAULT || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		function->carveout = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return value ? sim_refuse(where, "clusters of blocks") : CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

/* A function in the calling thread's context. */
static CUresult get_function(CUfunction handle, struct sim_function **ret_function)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*ret_function = sim_function_get(handle);
	return *ret_function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
	struct sim_function *function;
	CUresult result = get_function(hfunc, &function);

	if (result != CUDA_SUCCESS)
		return result;
	return pi ? function_get_attribute(pi, attrib, function) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
	struct sim_function *function;
	CUresult result = get_function(hfunc, &function);

	return result == CUDA_SUCCESS
		       ? function_set_attribute(attrib, value, function, "cuFuncSetAttribute")
		       : result;
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
	struct sim_function *function;
	CUresult result = get_function(hfunc, &function);

	if (result != CUDA_SUCCESS)
		return result;
	if ((unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	function->cache_config = (int)config;
	return CUDA_SUCCESS;
}

/* Banks have one width on every device of ours. */
CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
	struct sim_function *function;
	CUresult result = get_function(hfunc, &function);

	if (result != CUDA_SUCCESS)
		return result;
	return (unsigned int)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
	struct sim_function *function;
	CUresult result = get_function(hfunc, &function);

	if (result != CUDA_SUCCESS)
		return result;
	if (!hmod)
		return CUDA_ERROR_INVALID_VALUE;
	*hmod = (CUmodule)function->module;
	return CUDA_SUCCESS;
}

CUresult function_get_name(const char **ret_name, const void *handle)
{
	const struct sim_function *function = function_look(handle);
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_name = function->info->name;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
	return function_get_name(name, hfunc);
}

CUresult function_get_param(const void *handle, size_t index, size_t *ret_offset, size_t *ret_size)
{
	const struct sim_function *function = function_look(handle);
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_offset || index >= function->info->params)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_offset = function->info->param[index].offset_bytes;
	if (ret_size)
		*ret_size = function->info->param[index].size_bytes;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
			    size_t *paramSize)
{
	return function_get_param(func, paramIndex, paramOffset, paramSize);
}

/* What is loaded is loaded as a whole. */
CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
	struct sim_function *found;
	CUresult result = get_function(function, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function)
{
	struct sim_function *found;

	return get_function(function, &found);
}
