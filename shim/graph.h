/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_GRAPH_H
#define SHIM_GRAPH_H

/*
 * What a graph is made of, child graphs included, found by one walk over its nodes. What is known of
 * a kernel is remembered by its handle, so that a graph that is looked at again costs two calls of
 * the driver a node; a handle that comes back with another kernel is taken for the first, as it is
 * by the prediction's tags. Slow paths, between shim_enter and shim_leave; any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "real.h"

struct graph_facts {
	uint64_t digest;    /* alike in every run; 0: too large or not to be had */
	size_t nodes;	    /* that were looked at */
	bool is_collective; /* one of its kernels is (collective.h) */
};

void graph_look(CUgraph graph, struct graph_facts *ret_facts);

/* The kernel of a node: one that was set by its library's handle has no function. NULL: none. */
static inline const void *graph_kernel_of(const CUDA_KERNEL_NODE_PARAMS *params)
{
	return params->func ? (const void *)params->func : (const void *)params->kern;
}

bool graph_kernel_is_collective(const void *handle);

/* In a child of fork. */
void graph_forked(void);

#endif
