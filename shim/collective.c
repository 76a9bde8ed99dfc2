/* SPDX-License-Identifier: Apache-2.0 */
#include "collective.h"

#include <string.h>
#include <sys/mman.h>

#include "addrtable.h"
#include "kernel.h"

#define NODES_MAX 65536u /* of a graph; what comes behind is not looked at */
#define DEPTH_MAX 8	 /* of graphs in graphs */

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

static bool is_collective_kernel(CUfunction function)
{
	const char *name = kernel_name(function);

	return name && is_collective_name(name);
}

bool collective_is(struct sample_what what)
{
	uint64_t value;

	if (what.kind == PREDICT_KERNEL)
		return is_collective_kernel((CUfunction)(uintptr_t)what.handle);
	return what.kind == PREDICT_GRAPH &&
	       addrtable_find(&graphs, (uintptr_t)what.handle, &value);
}

/* ---- graphs ------------------------------------------------------------------------------------ */

static bool has_collective(CUgraph graph, int depth);

static bool is_collective_node(CUgraphNode node, int depth)
{
	CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
	CUDA_KERNEL_NODE_PARAMS kernel = {0};
	CUgraph child;

	(void)real.cuGraphNodeGetType(node, &type);
	if (type == CU_GRAPH_NODE_TYPE_GRAPH)
		return real.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS &&
		       has_collective(child, depth + 1);
	return type == CU_GRAPH_NODE_TYPE_KERNEL &&
	       real.cuGraphKernelNodeGetParams_v2(node, &kernel) == CUDA_SUCCESS &&
	       is_collective_kernel(kernel.func ? kernel.func : (CUfunction)kernel.kern);
}

static bool has_collective(CUgraph graph, int depth)
{
	size_t count = 0, bytes;
	bool found = false;
	CUgraphNode *node;

	if (depth > DEPTH_MAX || real.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS ||
	    !count)
		return false;
	if (count > NODES_MAX)
		count = NODES_MAX;
	bytes = count * sizeof(*node);
	node = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (node == MAP_FAILED)
		return false;
	if (real.cuGraphGetNodes(graph, node, &count) == CUDA_SUCCESS) {
		for (size_t i = 0; i < count && !found; i++)
			found = is_collective_node(node[i], depth);
	}
	munmap(node, bytes);
	return found;
}

void collective_graph_made(CUgraphExec exec, CUgraph graph)
{
	/* A handle may come back with other work behind it. */
	collective_graph_gone(exec);
	if (has_collective(graph, 0))
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
