/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_OPTIONS_H
#define SIMGPU_OPTIONS_H

/*
 * Reads the environment of the simulated driver, once, in cuInit (state lock held). Private to the
 * core half; what both halves need is struct sim_options in sim.h.
 *
 *	SIMGPU_CONFIG=FILE    description of the device
 *	SIMGPU_PRESET=NAME    or one of the presets (h100, the default; a100, l4)
 *	SIMGPU_PRESET_DIR=DIR where presets are, if not beside this library
 *	SIMGPU_INSTANCE=NAME  processes with one name share one device; "default"
 *	SIMGPU_DEVICES=N      number of identical devices; 1
 *	SIMGPU_MPS=0|1        instead of the description's `mps`
 *	SIMGPU_COSTS=FILE     cost table; else the description's own `costs`
 *	SIMGPU_THREADS=N      host threads that compute results; the cores
 *	SIMGPU_REPORT=FILE    counters written at exit
 *	SIMGPU_TIMING_ONLY=1  kernels without PTX run as no-ops
 *	CUDA_VISIBLE_DEVICES  ordinals, as the real driver's
 *	CUDA_MPS_CLIENT_PRIORITY=0|1  1: SMs go to processes without it first, as with MPS
 */

#include "device/desc.h"
#include "driver/state.h"

struct options {
	struct sim_options shared;
	char config_path[4096]; /* the description that was read */
	char instance[65];
	struct model_desc desc;
	int physical[SIM_MAX_DEVICES]; /* visible devices */
	int devices;
};

/* On error one line has been written to stderr. CUDA_ERROR_INVALID_VALUE: a value that cannot be;
 * CUDA_ERROR_NO_DEVICE: no device visible, or no description of it. */
CUresult options_read(struct options *ret_options);

#endif
