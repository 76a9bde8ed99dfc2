/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <stddef.h>
#include <stdint.h>

CUfunction kernel_look(const void *handle, const char **ret_name)
{
	CUfunction function = (CUfunction)(uintptr_t)handle;
	CUkernel kernel = (CUkernel)(uintptr_t)handle;

	*ret_name = NULL;
	if (real_has(cuFuncGetName) && real.cuFuncGetName(ret_name, function) == CUDA_SUCCESS)
		return *ret_name && **ret_name ? function : NULL;
	if (real.cuKernelGetName(ret_name, kernel) != CUDA_SUCCESS || !*ret_name || !**ret_name)
		return NULL;
	/* Before 12.0 there are no such kernels; where it fails, attributes stay unknown. */
	(void)real.cuKernelGetFunction(&function, kernel);
	return function;
}
