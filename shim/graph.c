/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <sys/mman.h>

#include "collective.h"
#include "futex.h"
#include "kernel.h"
#include "predict_tag.h"

#define NODES_MAX 65536u /* what comes behind is not looked at */
#define DEPTH_MAX 8	 /* of graphs in graphs */
#define KERNELS 1024u	 /* that are remembered; a power of two */

struct kernel_facts {
	const void *handle;
	uint64_t digest;
	bool is_collective;
};

static struct {
	struct futex_lock lock;
	struct kernel_facts kernel[KERNELS];
} remembered;

struct walk {
	struct graph_facts facts;
	bool is_cut;
};

static struct kernel_facts kernel_facts(const void *handle)
{
	struct kernel_facts *place =
		&remembered.kernel[predict_digest(1, (uintptr_t)handle) & (KERNELS - 1)];
	struct kernel_facts facts;

	futex_lock(&remembered.lock);
	facts = *place;
	futex_unlock(&remembered.lock);
	if (facts.handle == handle)
		return facts;
	facts = (struct kernel_facts){.handle = handle,
				      .digest = kernel_digest(handle),
				      .is_collective = collective_is_kernel(handle)};
	futex_lock(&remembered.lock);
	*place = facts;
	futex_unlock(&remembered.lock);
	return facts;
}

bool graph_kernel_is_collective(const void *handle)
{
	return kernel_facts(handle).is_collective;
}

static uint64_t graph_walk(struct walk *walk, CUgraph graph, int depth);

static uint64_t kernel_node_look(struct walk *walk, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS params = {0};
	struct kernel_facts kernel;
	const void *handle;

	if (real.cuGraphKernelNodeGetParams_v2(node, &params) != CUDA_SUCCESS)
		return CU_GRAPH_NODE_TYPE_KERNEL;
	handle = graph_kernel_of(&params);
	if (!handle)
		return CU_GRAPH_NODE_TYPE_KERNEL;
	kernel = kernel_facts(handle);
	walk->facts.is_collective |= kernel.is_collective;
	return predict_digest(kernel.digest,
			      predict_kernel_tag(NULL, params.gridDimX, params.gridDimY,
						 params.gridDimZ, params.blockDimX,
						 params.blockDimY, params.blockDimZ,
						 params.sharedMemBytes));
}

static uint64_t node_look(struct walk *walk, CUgraphNode node, int depth)
{
	CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
	CUgraph child;

	(void)real.cuGraphNodeGetType(node, &type);
	if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
	    real.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
		return predict_digest(type, graph_walk(walk, child, depth + 1));
	return type == CU_GRAPH_NODE_TYPE_KERNEL ? kernel_node_look(walk, node) : type;
}

/* The sum over its nodes: the order in which the driver lists them need not be the same. */
static uint64_t graph_walk(struct walk *walk, CUgraph graph, int depth)
{
	size_t count = 0, bytes, left = NODES_MAX - walk->facts.nodes;
	CUgraphNode *node;
	uint64_t digest = 0;

	if (depth > DEPTH_MAX || real.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS)
		walk->is_cut = true;
	if (count > left) {
		walk->is_cut = true;
		count = left;
	}
	bytes = count * sizeof(*node);
	if (!count || depth > DEPTH_MAX)
		return 0;
	node = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (node == MAP_FAILED || real.cuGraphGetNodes(graph, node, &count) != CUDA_SUCCESS) {
		walk->is_cut = true;
		count = 0;
	}
	walk->facts.nodes += count;
	for (size_t i = 0; i < count; i++)
		digest += node_look(walk, node[i], depth);
	if (node != MAP_FAILED)
		munmap(node, bytes);
	return predict_digest(digest, count);
}

void graph_look(CUgraph graph, struct graph_facts *ret_facts)
{
	struct walk walk = {0};
	uint64_t digest = graph_walk(&walk, graph, 0);

	if (walk.facts.nodes && !walk.is_cut)
		walk.facts.digest = digest;
	*ret_facts = walk.facts;
}

void graph_forked(void)
{
	remembered.lock = (struct futex_lock){0};
}
