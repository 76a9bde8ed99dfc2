/* SPDX-License-Identifier: Apache-2.0 */

/* cuLibrary*: code of no context, whose functions are kernels. */

#include "driver/context.h"
#include "driver/function.h"
#include "driver/image.h"
#include "driver/module.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_library *all_libraries; /* for good */

/* ---- instances ---- */

/* The library's lock held. The first instance uses the PTX that was parsed for the kernels. */
static struct sim_module *instance_new(struct sim_library *library, struct sim_context *context)
{
	const struct model_desc *desc = &context->device->desc;
	struct ptx_module *ptx = library->kernels->ptx;
	bool own = library->lent_to != NULL;
	struct sim_module *module;
	struct ptx_error error;

	if (own)
		ptx = ptx_module_create(library->text, desc->cc_major * 10 + desc->cc_minor,
					&error);
	if (!ptx)
		return NULL;
	module = module_wrap(ptx, library->kernels->ptx_version, library->kernels->is_timing_only);
	if (!module) {
		if (own)
			ptx_module_destroy(ptx);
		return NULL;
	}
	module->library = library;
	if (!own)
		library->lent_to = module;
	for (uint32_t i = 0; i < module->functions; i++)
		function_copy_settings(&module->function[i], &library->kernels->function[i]);
	return module;
}

/* The library's lock held. */
static void instance_retire(struct sim_library *library, struct sim_module *module)
{
	if (atomic_load(&library->latest) == module)
		atomic_store(&library->latest, NULL);
	module_retire(module);
	if (library->lent_to == module)
		library->lent_to = NULL;
}

static struct sim_module *instance_find(struct sim_library *library, struct sim_context *context)
{
	struct sim_module *module;

	for (module = library->instances; module; module = module->sibling)
		if (module->context == context)
			return module;
	return NULL;
}

/* The library's lock held. */
static CUresult instance_get(struct sim_library *library, struct sim_context *context,
			     struct sim_module **ret_module)
{
	struct sim_module *module = instance_find(library, context);
	CUresult result;

	if (!module) {
		module = instance_new(library, context);
		if (!module)
			return CUDA_ERROR_OUT_OF_MEMORY;
		result = module_place(module, context);
		if (result != CUDA_SUCCESS) {
			instance_retire(library, module);
			return result;
		}
		module->sibling = library->instances;
		library->instances = module;
	}
	atomic_store(&library->latest, module);
	*ret_module = module;
	return CUDA_SUCCESS;
}

CUresult library_instance(struct sim_library *library, struct sim_context *context,
			  struct sim_module **ret_module)
{
	CUresult result;

	*ret_module = atomic_load(&library->latest);
	if (*ret_module && (*ret_module)->context == context)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&library->lock);
	result = instance_get(library, context, ret_module);
	pthread_mutex_unlock(&library->lock);
	return result;
}

/* The library's lock held. NULL context: of all. */
static void drop_instances(struct sim_library *library, struct sim_context *context)
{
	struct sim_module **at = &library->instances;

	while (*at) {
		struct sim_module *module = *at;

		if (context && module->context != context) {
			at = &module->sibling;
			continue;
		}
		*at = module->sibling;
		instance_retire(library, module);
	}
}

static struct sim_library *first_library(void)
{
	struct sim_library *library;

	pthread_mutex_lock(&list_lock);
	library = all_libraries;
	pthread_mutex_unlock(&list_lock);
	return library;
}

void library_drop_context(struct sim_context *context)
{
	struct sim_library *library;

	for (library = first_library(); library; library = library->next) {
		pthread_mutex_lock(&library->lock);
		drop_instances(library, context);
		pthread_mutex_unlock(&library->lock);
	}
}

/* ---- loading ---- */

struct sim_library *library_get(CUlibrary handle)
{
	struct sim_library *library = (struct sim_library *)handle;

	if ((uintptr_t)handle < 4096 || (uintptr_t)handle % _Alignof(struct sim_library) != 0)
		return NULL;
	return library->magic == SIM_MAGIC_LIBRARY ? library : NULL;
}

static CUresult load(CUlibrary *ret_handle, const struct module_source *source, const char *where)
{
	struct sim_library *library;
	CUresult result;

	library = calloc(1, sizeof(*library));
	if (!library)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = module_read(source, where, &library->kernels, &library->text);
	if (result != CUDA_SUCCESS) {
		free(library);
		return result;
	}
	library->magic = SIM_MAGIC_LIBRARY;
	library->kernels->library = library;
	pthread_mutex_init(&library->lock, NULL);
	pthread_mutex_lock(&list_lock);
	library->next = all_libraries;
	all_libraries = library;
	pthread_mutex_unlock(&list_lock);
	*ret_handle = (CUlibrary)library;
	return CUDA_SUCCESS;
}

/* Whatever the program says of keeping its code, what is needed of it is copied. */
static CUresult check_options(CUlibraryOption *options, void **values, unsigned int count,
			      bool from_file, const char *where)
{
	if (count > 0 && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count; i++) {
		if (options[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE)
			return sim_refuse(where, "a table of functions for host and device");
		if (options[i] != CU_LIBRARY_BINARY_IS_PRESERVED || from_file)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
			   void **jitOptionsValues, unsigned int numJitOptions,
			   CUlibraryOption *libraryOptions, void **libraryOptionValues,
			   unsigned int numLibraryOptions)
{
	struct module_source source = {.image = code,
				       .bytes = IMAGE_UNKNOWN,
				       .options = {numJitOptions, jitOptions, jitOptionsValues}};
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!library || !code)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_options(libraryOptions, libraryOptionValues, numLibraryOptions, false,
			       "cuLibraryLoadData");
	return result == CUDA_SUCCESS ? load(library, &source, "cuLibraryLoadData") : result;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
			       void **jitOptionsValues, unsigned int numJitOptions,
			       CUlibraryOption *libraryOptions, void **libraryOptionValues,
			       unsigned int numLibraryOptions)
{
	struct module_source source = {.options = {numJitOptions, jitOptions, jitOptionsValues}};
	char *content;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!library || !fileName)
		return CUDA_ERROR_INVALID_VALUE;
	result = check_options(libraryOptions, libraryOptionValues, numLibraryOptions, true,
			       "cuLibraryLoadFromFile");
	if (result == CUDA_SUCCESS)
		result = image_read_file(fileName, &content, &source.bytes);
	if (result != CUDA_SUCCESS)
		return result;
	source.image = content;
	result = load(library, &source, fileName);
	free(content);
	return result;
}

static CUresult get(CUlibrary handle, struct sim_library **ret_library)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	*ret_library = library_get(handle);
	return *ret_library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryUnload(CUlibrary library)
{
	struct sim_library *found;
	CUresult result = get(library, &found);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&found->lock);
	drop_instances(found, NULL);
	module_retire(found->kernels);
	found->magic = 0;
	free(found->text);
	found->text = NULL;
	pthread_mutex_unlock(&found->lock);
	return CUDA_SUCCESS;
}

/* ---- asking ---- */

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	struct sim_library *found;
	CUresult result = get(library, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pKernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	*pKernel = (CUkernel)module_find(found->kernels, name);
	return *pKernel ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
	struct sim_library *found;
	CUresult result = get(lib, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = found->kernels->functions;
	return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
	struct sim_library *found;
	CUresult result = get(lib, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!kernels || numKernels == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < numKernels && i < found->kernels->functions; i++)
		kernels[i] = (CUkernel)&found->kernels->function[i];
	return CUDA_SUCCESS;
}

/* The library's module in the current context. */
static CUresult get_here(CUlibrary handle, struct sim_module **ret_module)
{
	struct sim_library *found;
	struct sim_context *context;
	CUresult result = get(handle, &found);

	if (result == CUDA_SUCCESS)
		result = sim_current(&context);
	return result == CUDA_SUCCESS ? library_instance(found, context, ret_module) : result;
}

CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
	struct sim_module *module;
	CUresult result;

	if (!pMod)
		return CUDA_ERROR_INVALID_VALUE;
	result = get_here(library, &module);
	if (result == CUDA_SUCCESS)
		*pMod = (CUmodule)module;
	return result;
}

static CUresult get_variable(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name,
			     bool managed_only)
{
	struct sim_module *module;
	CUresult result;

	if (!name || (!dptr && !bytes))
		return CUDA_ERROR_INVALID_VALUE;
	result = get_here(library, &module);
	return result == CUDA_SUCCESS ? module_find_global(module, name, managed_only, dptr, bytes)
				      : result;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	return get_variable(dptr, bytes, library, name, false);
}

CUresult cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	return get_variable(dptr, bytes, library, name, true);
}
