/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_SIM_H
#define SIMGPU_SIM_H

/*
 * What the parts of the simulated driver know of one another. Two halves:
 *
 *   core  device, context, module, library, function, memory, pointer attributes, errors, the
 *         generated refusals and the cuGetProcAddress table (files context.c module.c memory.c ...)
 *   exec  streams, events, the executor (host threads that compute results and the thread that
 *         keeps time with the device model), launches, copies, memsets, host functions, memory
 *         operations, capture and graphs, cost table (files stream.c event.c exec.c graph.c ...)
 *
 * Entry points are defined under their exported names with __CUDA_API_VERSION_INTERNAL set, so
 * that cuda.h checks every signature; what no file defines, the generated weak refusal answers
 * by name. Handles are pointers to the structs below, with a magic first word that is checked.
 */

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
/* The library is built with hidden visibility: what the header declares is exported. */
#ifndef __CUDA_API_PUSH_VISIBILITY_DEFAULT
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT
#endif
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/model.h"
#include "ptx/ptx.h"

struct segment; /* device/segment.h: the device's shared memory and its lock */
struct exec;	/* exec half, one per process and device */
struct stream;

#define SIM_MAGIC_CONTEXT 0x43545830u
#define SIM_MAGIC_FUNCTION 0x46554e30u
#define SIM_MAGIC_MODULE 0x4d4f4430u
#define SIM_MAGIC_STREAM 0x53545230u
#define SIM_MAGIC_EVENT 0x45564e30u
#define SIM_MAGIC_GRAPH 0x47524130u
#define SIM_MAGIC_GRAPH_EXEC 0x47455830u
#define SIM_MAGIC_POOL 0x504f4f30u
#define SIM_MAGIC_LIBRARY 0x4c494230u

struct sim_device {
	int ordinal;
	struct segment *segment; /* attached at cuInit */
	struct model_desc desc;	 /* a copy */
	uint32_t proc;		 /* ours in the model */
	uint8_t uuid[16];
	struct sim_context *primary; /* NULL: never retained */
	struct exec *exec; /* of this process on this device, started by the first context */
	bool joined;	   /* `proc` is valid: from the first context on */
	int physical;	   /* ordinal of the segment; differs under CUDA_VISIBLE_DEVICES */
	struct sim_pool *default_pool, *pool; /* pool.c; NULL: not yet asked for */
};

struct sim_context {
	uint32_t magic;
	struct sim_device *device;
	unsigned int flags;
	unsigned int refs; /* primary retains */
	bool is_primary;
	_Atomic bool destroyed; /* inert: every call answers CUDA_ERROR_CONTEXT_IS_DESTROYED */
	_Atomic int sticky;	/* CUresult of a fault that stays: 700, 710, ... */
	pthread_mutex_t lock;	/* of the lists below and of exec's lists of this context */
	struct stream *legacy;	/* stream 0 / CU_STREAM_LEGACY, by exec */
	struct stream *streams; /* all others, linked by exec */
	struct sim_module *modules;
	uint64_t id;
	struct sim_context *next; /* all that ever were, so that a stale handle can be told */
	unsigned int api_version;
	CUfunc_cache cache_config;
	CUsharedconfig shared_config;
	size_t limits[CU_LIMIT_MAX];
};

/* A function of a module, or a kernel of a library: one struct, so that a CUkernel is accepted as
 * a CUfunction. */
struct sim_function {
	uint32_t magic;
	struct sim_module *module;
	const struct ptx_function *ptx; /* NULL: can only be timed */
	const struct ptx_function_info *info;
	int max_dynamic_shared; /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
	int carveout, cache_config;
	struct launch_settings *settings; /* of cuFuncSetBlockShape and its like; NULL: none yet */
};

struct sim_module {
	uint32_t magic;
	struct sim_context *context; /* NULL: a library, loaded for every context */
	struct ptx_module *ptx;
	struct sim_function *function; /* one per entry, same order as ptx_module_function() */
	uint32_t functions;
	_Atomic uint32_t uses; /* operations queued that run its code: unload waits for them */
	struct sim_module *next;
	struct sim_library *library; /* NULL: loaded by cuModuleLoad* */
	struct sim_module *sibling;  /* of the same library, in another context */
	void **global;		     /* where each variable lives; NULL: they have no place yet */
	int ptx_version;	     /* of .target: 75 for sm_75 */
	bool is_unloaded;
	bool is_timing_only; /* of machine code: its functions' `ptx` is NULL */
};

enum sim_memory_kind {
	SIM_DEVICE = 1, /* cuMemAlloc and its like */
	SIM_MANAGED,
	SIM_PINNED,	/* cuMemHostAlloc, cuMemAllocHost */
	SIM_REGISTERED, /* cuMemHostRegister */
	SIM_VMM,	/* mapped by cuMemMap, with access set */
	SIM_GLOBAL,	/* a module's variables */
	SIM_PAGEABLE,	/* none of ours: plain host memory */
};

struct sim_range {
	uint64_t base, size;
	enum sim_memory_kind kind;
	struct sim_context *context; /* of the allocation; NULL: none */
	uint64_t buffer_id;
	unsigned int flags; /* of cuMemHostAlloc / cuMemHostRegister / managed */
};

/* ---- core, for exec ---- */

/* The calling thread's context, ready for use: CUDA_ERROR_NOT_INITIALIZED,
 * CUDA_ERROR_INVALID_CONTEXT (none), CUDA_ERROR_CONTEXT_IS_DESTROYED or the sticky error. */
CUresult sim_current(struct sim_context **ret_context);
struct sim_context *sim_current_or_null(void);
/* A fault that stays: first one wins, for this context. */
void sim_set_sticky(struct sim_context *context, CUresult error);

/* Also takes a CUkernel, for which it answers with the function in the calling thread's context,
 * loading it there if need be. NULL: not one of ours, or it could not be loaded. */
struct sim_function *sim_function_get(CUfunction function);

/* The allocation around an address; SIM_PAGEABLE and the whole address space between where there
 * is none. Thread-safe, lock-free for readers that hit; never answers for a freed range once the
 * free returned. Returns false for SIM_PAGEABLE. */
bool sim_memory_find(uint64_t address, struct sim_range *ret_range);
/* For kernels of one context (struct ptx_memory). Pinned, managed and registered memory counts. */
extern const struct ptx_memory sim_memory_checker;

/* Device memory, charged to the device in the model. */
CUresult sim_memory_take(struct sim_context *context, uint64_t bytes, enum sim_memory_kind kind,
			 uint64_t *ret_address);
CUresult sim_memory_drop(uint64_t address);

/* Loud refusal by name, once per name and process to stderr ("simgpu: cuFoo is not modelled"),
 * returns CUDA_ERROR_NOT_SUPPORTED. */
CUresult sim_refuse(const char *name, const char *why);

/* Options, from environment and description file; read once, in cuInit. */
struct sim_options {
	const char *costs_path; /* SIMGPU_COSTS or the device file's own table; NULL: none */
	bool allow_timing_only; /* SIMGPU_TIMING_ONLY=1: kernels without PTX run as no-ops */
	bool report;		/* SIMGPU_REPORT=FILE: counters written at exit */
	const char *report_path;
	unsigned int threads;	   /* SIMGPU_THREADS; default: cores */
	unsigned int mps_priority; /* CUDA_MPS_CLIENT_PRIORITY: 0 normal, 1 below it */
};
const struct sim_options *sim_options_get(void);

uint64_t sim_now_ns(void); /* CLOCK_MONOTONIC */

/* ---- exec, for core ---- */

CUresult exec_context_start(struct sim_context *context); /* makes the legacy stream */
void exec_context_finish(struct sim_context *context);	  /* drains, frees streams and events */
/* After a fork, in the child: forgets threads and queues; every call then answers
 * CUDA_ERROR_NOT_INITIALIZED. */
void exec_after_fork(void);
/* Everything queued in the context is done. Returns a sticky error. */
CUresult exec_synchronize(struct sim_context *context);
/* A stream handle to a stream: NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or an own one.
 * per_thread: the entry was the _ptsz or _ptds form. */
CUresult exec_stream_get(struct sim_context *context, CUstream handle, bool per_thread,
			 struct stream **ret_stream);
/* Runs fn(arg) on a host thread in stream order; takes no device time. Under capture:
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. For cuMemFreeAsync and its like. */
CUresult exec_stream_call(struct stream *stream, void (*fn)(void *arg), void *arg);
bool exec_stream_is_capturing(struct stream *stream);
/* Capture of cuMemAllocAsync / cuMemFreeAsync as graph nodes is exec's; core calls these when
 * exec_stream_is_capturing(). */
CUresult exec_capture_alloc(struct stream *stream, uint64_t bytes, CUdeviceptr *ret_address);
CUresult exec_capture_free(struct stream *stream, CUdeviceptr address);
/* For cuCtxSynchronize with a capture open in it, cuMemFree and other calls that a capture
 * forbids: CUDA_SUCCESS or the CUDA_ERROR_STREAM_CAPTURE_* to answer (and the capture is
 * invalidated as the driver does). */
CUresult exec_capture_forbids(struct sim_context *context);

#endif
