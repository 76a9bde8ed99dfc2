/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_STATE_H
#define SIMGPU_STATE_H

/*
 * What the core half keeps per process: whether cuInit ran, the devices, the lock that changes of
 * contexts and devices hold. Private to the core half.
 *
 * Locks, outermost first: the state lock (contexts begin and end under it, so that it is held
 * while the work of a context drains), a context's lock, the memory lock, the segment's.
 */

#include "driver/sim.h"

#define SIM_DRIVER_VERSION 13000
#define SIM_MAX_DEVICES 16

/* CUDA_ERROR_NOT_INITIALIZED before cuInit, and in a child of a process that used the GPU. */
CUresult state_ready(void);

/* Devices in the order of CUDA_VISIBLE_DEVICES. NULL: no such ordinal. */
struct sim_device *state_device(int ordinal);
int state_devices(void);

void state_lock(void);
void state_unlock(void);

/* Makes this process a user of the device, which costs the context's memory; once. The state
 * lock is held. CUDA_ERROR_OUT_OF_MEMORY where the device is full. */
CUresult state_attach(struct sim_device *device);

#endif
