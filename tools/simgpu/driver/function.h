/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_FUNCTION_H
#define SIMGPU_FUNCTION_H

/* Functions of modules and kernels of libraries: one struct. Private to the core half. */

#include "driver/state.h"

void function_init(struct sim_function *function, struct sim_module *module,
		   const struct ptx_function *ptx);
void function_copy_settings(struct sim_function *to, const struct sim_function *from);
/* A function or a kernel as it is, without looking for it in the current context. NULL: none. */
struct sim_function *function_look(const void *handle);
bool function_is_kernel(const struct sim_function *function);
/* A kernel's function in a context. */
CUresult function_bind(struct sim_function *kernel, struct sim_context *context,
		       struct sim_function **ret_function);

/* Of either. */
CUresult function_get_attribute(int *ret, CUfunction_attribute attribute,
				const struct sim_function *function);
CUresult function_set_attribute(CUfunction_attribute attribute, int value,
				struct sim_function *function, const char *where);
CUresult function_get_name(const char **ret_name, const void *handle);
CUresult function_get_param(const void *handle, size_t index, size_t *ret_offset, size_t *ret_size);

#endif
