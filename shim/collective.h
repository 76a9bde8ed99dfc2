/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_COLLECTIVE_H
#define SHIM_COLLECTIVE_H

/*
 * Kernels that wait for their like on other GPUs (NCCL's, NVSHMEM's), known by their names: one that
 * is held keeps its peers running and waiting, which may be what it is held for. Also the graphs
 * that hold one. Code of a program's own that waits for other GPUs is not known; forward progress
 * is for that.
 *
 * Between shim_enter and shim_leave, any thread.
 */

#include <stdbool.h>

#include "sample.h"

/* Is it one of them? Asks the driver for a kernel's name. */
bool collective_is(struct sample_what what);
bool collective_is_kernel(const void *handle);

/* The lives of executable graphs: whether one holds any, graph.h says. */
void collective_graph_made(CUgraphExec exec, bool is_collective);
void collective_graph_gone(CUgraphExec exec);

void collective_forked(void);

#endif
