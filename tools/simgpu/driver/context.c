/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/context.h"
#include "driver/memory.h"
#include "driver/module.h"

/* ---- the calling thread's stack ---- */

struct stack {
	unsigned int depth, room;
	struct sim_context *item[];
};

static __thread struct stack *stack;
static pthread_key_t stack_key; /* frees a thread's stack at its end */
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static struct sim_context *all_contexts; /* state lock for writing; only grows, at the head */
static uint64_t next_id = 1;

static void make_key(void)
{
	(void)pthread_key_create(&stack_key, free);
}

static CUresult stack_push(struct sim_context *context)
{
	if (!stack || stack->depth == stack->room) {
		unsigned int room = stack ? stack->room * 2 : 4;
		struct stack *grown =
			realloc(stack, sizeof(*stack) + room * sizeof(stack->item[0]));

		if (!grown)
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (!stack)
			grown->depth = 0;
		grown->room = room;
		stack = grown;
		pthread_once(&stack_once, make_key);
		(void)pthread_setspecific(stack_key, stack);
	}
	stack->item[stack->depth++] = context;
	return CUDA_SUCCESS;
}

static struct sim_context *stack_top(void)
{
	return stack && stack->depth > 0 ? stack->item[stack->depth - 1] : NULL;
}

void context_forget(struct sim_context *context)
{
	if (stack_top() == context)
		stack->depth--;
}

/* ---- looking ---- */

struct sim_context *context_get(CUcontext handle)
{
	struct sim_context *context = (struct sim_context *)handle;

	if ((uintptr_t)handle < 4096 || (uintptr_t)handle % _Alignof(struct sim_context) != 0)
		return NULL;
	return context->magic == SIM_MAGIC_CONTEXT ? context : NULL;
}

struct sim_context *sim_current_or_null(void)
{
	return state_ready() == CUDA_SUCCESS ? stack_top() : NULL;
}

CUresult context_look(CUcontext handle, struct sim_context **ret_context)
{
	struct sim_context *context;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	context = handle ? context_get(handle) : stack_top();
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (atomic_load_explicit(&context->destroyed, memory_order_acquire))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret_context = context;
	return CUDA_SUCCESS;
}

CUresult sim_current(struct sim_context **ret_context)
{
	CUresult result = context_look(NULL, ret_context);

	if (result != CUDA_SUCCESS)
		return result;
	return (CUresult)atomic_load_explicit(&(*ret_context)->sticky, memory_order_acquire);
}

void sim_set_sticky(struct sim_context *context, CUresult error)
{
	int none = CUDA_SUCCESS;

	atomic_compare_exchange_strong(&context->sticky, &none, (int)error);
}

/* ---- life ---- */

bool context_flags_valid(unsigned int flags)
{
	unsigned int schedule = flags & CU_CTX_SCHED_MASK;

	return !(flags & ~(unsigned int)CU_CTX_FLAGS_MASK) && (schedule & (schedule - 1)) == 0;
}

struct sim_context *context_new(struct sim_device *device, bool is_primary)
{
	struct sim_context *context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	context->magic = SIM_MAGIC_CONTEXT;
	context->device = device;
	context->is_primary = is_primary;
	pthread_mutex_init(&context->lock, NULL);
	atomic_init(&context->destroyed, true);
	context->next = all_contexts;
	all_contexts = context;
	return context;
}

static void set_defaults(struct sim_context *context)
{
	memset(context->limits, 0, sizeof(context->limits));
	context->limits[CU_LIMIT_STACK_SIZE] = 1024;
	context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 7 << 20;
	context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
	context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
	context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
	context->cache_config = CU_FUNC_CACHE_PREFER_NONE;
	context->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	context->id = next_id++;
}

CUresult context_activate(struct sim_context *context)
{
	CUresult result = state_attach(context->device);

	if (result != CUDA_SUCCESS)
		return result;
	set_defaults(context);
	context->streams = NULL;
	context->legacy = NULL;
	atomic_store(&context->sticky, CUDA_SUCCESS);
	result = exec_context_start(context);
	if (result != CUDA_SUCCESS)
		return result;
	/* Pairs with the acquire of context_look. */
	atomic_store_explicit(&context->destroyed, false, memory_order_release);
	return CUDA_SUCCESS;
}

void context_deactivate(struct sim_context *context)
{
	atomic_store_explicit(&context->destroyed, true, memory_order_release);
	exec_context_finish(context);
	module_drop_context(context);
	memory_drop_context(context);
}

static CUresult context_create(CUcontext *ret_context, unsigned int flags, CUdevice ordinal,
			       unsigned int api_version)
{
	struct sim_device *device;
	struct sim_context *context;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_context || !context_flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	device = state_device(ordinal);
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	state_lock();
	context = context_new(device, false);
	result = context ? stack_push(context) : CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_SUCCESS) {
		context->flags = flags;
		context->api_version = api_version;
		result = context_activate(context);
		if (result != CUDA_SUCCESS)
			context_forget(context);
	}
	state_unlock();
	if (result == CUDA_SUCCESS)
		*ret_context = (CUcontext)context;
	return result;
}

CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return context_create(pctx, flags, dev, 3010);
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return context_create(pctx, flags, dev, 3020);
}

CUresult cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
			unsigned int flags, CUdevice dev)
{
	if (numParams != 0 || paramsArray)
		return sim_refuse("cuCtxCreate_v3",
				  "a context with an SM affinity: pass no parameters");
	return context_create(pctx, flags, dev, 3020);
}

CUresult cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
			CUdevice dev)
{
	if (ctxCreateParams &&
	    (ctxCreateParams->numExecAffinityParams != 0 || ctxCreateParams->cigParams))
		return sim_refuse("cuCtxCreate_v4",
				  "a context with an SM affinity or graphics: pass no parameters");
	return context_create(pctx, flags, dev, 3020);
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	struct sim_context *context;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	context = ctx ? context_get(ctx) : NULL;
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (context->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	state_lock();
	if (atomic_load(&context->destroyed))
		result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	else
		context_deactivate(context);
	state_unlock();
	context_forget(context);
	return result;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	return cuCtxDestroy_v2(ctx);
}

/* ---- current ---- */

/* A primary context that is not active yet may be made current; calls in it then answer that it
 * is destroyed, until somebody retains it. */
static bool may_be_current(const struct sim_context *context)
{
	return context && (context->is_primary || !atomic_load(&context->destroyed));
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!may_be_current(context_get(ctx)))
		return CUDA_ERROR_INVALID_CONTEXT;
	return stack_push(context_get(ctx));
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	return cuCtxPushCurrent_v2(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
	struct sim_context *top;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	top = stack_top();
	if (!top)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack->depth--;
	if (pctx)
		*pctx = (CUcontext)top;
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *pctx)
{
	return cuCtxPopCurrent_v2(pctx);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!ctx) {
		if (stack_top())
			stack->depth--;
		return CUDA_SUCCESS;
	}
	if (!may_be_current(context_get(ctx)))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!stack_top())
		return stack_push(context_get(ctx));
	stack->item[stack->depth - 1] = context_get(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = (CUcontext)stack_top();
	return CUDA_SUCCESS;
}
