/* SPDX-License-Identifier: Apache-2.0 */

/* cuModule*: code of one context. */

#include "driver/image.h"
#include "driver/module.h"

static CUresult load(CUmodule *ret_handle, const struct module_source *source, const char *where)
{
	struct sim_context *context;
	struct sim_module *module;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_handle || !source->image)
		return CUDA_ERROR_INVALID_VALUE;
	result = module_read(source, where, &module, NULL);
	if (result != CUDA_SUCCESS)
		return result;
	result = module_place(module, context);
	if (result != CUDA_SUCCESS) {
		module_retire(module);
		return result;
	}
	*ret_handle = (CUmodule)module;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
			    CUjit_option *options, void **optionValues)
{
	struct module_source source = {.image = image,
				       .bytes = IMAGE_UNKNOWN,
				       .options = {numOptions, options, optionValues}};

	return load(module, &source, "cuModuleLoadDataEx");
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	struct module_source source = {.image = image, .bytes = IMAGE_UNKNOWN};

	return load(module, &source, "cuModuleLoadData");
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	struct module_source source = {.image = fatCubin, .bytes = IMAGE_UNKNOWN};

	return load(module, &source, "cuModuleLoadFatBinary");
}

CUresult cuModuleLoad(CUmodule *module, const char *fname)
{
	struct sim_context *context;
	struct module_source source = {.image = NULL};
	char *content;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!module || !fname)
		return CUDA_ERROR_INVALID_VALUE;
	result = image_read_file(fname, &content, &source.bytes);
	if (result != CUDA_SUCCESS)
		return result;
	source.image = content;
	result = load(module, &source, fname);
	free(content);
	return result;
}

CUresult cuModuleUnload(CUmodule hmod)
{
	struct sim_context *context;
	struct sim_module *module = module_get(hmod);
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!module || module->library)
		return CUDA_ERROR_INVALID_HANDLE;
	module_retire(module);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	const char *asked = secure_getenv("CUDA_MODULE_LOADING");
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = asked && strcmp(asked, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING
						     : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

static CUresult get_module(CUmodule handle, struct sim_module **ret_module)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*ret_module = module_get(handle);
	return *ret_module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	struct sim_module *module;
	struct sim_function *function;
	CUresult result = get_module(hmod, &module);

	if (result != CUDA_SUCCESS)
		return result;
	if (!hfunc || !name)
		return CUDA_ERROR_INVALID_VALUE;
	function = module_find(module, name);
	*hfunc = (CUfunction)function;
	return function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
	struct sim_module *module;
	CUresult result = get_module(mod, &module);

	if (result != CUDA_SUCCESS)
		return result;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = module->functions;
	return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
	struct sim_module *module;
	CUresult result = get_module(mod, &module);

	if (result != CUDA_SUCCESS)
		return result;
	if (!functions || numFunctions == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < numFunctions && i < module->functions; i++)
		functions[i] = (CUfunction)&module->function[i];
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
	struct sim_module *module;
	CUresult result = get_module(hmod, &module);

	if (result != CUDA_SUCCESS)
		return result;
	if (!name || (!dptr && !bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return module_find_global(module, name, false, dptr, bytes);
}
