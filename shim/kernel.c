/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static const char *look_name(const void *handle, bool *ret_is_function)
{
	CUfunction function = (CUfunction)(uintptr_t)handle;
	const char *name = NULL;

	*ret_is_function =
		real_has(cuFuncGetName) && real.cuFuncGetName(&name, function) == CUDA_SUCCESS;
	if (!*ret_is_function &&
	    real.cuKernelGetName(&name, (CUkernel)(uintptr_t)handle) != CUDA_SUCCESS)
		return NULL;
	return name && *name ? name : NULL;
}

const char *kernel_name(const void *handle)
{
	bool is_function;

	return look_name(handle, &is_function);
}

CUfunction kernel_look(const void *handle, const char **ret_name)
{
	CUfunction function = (CUfunction)(uintptr_t)handle;
	bool is_function;

	*ret_name = look_name(handle, &is_function);
	if (!*ret_name || is_function)
		return *ret_name ? function : NULL;
	/* Before 12.0 there are no such kernels; where it fails, attributes stay unknown. */
	(void)real.cuKernelGetFunction(&function, (CUkernel)(uintptr_t)handle);
	return function;
}
