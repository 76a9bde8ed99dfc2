/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The launch as it was before CUDA 4, deprecated since: shape and parameters are set one by one and
 * kept with the function. As in the driver, one function's are not for two threads at a time.
 */

#include <stdlib.h>
#include <string.h>

#include "driver/issue.h"
#include "driver/launch.h"

#define MAX_PARAM_BYTES 4096

struct launch_settings {
	struct launch_shape shape;
	unsigned int param_bytes;
	_Alignas(16) unsigned char param[MAX_PARAM_BYTES];
};

static CUresult settings_of(CUfunction handle, struct launch_settings **ret)
{
	struct sim_function *function = sim_function_get(handle);

	if (function == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (function->settings == NULL)
		function->settings = calloc(1, sizeof(*function->settings));
	*ret = function->settings;
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
	struct launch_settings *settings;
	CUresult result = settings_of(hfunc, &settings);

	if (result != CUDA_SUCCESS)
		return result;
	if (x <= 0 || y <= 0 || z <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	settings->shape.block[0] = (unsigned int)x;
	settings->shape.block[1] = (unsigned int)y;
	settings->shape.block[2] = (unsigned int)z;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
	struct launch_settings *settings;
	CUresult result = settings_of(hfunc, &settings);

	if (result == CUDA_SUCCESS)
		settings->shape.shared_bytes = bytes;
	return result;
}

CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
	struct launch_settings *settings;
	CUresult result = settings_of(hfunc, &settings);

	if (result == CUDA_SUCCESS && numbytes > MAX_PARAM_BYTES)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		settings->param_bytes = numbytes;
	return result;
}

CUresult cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
	struct launch_settings *settings;
	CUresult result = settings_of(hfunc, &settings);

	if (result != CUDA_SUCCESS)
		return result;
	if (ptr == NULL || offset < 0 || numbytes > MAX_PARAM_BYTES ||
	    (unsigned int)offset > MAX_PARAM_BYTES - numbytes)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(settings->param + offset, ptr, numbytes);
	return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
	return cuParamSetv(hfunc, offset, &value, sizeof(value));
}

CUresult cuParamSetf(CUfunction hfunc, int offset, float value)
{
	return cuParamSetv(hfunc, offset, &value, sizeof(value));
}

/* ---- launches ---- */

static CUresult launch_grid(CUfunction function, int width, int height, CUstream stream)
{
	struct launch_settings *settings;
	CUresult result = settings_of(function, &settings);
	const struct launch_shape *shape;
	size_t bytes;

	if (result != CUDA_SUCCESS)
		return result;
	if (width <= 0 || height <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	shape = &settings->shape;
	bytes = settings->param_bytes;
	return cuLaunchKernel(function, (unsigned int)width, (unsigned int)height, 1,
			      shape->block[0], shape->block[1], shape->block[2],
			      shape->shared_bytes, stream, NULL,
			      (void *[]){CU_LAUNCH_PARAM_BUFFER_POINTER, settings->param,
					 CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END});
}

CUresult cuLaunch(CUfunction f)
{
	return launch_grid(f, 1, 1, NULL);
}

CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
	return launch_grid(f, grid_width, grid_height, NULL);
}

CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
	return launch_grid(f, grid_width, grid_height, hStream);
}
