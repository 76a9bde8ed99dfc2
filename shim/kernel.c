/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predict_tag.h"

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

uint64_t kernel_digest(const void *handle)
{
	static const CUfunction_attribute attributes[] = {
		CU_FUNC_ATTRIBUTE_NUM_REGS,
		CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
		CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
		CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
		CU_FUNC_ATTRIBUTE_BINARY_VERSION,
		CU_FUNC_ATTRIBUTE_PTX_VERSION,
		CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
	};
	const char *name;
	CUfunction function = kernel_look(handle, &name);
	uint64_t digest;

	if (!function)
		return 0;
	digest = predict_text(name);
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		int value = 0;

		(void)real.cuFuncGetAttribute(&value, attributes[i], function);
		digest = predict_digest(digest, (uint64_t)value);
	}
	return digest;
}
