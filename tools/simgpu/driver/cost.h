/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_COST_H
#define SIMGPU_COST_H

/*
 * How long kernels take: from the cost table (SIMGPU_COSTS, or the list `costs` of the device's
 * description), else from the instructions and bytes of the run itself, remembered per function,
 * grid and block so that the next launch is submitted with a known duration.
 *
 *	costs = (
 *		{ kernel = "gemm_*"; grid = [ 64, 1, 1 ]; duration_us = 120.0; sms = 80; },
 *		{ kernel = "conv3x3"; block_us = 5.0; blocks_per_sm = 2; }
 *	);
 *
 * `kernel` is a shell pattern for the name, or for the plain identifier in a mangled C++ name.
 * `grid` is optional. The first entry that matches counts. A table is immutable; the memory of
 * runs wants exec->lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/model.h"

struct cost_table;
struct exec;
struct op;
struct sim_function;
struct work_kernel;

#define COST_ERROR_MAX 256

struct cost {
	bool whole; /* duration_ns for the kernel, on `sms` SMs; else per block */
	uint64_t duration_ns;
	uint32_t sms, blocks_per_sm;
};

/* 0, or -errno and "FILE:LINE: ..." in ret_error. */
int cost_table_load(const char *path, struct cost_table **ret_table,
		    char ret_error[COST_ERROR_MAX]);
void cost_table_free(struct cost_table *table);
bool cost_find(const struct cost_table *table, const char *name, const uint32_t grid[3],
	       struct cost *ret_cost);
/* The last identifier of an Itanium-mangled name, without its template arguments. */
bool cost_plain_name(const char *mangled, char *ret_name, size_t room);

const char *cost_name(const struct sim_function *function);
/* Whether all blocks of a cooperative kernel can be resident. */
bool cost_fits_at_once(const struct exec *exec, const struct work_kernel *kernel);
int cost_memory_create(struct exec *exec);
/* Fills a kernel's shape and duration; block_ns is MODEL_UNKNOWN before its first run. */
void cost_describe(const struct op *op, struct model_op_desc *desc);
/* Cuts the kernel for the host's threads. */
void cost_chunks(struct op *op);
/* Of the host, at most, by the runs so far; UINT64_MAX: too few to say. */
uint64_t cost_host_ns(const struct op *op);
/* After its run: remembers, and returns the block_ns. */
uint64_t cost_learn(struct op *op);

#endif
