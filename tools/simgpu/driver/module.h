/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_MODULE_H
#define SIMGPU_MODULE_H

/*
 * Modules: code loaded into one context, and libraries: code loaded for all, which gets a module
 * of its own (an instance, with its own variables) in each context that uses it. Structures of
 * unloaded ones stay in the process, inert, so that a stale handle answers an error. Private to
 * the core half.
 *
 * Locks: a library's lock, inside it a context's and the memory lock.
 */

#include "driver/state.h"

struct sim_library {
	uint32_t magic;
	pthread_mutex_t lock;
	struct sim_module *kernels;   /* its functions are the CUkernels; its context is NULL */
	char *text;		      /* for further instances */
	struct sim_module *lent_to;   /* instance that uses the PTX of `kernels`; NULL: none */
	struct sim_module *instances; /* by sibling */
	_Atomic(struct sim_module *) latest;
	struct sim_library *next;
};

/* How a program asked for the code to be made, and where it wants to read what went wrong. */
struct module_options {
	unsigned int count;
	CUjit_option *option;
	void **value;
};

struct module_source {
	const void *image;
	uint64_t bytes;
	struct module_options options;
};

/* Finds the code and parses it, for the compute capability of the devices. The functions are
 * there, variables have no place yet. `where` names the call, for the message. */
CUresult module_read(const struct module_source *source, const char *where,
		     struct sim_module **ret_module, char **ret_text);
/* Takes parsed code over; NULL: no memory, and the code is still the caller's. */
struct sim_module *module_wrap(struct ptx_module *ptx, int ptx_version, bool timing_only);
/* Puts it into a context: gives its variables memory and their first values. */
CUresult module_place(struct sim_module *module, struct sim_context *context);
/* Waits for what runs its code, frees variables and code. */
void module_retire(struct sim_module *module);

struct sim_module *module_get(CUmodule handle); /* NULL: none, or unloaded */
struct sim_function *module_find(struct sim_module *module, const char *name);
/* A variable by name. CUDA_ERROR_NOT_FOUND. Outputs may be NULL. */
CUresult module_find_global(struct sim_module *module, const char *name, bool managed_only,
			    CUdeviceptr *ret_address, size_t *ret_bytes);

struct sim_library *library_get(CUlibrary handle);
/* The library's module in a context, made if need be. */
CUresult library_instance(struct sim_library *library, struct sim_context *context,
			  struct sim_module **ret_module);
void library_drop_context(struct sim_context *context);

/* All modules and instances of a context that goes. */
void module_drop_context(struct sim_context *context);

#endif
