/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches.
 */
#include "launch.h"
#include "launch_entry.h"

struct kernel_size {
	uint64_t blocks;
	uint32_t threads, shared_bytes;
};

#define KERNEL_SIZE_OF(gx, gy, gz, bx, by, bz, shared) \
	((struct kernel_size){(uint64_t)(gx) * (gy) * (gz), (bx) * (by) * (bz), shared})

static struct sample_what kernel(CUfunction f, uint64_t shape, struct kernel_size size,
				 void *const *params)
{
	return (struct sample_what){.kind = PREDICT_KERNEL,
				    .handle = f,
				    .shape = shape,
				    .params = params,
				    .size = size.blocks,
				    .threads = size.threads,
				    .shared_bytes = size.shared_bytes};
}

/*
 * Four functions for each of the two entries, all with the entry's own arguments, so that each ends
 * in a jump to the next: the entry, in assembly where there is one (launch_entry.h); the admitted
 * path; what looks and waits; and what a process without an arbiter, and the first launch of a
 * request, go through. The last raises the activity, where the entry has not: with as few lines and
 * pages touched as can be, since after the wait for a request code is as cold as data.
 */
#define KERNEL_PARAMETERS \
	CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, \
		unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, \
		unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra
#define KERNEL_ARGUMENTS \
	f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, \
		kernelParams, extra
#define KERNEL_SIZE \
	KERNEL_SIZE_OF(gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, \
		       sharedMemBytes)
#define KERNEL_TAG KERNEL_TAG_OF(f)
#define KERNEL_TAG_OF(function) \
	predict_kernel_tag(function, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, \
			   blockDimZ, sharedMemBytes)

/* Not static: the entries in assembly jump here. */
#define KERNEL_STEP(name, step) \
	extern __typeof__(name) name##_##step __attribute__((noinline, visibility("hidden"))); \
\
	CUresult name##_##step(KERNEL_PARAMETERS)

#define KERNEL_HOOK(name, per_thread) \
	static __attribute__((noinline)) CUresult name##_looked_at(KERNEL_PARAMETERS) \
	{ \
		struct launch launch; \
		CUresult result; \
\
		launch_begin(&launch, KERNEL_TAG, PREDICT_KERNEL_NS, \
			     stream_key(hStream, per_thread), \
			     kernel(f, KERNEL_TAG_OF(NULL), KERNEL_SIZE, kernelParams), 0); \
		result = real.name(KERNEL_ARGUMENTS); \
		launch_end(&launch, result); \
		return result; \
	} \
\
	KERNEL_STEP(name, gated) \
	{ \
		if (likely(launch_fast(KERNEL_TAG, stream_key(hStream, per_thread)))) \
			return real.name(KERNEL_ARGUMENTS); \
		return name##_looked_at(KERNEL_ARGUMENTS); \
	} \
\
	KERNEL_STEP(name, first) \
	{ \
		if (launch_is_inert()) \
			return real.name(KERNEL_ARGUMENTS); \
		launch_raise(); \
		return name##_looked_at(KERNEL_ARGUMENTS); \
	}

KERNEL_HOOK(cuLaunchKernel, false)
KERNEL_HOOK(cuLaunchKernel_ptsz, true)

#ifdef LAUNCH_ENTRY_IN_ASSEMBLY
_Static_assert(LAUNCH_ENTRY_PASSTHROUGH == SHIM_PASSTHROUGH && LAUNCH_ENTRY_IDLE == SHIM_IDLE &&
		       LAUNCH_ENTRY_FLAGS == offsetof(struct shim, flags) &&
		       LAUNCH_ENTRY_IDLE_DEVICE == offsetof(struct shim, idle) &&
		       LAUNCH_ENTRY_IS_RAISED == offsetof(struct shim_thread, is_raised) &&
		       offsetof(struct sluice_activity_device, word) == 0 &&
		       SLUICE_ACTIVITY_RAISED == UINT32_MAX,
	       "the entries in assembly read what is there");
#else
#define KERNEL_ENTRY(name) \
	CUresult CUDAAPI name(KERNEL_PARAMETERS) \
	{ \
		if (unlikely(shim_flags() & (SHIM_PASSTHROUGH | SHIM_IDLE))) \
			return name##_first(KERNEL_ARGUMENTS); \
		return name##_gated(KERNEL_ARGUMENTS); \
	}

KERNEL_ENTRY(cuLaunchKernel)
KERNEL_ENTRY(cuLaunchKernel_ptsz)
#endif

/* ---- launches with attributes ------------------------------------------------------------------ */

/* Nothing may come between a kernel and its programmatic dependent: not even a marker. */
static uint32_t config_flags(const CUlaunchConfig *config)
{
	uint32_t flags = 0;

	for (unsigned int i = 0; config->attrs && i < config->numAttrs; i++) {
		CUlaunchAttributeID id = config->attrs[i].id;

		if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
		    id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
			flags = LAUNCH_DEPENDENT;
	}
	return flags;
}

static uint64_t config_tag(const CUlaunchConfig *config, CUfunction f)
{
	return predict_kernel_tag(f, config->gridDimX, config->gridDimY, config->gridDimZ,
				  config->blockDimX, config->blockDimY, config->blockDimZ,
				  config->sharedMemBytes);
}

static struct kernel_size config_size(const CUlaunchConfig *config)
{
	return KERNEL_SIZE_OF(config->gridDimX, config->gridDimY, config->gridDimZ,
			      config->blockDimX, config->blockDimY, config->blockDimZ,
			      config->sharedMemBytes);
}

static CUresult config_slow(CUresult (*call)(const CUlaunchConfig *, CUfunction, void **, void **),
			    CUstream key, const CUlaunchConfig *config, CUfunction f, void **params,
			    void **extra)
{
	struct launch launch;
	CUresult result;

	launch_begin(&launch, config_tag(config, f), PREDICT_KERNEL_NS, key,
		     kernel(f, config_tag(config, NULL), config_size(config), params),
		     config_flags(config));
	result = call(config, f, params, extra);
	launch_end(&launch, result);
	return result;
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
				  void **extra)
{
	CUstream key;

	if (unlikely(!config))
		return real.cuLaunchKernelEx(config, f, kernelParams, extra);
	key = stream_key(config->hStream, false);
	if (launch_is_inert() ||
	    likely(!launch_raise_first() && launch_fast(config_tag(config, f), key)))
		return real.cuLaunchKernelEx(config, f, kernelParams, extra);
	return config_slow(real.cuLaunchKernelEx, key, config, f, kernelParams, extra);
}

CUresult CUDAAPI cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f,
				       void **kernelParams, void **extra)
{
	CUstream key;

	if (unlikely(!config))
		return real.cuLaunchKernelEx_ptsz(config, f, kernelParams, extra);
	key = stream_key(config->hStream, true);
	if (launch_is_inert() ||
	    likely(!launch_raise_first() && launch_fast(config_tag(config, f), key)))
		return real.cuLaunchKernelEx_ptsz(config, f, kernelParams, extra);
	return config_slow(real.cuLaunchKernelEx_ptsz, key, config, f, kernelParams, extra);
}

/* ---- cooperative and old forms -------------------------------------------------------------------- */

/* shape: the tag that these dimensions have without a function. */
static void begin(struct launch *launch, CUfunction f, uint64_t shape, struct kernel_size size,
		  CUstream key, void *const *params)
{
	launch_begin(launch, predict_mix((uintptr_t)f, shape, 0, 0), PREDICT_KERNEL_NS, key,
		     kernel(f, shape, size, params), 0);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
					   unsigned int gridDimY, unsigned int gridDimZ,
					   unsigned int blockDimX, unsigned int blockDimY,
					   unsigned int blockDimZ, unsigned int sharedMemBytes,
					   CUstream hStream, void **kernelParams)
{
	struct launch launch;
	CUresult result;

	begin(&launch, f,
	      predict_kernel_tag(NULL, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY,
				 blockDimZ, sharedMemBytes),
	      KERNEL_SIZE, stream_key(hStream, false), kernelParams);
	result = real.cuLaunchCooperativeKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX,
						blockDimY, blockDimZ, sharedMemBytes, hStream,
						kernelParams);
	launch_end(&launch, result);
	return result;
}

CUresult CUDAAPI cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gridDimX,
						unsigned int gridDimY, unsigned int gridDimZ,
						unsigned int blockDimX, unsigned int blockDimY,
						unsigned int blockDimZ, unsigned int sharedMemBytes,
						CUstream hStream, void **kernelParams)
{
	struct launch launch;
	CUresult result;

	begin(&launch, f,
	      predict_kernel_tag(NULL, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY,
				 blockDimZ, sharedMemBytes),
	      KERNEL_SIZE, stream_key(hStream, true), kernelParams);
	result = real.cuLaunchCooperativeKernel_ptsz(f, gridDimX, gridDimY, gridDimZ, blockDimX,
						     blockDimY, blockDimZ, sharedMemBytes, hStream,
						     kernelParams);
	launch_end(&launch, result);
	return result;
}

/* Its kernels wait for one another across devices: held at the first one's gate, and for that
 * counted there alone. */
CUresult CUDAAPI cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launchParamsList,
						      unsigned int numDevices, unsigned int flags)
{
	const CUDA_LAUNCH_PARAMS *first = launchParamsList;
	struct launch launch = {.way = LAUNCH_FOREIGN};
	CUresult result;

	if (first && numDevices)
		begin(&launch, first->function,
		      predict_kernel_tag(NULL, first->gridDimX, first->gridDimY, first->gridDimZ,
					 first->blockDimX, first->blockDimY, first->blockDimZ,
					 first->sharedMemBytes),
		      KERNEL_SIZE_OF(first->gridDimX, first->gridDimY, first->gridDimZ,
				     first->blockDimX, first->blockDimY, first->blockDimZ,
				     first->sharedMemBytes),
		      stream_key(first->hStream, false), first->kernelParams);
	result = real.cuLaunchCooperativeKernelMultiDevice(launchParamsList, numDevices, flags);
	launch_end(&launch, result);
	return result;
}

CUresult CUDAAPI cuLaunch(CUfunction f)
{
	struct launch launch;
	CUresult result;

	begin(&launch, f, predict_kernel_tag(NULL, 1, 1, 1, 0, 0, 0, 0),
	      (struct kernel_size){.blocks = 1}, CU_STREAM_LEGACY, NULL);
	result = real.cuLaunch(f);
	launch_end(&launch, result);
	return result;
}

static uint64_t grid_shape(int width, int height)
{
	return predict_kernel_tag(NULL, (unsigned int)width, (unsigned int)height, 1, 0, 0, 0, 0);
}

/* Its block's shape was set before, by a call that is not looked at. */
static struct kernel_size grid_size(int width, int height)
{
	return (struct kernel_size){.blocks = (uint64_t)(unsigned int)width * (unsigned int)height};
}

CUresult CUDAAPI cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
	struct launch launch;
	CUresult result;

	begin(&launch, f, grid_shape(grid_width, grid_height), grid_size(grid_width, grid_height),
	      CU_STREAM_LEGACY, NULL);
	result = real.cuLaunchGrid(f, grid_width, grid_height);
	launch_end(&launch, result);
	return result;
}

CUresult CUDAAPI cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
	struct launch launch;
	CUresult result;

	begin(&launch, f, grid_shape(grid_width, grid_height), grid_size(grid_width, grid_height),
	      stream_key(hStream, false), NULL);
	result = real.cuLaunchGridAsync(f, grid_width, grid_height, hStream);
	launch_end(&launch, result);
	return result;
}
