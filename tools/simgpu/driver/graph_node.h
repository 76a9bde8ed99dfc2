/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_GRAPH_NODE_H
#define SIMGPU_GRAPH_NODE_H

/* From the parameter structures of graph nodes to work, checked. */

#include "driver/graph.h"

CUresult node_kernel_work(const CUDA_KERNEL_NODE_PARAMS *params, struct work *ret_work);
CUresult node_kernel_work_1(const CUDA_KERNEL_NODE_PARAMS_v1 *params, struct work *ret_work);
CUresult node_copy_work(const CUDA_MEMCPY3D *params, struct work *ret_work);
CUresult node_set_work(const CUDA_MEMSET_NODE_PARAMS *params, struct work *ret_work);
CUresult node_host_work(const CUDA_HOST_NODE_PARAMS *params, struct work *ret_work);
CUresult node_event_work(CUevent handle, enum work_kind kind, struct work *ret_work);
CUresult node_child_work(CUgraph handle, struct work *ret_work);
CUresult node_alloc_work(struct sim_context *context, const CUmemPoolProps *props, size_t bytes,
			 struct work *ret_work);
/* Gives a node of that type new work, which it takes over. */
CUresult node_set(struct graph_node *node, CUgraphNodeType type, struct work *work);

#endif
