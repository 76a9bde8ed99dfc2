/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/launch.h"

#include <stdlib.h>
#include <string.h>

#include "driver/cost.h"
#include "driver/issue.h"
#include "driver/queue.h"

#define MAX_BLOCK_THREADS 1024
#define REGS_PER_BLOCK 65536

/* ---- checks ---- */

static bool is_shape_valid(const struct launch_shape *shape)
{
	static const unsigned int max_grid[3] = {0x7fffffff, 65535, 65535};
	static const unsigned int max_block[3] = {1024, 1024, 64};

	for (unsigned int i = 0; i < 3; i++)
		if (shape->grid[i] == 0 || shape->grid[i] > max_grid[i] || shape->block[i] == 0 ||
		    shape->block[i] > max_block[i])
			return false;
	return (uint64_t)shape->block[0] * shape->block[1] * shape->block[2] <= MAX_BLOCK_THREADS;
}

static CUresult check_function(const struct sim_function *function,
			       const struct launch_shape *shape)
{
	const struct ptx_function_info *info = function->info;
	unsigned int threads = shape->block[0] * shape->block[1] * shape->block[2];

	if (info == NULL)
		return CUDA_SUCCESS;
	if (threads > info->max_threads ||
	    (int64_t)shape->shared_bytes > function->max_dynamic_shared)
		return CUDA_ERROR_INVALID_VALUE;
	if (info->reqd[0] != 0 && memcmp(info->reqd, shape->block, sizeof(info->reqd)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if ((uint64_t)((info->regs + 7u) & ~7u) * ((threads + 31u) & ~31u) > REGS_PER_BLOCK)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	return CUDA_SUCCESS;
}

/* Without PTX nothing can be computed. */
static CUresult check_code(const struct sim_function *function)
{
	if (function->ptx != NULL || sim_options_get()->allow_timing_only)
		return CUDA_SUCCESS;
	fprintf(stderr,
		"simgpu: kernel %s has no PTX, so it cannot be computed: build with PTX (nvcc "
		"-arch=compute_75), or set SIMGPU_TIMING_ONLY=1 to run it as a no-op\n",
		cost_name(function));
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* ---- parameters ---- */

static CUresult copy_params(const struct ptx_function_info *info, void **params, char *block)
{
	for (uint32_t i = 0; i < info->params; i++) {
		if (params[i] == NULL)
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(block + info->param[i].offset_bytes, params[i], info->param[i].size_bytes);
	}
	return CUDA_SUCCESS;
}

static CUresult copy_extra(const struct ptx_function_info *info, void **extra, char *block)
{
	const void *buffer = NULL;
	size_t size = 0;

	for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != NULL)
			size = *(const size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (buffer == NULL || size < info->param_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(block, buffer, info->param_bytes);
	return CUDA_SUCCESS;
}

static CUresult take_params(const struct ptx_function_info *info, void **params, void **extra,
			    struct work_kernel *kernel)
{
	CUresult result;

	kernel->params = NULL;
	kernel->param_bytes = 0;
	if (params != NULL && extra != NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (info == NULL || info->params == 0)
		return CUDA_SUCCESS;
	if (params == NULL && extra == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	kernel->params = calloc(1, info->param_bytes);
	if (kernel->params == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	kernel->param_bytes = info->param_bytes;
	result = params != NULL ? copy_params(info, params, kernel->params)
				: copy_extra(info, extra, kernel->params);
	if (result != CUDA_SUCCESS) {
		free(kernel->params);
		kernel->params = NULL;
	}
	return result;
}

CUresult launch_prepare(struct sim_context *context, CUfunction handle,
			const struct launch_shape *shape, void **params, void **extra,
			struct work *ret_work)
{
	struct sim_function *function = sim_function_get(handle);
	CUresult result;

	if (function == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (function->module->context != NULL && function->module->context != context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!is_shape_valid(shape))
		return CUDA_ERROR_INVALID_VALUE;
	result = check_function(function, shape);
	if (result == CUDA_SUCCESS)
		result = check_code(function);
	if (result != CUDA_SUCCESS)
		return result;
	memset(ret_work, 0, sizeof(*ret_work));
	ret_work->kind = WORK_KERNEL;
	ret_work->kernel.function = function;
	memcpy(ret_work->kernel.grid, shape->grid, sizeof(shape->grid));
	memcpy(ret_work->kernel.block, shape->block, sizeof(shape->block));
	ret_work->kernel.shared_bytes = shape->shared_bytes;
	result = take_params(function->info, params, extra, &ret_work->kernel);
	if (result != CUDA_SUCCESS)
		ret_work->kind = WORK_NONE;
	return result;
}

/* ---- entries ---- */

static CUresult launch(CUfunction function, const struct launch_shape *shape, CUstream handle,
		       bool per_thread, void **params, void **extra, bool cooperative)
{
	struct stream *stream;
	struct work work;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result == CUDA_SUCCESS)
		result = launch_prepare(stream->home->context, function, shape, params, extra,
					&work);
	if (result != CUDA_SUCCESS)
		return result;
	work.kernel.cooperative = cooperative;
	if (cooperative && !cost_fits_at_once(stream->exec, &work.kernel)) {
		work_finish(&work);
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	}
	return issue(stream, &work, false);
}

FORMS(cuLaunchKernel, cuLaunchKernel_ptsz,
      (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
       unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
       unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra),
      launch(f,
	     &(struct launch_shape){{gridDimX, gridDimY, gridDimZ},
				    {blockDimX, blockDimY, blockDimZ},
				    sharedMemBytes},
	     hStream, per_thread, kernelParams, extra, false))

FORMS(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz,
      (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
       unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
       unsigned int sharedMemBytes, CUstream hStream, void **kernelParams),
      launch(f,
	     &(struct launch_shape){{gridDimX, gridDimY, gridDimZ},
				    {blockDimX, blockDimY, blockDimZ},
				    sharedMemBytes},
	     hStream, per_thread, kernelParams, NULL, true))

static bool is_single_block_cluster(const CUlaunchAttribute *attribute)
{
	return attribute->value.clusterDim.x <= 1 && attribute->value.clusterDim.y <= 1 &&
	       attribute->value.clusterDim.z <= 1;
}

/* Attributes that change neither results nor what the model knows are passed over: dependent
 * launches simply do not overlap here. */
static CUresult read_attribute(const CUlaunchAttribute *attribute, bool *cooperative)
{
	char what[96];

	switch ((int)attribute->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		*cooperative = attribute->value.cooperative != 0;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		if (is_single_block_cluster(attribute))
			return CUDA_SUCCESS;
		return sim_refuse("cuLaunchKernelEx", "clusters of several blocks");
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: return CUDA_SUCCESS;
	default:
		snprintf(what, sizeof(what), "launch attribute %d", (int)attribute->id);
		return sim_refuse("cuLaunchKernelEx", what);
	}
}

static CUresult launch_ex(const CUlaunchConfig *config, CUfunction function, void **params,
			  void **extra, bool per_thread)
{
	bool cooperative = false;
	CUresult result = CUDA_SUCCESS;

	if (config == NULL || (config->numAttrs > 0 && config->attrs == NULL))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < config->numAttrs && result == CUDA_SUCCESS; i++)
		result = read_attribute(&config->attrs[i], &cooperative);
	if (result != CUDA_SUCCESS)
		return result;
	return launch(
		function,
		&(struct launch_shape){{config->gridDimX, config->gridDimY, config->gridDimZ},
				       {config->blockDimX, config->blockDimY, config->blockDimZ},
				       config->sharedMemBytes},
		config->hStream, per_thread, params, extra, cooperative);
}

FORMS(cuLaunchKernelEx, cuLaunchKernelEx_ptsz,
      (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra),
      launch_ex(config, f, kernelParams, extra, per_thread))
