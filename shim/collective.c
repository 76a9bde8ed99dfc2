/* SPDX-License-Identifier: Apache-2.0 */
#include "collective.h"

#include <string.h>

#include "addrtable.h"
#include "kernel.h"

/* Executable graphs that hold one. */
static struct addrtable graphs;

/* ncclDevKernel_* and, before NCCL 2.19, ncclKernel_*; nvshmemi_*. C++ puts the length before. */
static bool is_collective_name(const char *name)
{
	if (!strncmp(name, "_Z", 2)) {
		name += 2;
		name += strspn(name, "0123456789");
	}
	return !strncmp(name, "nccl", 4) || !strncmp(name, "nvshmem", 7);
}

bool collective_is_kernel(const void *handle)
{
	const char *name = kernel_name(handle);

	return name && is_collective_name(name);
}

bool collective_is(struct sample_what what)
{
	uint64_t value;

	if (what.kind == PREDICT_KERNEL)
		return collective_is_kernel(what.handle);
	return what.kind == PREDICT_GRAPH &&
	       addrtable_find(&graphs, (uintptr_t)what.handle, &value);
}

/* ---- graphs ------------------------------------------------------------------------------------ */

void collective_graph_made(CUgraphExec exec, bool is_collective)
{
	/* A handle may come back with other work behind it. */
	collective_graph_gone(exec);
	if (is_collective)
		(void)addrtable_put(&graphs, (uintptr_t)exec, 1);
}

void collective_graph_gone(CUgraphExec exec)
{
	uint64_t value;

	(void)addrtable_take(&graphs, (uintptr_t)exec, &value);
}

void collective_forked(void)
{
	addrtable_forget(&graphs);
}
