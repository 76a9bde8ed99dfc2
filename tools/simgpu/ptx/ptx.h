/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_H
#define SIMGPU_PTX_H

/*
 * PTX text to something that runs on the host's cores: parser and interpreter. Knows nothing of
 * streams, contexts or the driver. A module is immutable after ptx_module_create, so any number
 * of threads may run kernels of it; a grid's blocks are independent, so the caller runs ranges of
 * blocks on several threads (a cooperative grid, whose blocks wait for one another, in one call).
 *
 * Memory: addresses are host addresses. Shared, local and parameter space get real addresses
 * inside the runner. Every global access of a kernel is checked by struct ptx_memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_error {
	uint32_t line;	/* of the PTX text, from 1; 0: none */
	char text[256]; /* one sentence, names the instruction or symbol */
};

struct ptx_module;
struct ptx_function;

struct ptx_param {
	uint32_t offset_bytes, size_bytes, align_bytes;
};

struct ptx_function_info {
	const char *name;
	const struct ptx_param *param;
	uint32_t params;
	uint32_t param_bytes;
	uint32_t regs;	       /* per thread: an estimate, at most 255 */
	uint32_t shared_bytes; /* static */
	uint32_t local_bytes;  /* per thread */
	uint32_t const_bytes;
	uint32_t max_threads; /* .maxntid, or 1024 */
	uint32_t reqd[3];     /* .reqntid; 0: none */
	bool uses_grid_sync;  /* reads %envreg1/2: all blocks must be resident */
};

/* Module-scope variables (.global, .const): the owner gives them room and asks for each's
 * initial bytes. External (.extern) ones are not listed. */
struct ptx_global {
	const char *name;
	uint64_t size_bytes;
	uint32_t align_bytes;
	bool is_const;
	bool is_managed; /* .attribute(.managed) */
};

/* `text` is NUL-terminated; not kept. NULL on error, `ret_error` filled. cc = major*10+minor:
 * `.target` above it is refused. */
struct ptx_module *ptx_module_create(const char *text, uint32_t cc, struct ptx_error *ret_error);
void ptx_module_destroy(struct ptx_module *module);

uint32_t ptx_module_functions(const struct ptx_module *module); /* kernels (.entry) */
const struct ptx_function *ptx_module_function(const struct ptx_module *module, uint32_t index);
const struct ptx_function *ptx_module_find(const struct ptx_module *module, const char *name);
const struct ptx_function_info *ptx_function_get_info(const struct ptx_function *function);

uint32_t ptx_module_globals(const struct ptx_module *module);
const struct ptx_global *ptx_module_global(const struct ptx_module *module, uint32_t index);
/* Where global `index` lives from now on; before any run, all of them. Then
 * ptx_module_init_globals writes the initial values, addresses of other globals included. */
void ptx_module_place_global(struct ptx_module *module, uint32_t index, void *address);
void ptx_module_init_globals(struct ptx_module *module);

enum ptx_fault {
	PTX_OK = 0,
	PTX_ILLEGAL_ADDRESS,	 /* CUDA error 700 */
	PTX_MISALIGNED,		 /* 716 */
	PTX_TRAP,		 /* trap instruction: 719 */
	PTX_ASSERT,		 /* __assertfail: 710 */
	PTX_ILLEGAL_INSTRUCTION, /* 715: also what tier 1 does not interpret */
	PTX_STOPPED,		 /* `stop` was set */
	PTX_NO_MEMORY,		 /* host memory for the run */
};

/* Says whether [address, address+size) is memory that this kernel may touch, and fills the
 * surrounding range [ret_low, ret_high), which the interpreter keeps for the next accesses of the
 * same run. Called on any thread that runs blocks. */
struct ptx_memory {
	bool (*check)(void *arg, uint64_t address, uint32_t size, bool write, uint64_t *ret_low,
		      uint64_t *ret_high);
	void *arg;
};

struct ptx_launch {
	const struct ptx_function *function;
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared_bytes;
	const void *params; /* param_bytes, laid out by ptx_param */
	const struct ptx_memory *memory;
	const _Atomic bool *stop;		    /* looked at between warp quanta; NULL: never */
	void (*print)(void *arg, const char *text); /* device printf; NULL: to stdout */
	void *print_arg;
	uint64_t clock_ns; /* %globaltimer's and %clock's start */
};

struct ptx_result {
	enum ptx_fault fault;
	char text[192]; /* what and where: kernel, block, thread, address */
	uint64_t warp_instructions;
	uint64_t thread_instructions;
	uint64_t global_bytes; /* read and written in global memory */
};

/* Runs blocks first .. first+count-1 (x fastest). Adds to the counters of *result and sets its
 * fault; the caller zeroes it. Returns result->fault. */
enum ptx_fault ptx_run(const struct ptx_launch *launch, uint64_t first, uint64_t count,
		       struct ptx_result *result);

#endif
