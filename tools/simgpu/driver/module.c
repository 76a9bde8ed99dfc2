/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "driver/device_attribute.h"
#include "driver/function.h"
#include "driver/image.h"
#include "driver/jit_options.h"
#include "driver/memory.h"
#include "driver/module.h"

#define PTX_TARGET ".target sm_"

static pthread_mutex_t unloaded_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_module *unloaded; /* for good: their handles may still be asked about */

/* ---- making ---- */

static int target_of(const char *text)
{
	const char *at = strstr(text, PTX_TARGET);

	return at ? (int)strtol(at + strlen(PTX_TARGET), NULL, 10) : 0;
}

struct sim_module *module_wrap(struct ptx_module *ptx, int ptx_version, bool timing_only)
{
	struct sim_module *module = calloc(1, sizeof(*module));
	uint32_t count = ptx_module_functions(ptx);

	if (!module)
		return NULL;
	module->function = calloc(count ? count : 1, sizeof(*module->function));
	if (!module->function) {
		free(module);
		return NULL;
	}
	module->magic = SIM_MAGIC_MODULE;
	module->ptx = ptx;
	module->ptx_version = ptx_version;
	module->is_timing_only = timing_only;
	module->functions = count;
	for (uint32_t i = 0; i < count; i++)
		function_init(&module->function[i], module, ptx_module_function(ptx, i));
	return module;
}

/* What the program cannot read in a log buffer it finds on stderr, once per cause. */
static void say(const struct module_options *options, const char *where,
		const struct ptx_error *error)
{
	char message[sizeof(error->text) + 32];

	if (error->line)
		snprintf(message, sizeof(message), "ptx line %u: %s", error->line, error->text);
	else
		snprintf(message, sizeof(message), "%s", error->text);
	fprintf(stderr, "simgpu: %s: %s\n", where, message);
	jit_options_log(options, message);
}

static CUresult parse_text(const struct image_found *found, uint32_t cc,
			   struct sim_module **ret_module, struct ptx_error *error)
{
	struct ptx_module *ptx = ptx_module_create(found->text, cc, error);

	if (!ptx)
		return CUDA_ERROR_INVALID_PTX;
	*ret_module = module_wrap(ptx, target_of(found->text), found->timing_only);
	if (*ret_module)
		return CUDA_SUCCESS;
	ptx_module_destroy(ptx);
	snprintf(error->text, sizeof(error->text), "no memory for the module");
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult module_read(const struct module_source *source, const char *where,
		     struct sim_module **ret_module, char **ret_text)
{
	const struct model_desc *desc = &state_device(0)->desc;
	struct image_want want = {.cc = desc->cc_major * 10 + desc->cc_minor,
				  .timing_only = sim_options_get()->allow_timing_only};
	struct image_found found;
	struct ptx_error error;
	CUresult result = jit_options_check(&source->options, where);

	if (result != CUDA_SUCCESS)
		return result;
	result = image_find_ptx(source->image, source->bytes, &want, &found, &error);
	if (result == CUDA_SUCCESS)
		result = parse_text(&found, want.cc, ret_module, &error);
	if (result != CUDA_SUCCESS) {
		say(&source->options, where, &error);
		free(found.text);
		return result;
	}
	if (found.timing_only)
		fprintf(stderr,
			"simgpu: %s: SIMGPU_TIMING_ONLY=1: kernels of machine code compute "
			"nothing\n",
			where);
	jit_options_log(&source->options, "");
	if (ret_text)
		*ret_text = found.text;
	else
		free(found.text);
	return CUDA_SUCCESS;
}

/* ---- variables ---- */

static void drop_globals(struct sim_module *module)
{
	uint32_t count = ptx_module_globals(module->ptx);

	for (uint32_t i = 0; module->global && i < count; i++)
		if (module->global[i])
			(void)sim_memory_drop((uint64_t)(uintptr_t)module->global[i]);
	free(module->global);
	module->global = NULL;
}

static CUresult place_global(struct sim_module *module, struct sim_context *context, uint32_t index)
{
	const struct ptx_global *global = ptx_module_global(module->ptx, index);
	uint64_t address, bytes = global->size_bytes ? global->size_bytes : 1;
	CUresult result = sim_memory_take(context, bytes,
					  global->is_managed ? SIM_MANAGED : SIM_GLOBAL, &address);

	if (result != CUDA_SUCCESS)
		return result;
	module->global[index] = (void *)(uintptr_t)address;
	memset(module->global[index], 0, bytes);
	ptx_module_place_global(module->ptx, index, module->global[index]);
	return CUDA_SUCCESS;
}

CUresult module_place(struct sim_module *module, struct sim_context *context)
{
	uint32_t count = ptx_module_globals(module->ptx);
	CUresult result = CUDA_SUCCESS;

	module->global = calloc(count ? count : 1, sizeof(*module->global));
	if (!module->global)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; result == CUDA_SUCCESS && i < count; i++)
		result = place_global(module, context, i);
	if (result != CUDA_SUCCESS) {
		drop_globals(module);
		return result;
	}
	ptx_module_init_globals(module->ptx);
	pthread_mutex_lock(&context->lock);
	module->context = context;
	module->next = context->modules;
	context->modules = module;
	pthread_mutex_unlock(&context->lock);
	return CUDA_SUCCESS;
}

CUresult module_find_global(struct sim_module *module, const char *name, bool managed_only,
			    CUdeviceptr *ret_address, size_t *ret_bytes)
{
	uint32_t count = ptx_module_globals(module->ptx);

	for (uint32_t i = 0; i < count; i++) {
		const struct ptx_global *global = ptx_module_global(module->ptx, i);

		if (strcmp(global->name, name) != 0 || (managed_only && !global->is_managed))
			continue;
		if (ret_address)
			*ret_address = (CUdeviceptr)(uintptr_t)module->global[i];
		if (ret_bytes)
			*ret_bytes = global->size_bytes;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_FOUND;
}

/* ---- ending ---- */

static void unlink_from_context(struct sim_module *module)
{
	struct sim_module **at;

	pthread_mutex_lock(&module->context->lock);
	for (at = &module->context->modules; *at; at = &(*at)->next)
		if (*at == module) {
			*at = module->next;
			break;
		}
	pthread_mutex_unlock(&module->context->lock);
}

/* Its work is over when the context is drained, or a moment later: the last operation's record
 * goes on its own thread. */
static void wait_unused(struct sim_module *module)
{
	if (module->context && !atomic_load(&module->context->destroyed))
		(void)exec_synchronize(module->context);
	while (atomic_load(&module->uses) > 0)
		sched_yield();
}

void module_retire(struct sim_module *module)
{
	wait_unused(module);
	if (module->context)
		unlink_from_context(module);
	drop_globals(module);
	if (!module->library || module->library->lent_to != module)
		ptx_module_destroy(module->ptx);
	module->ptx = NULL;
	module->is_unloaded = true;
	for (uint32_t i = 0; i < module->functions; i++) {
		module->function[i].magic = 0;
		free(module->function[i].settings);
		module->function[i].settings = NULL;
	}
	pthread_mutex_lock(&unloaded_lock);
	module->next = unloaded;
	unloaded = module;
	pthread_mutex_unlock(&unloaded_lock);
}

void module_drop_context(struct sim_context *context)
{
	library_drop_context(context);
	while (context->modules)
		module_retire(context->modules);
}

/* ---- finding ---- */

struct sim_module *module_get(CUmodule handle)
{
	struct sim_module *module = (struct sim_module *)handle;

	if ((uintptr_t)handle < 4096 || (uintptr_t)handle % _Alignof(struct sim_module) != 0)
		return NULL;
	return module->magic == SIM_MAGIC_MODULE && !module->is_unloaded ? module : NULL;
}

struct sim_function *module_find(struct sim_module *module, const char *name)
{
	for (uint32_t i = 0; i < module->functions; i++)
		if (strcmp(module->function[i].info->name, name) == 0)
			return &module->function[i];
	return NULL;
}
