/* SPDX-License-Identifier: Apache-2.0 */

/* What a program asks of a context or sets in it, and waiting for all of its work. */

#include "driver/context.h"

#define LEAST_PRIORITY 0
#define GREATEST_PRIORITY (-5)

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	struct sim_context *context;
	CUresult result = context_look(ctx, &context);

	/* The context is looked for first: the runtime asks with NULL to learn whether one is
	 * there. */
	if (result != CUDA_SUCCESS)
		return result;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = context->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	return cuCtxGetDevice_v2(device, NULL);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	struct sim_context *context;
	CUresult result = context_look(NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = context->flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	struct sim_context *context;
	CUresult result = context_look(NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!context_flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	context->flags = flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
	struct sim_context *context;
	CUresult result = context_look(ctx, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ctxId)
		return CUDA_ERROR_INVALID_VALUE;
	*ctxId = context->id;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	struct sim_context *context;
	CUresult result = context_look(ctx, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = context->api_version;
	return CUDA_SUCCESS;
}

static CUresult synchronize(struct sim_context *context)
{
	CUresult result = exec_capture_forbids(context);

	return result == CUDA_SUCCESS ? exec_synchronize(context) : result;
}

CUresult cuCtxSynchronize(void)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	return result == CUDA_SUCCESS ? synchronize(context) : result;
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	struct sim_context *context;
	CUresult result = context_look(ctx, &context);

	if (result == CUDA_SUCCESS)
		result = (CUresult)atomic_load(&context->sticky);
	return result == CUDA_SUCCESS ? synchronize(context) : result;
}

static bool limit_is_settable(CUlimit limit)
{
	return limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE ||
	       limit == CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED;
}

/* Kept and answered; none of them changes what the simulated device does. */
CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if ((unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!limit_is_settable(limit))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128)
		return CUDA_ERROR_INVALID_VALUE;
	context->limits[limit] = value;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
	struct sim_context *context;
	CUresult result = context_look(NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pvalue || (unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*pvalue = context->limits[limit];
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
	struct sim_context *context;
	CUresult result = context_look(NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pconfig)
		return CUDA_ERROR_INVALID_VALUE;
	*pconfig = context->cache_config;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct sim_context *context;
	CUresult result = context_look(NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if ((unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	context->cache_config = config;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
	struct sim_context *context;
	CUresult result = context_look(NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pConfig)
		return CUDA_ERROR_INVALID_VALUE;
	*pConfig = context->shared_config;
	return CUDA_SUCCESS;
}

/* Banks are four bytes wide on every device since Maxwell: asking for others changes nothing. */
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct sim_context *context;
	CUresult result = context_look(NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	return (unsigned int)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	struct sim_context *context;
	CUresult result = context_look(NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (leastPriority)
		*leastPriority = LEAST_PRIORITY;
	if (greatestPriority)
		*greatestPriority = GREATEST_PRIORITY;
	return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
	struct sim_context *context;

	return sim_current(&context);
}

/* Without MPS's own partitioning a context may use every SM. */
CUresult cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type)
{
	struct sim_context *context;
	CUresult result = context_look(NULL, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pExecAffinity)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	pExecAffinity->type = type;
	pExecAffinity->param.smCount.val = context->device->desc.sms;
	return CUDA_SUCCESS;
}
