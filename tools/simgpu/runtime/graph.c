/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as a whole: creation, structure, instantiation, launch, user objects. */
#include "runtime.h"

_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
	       "same instantiation parameters");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
	       "same update result");
_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "same edge data");

RT_FORWARD(cudaGraphCreate, (cudaGraph_t * pGraph, unsigned int flags), cuGraphCreate, pGraph,
	   flags)
RT_FORWARD(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy, graph)
RT_FORWARD(cudaGraphClone, (cudaGraph_t * pGraphClone, cudaGraph_t originalGraph), cuGraphClone,
	   pGraphClone, originalGraph)
RT_FORWARD(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char *path, unsigned int flags),
	   cuGraphDebugDotPrint, graph, path, flags)

/* ---- structure ---- */

RT_FORWARD(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes),
	   cuGraphGetNodes, graph, nodes, numNodes)
RT_FORWARD(cudaGraphGetRootNodes,
	   (cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes),
	   cuGraphGetRootNodes, graph, pRootNodes, pNumRootNodes)
RT_FORWARD(cudaGraphGetEdges,
	   (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
	    cudaGraphEdgeData *edgeData, size_t *numEdges),
	   cuGraphGetEdges, graph, from, to, (CUgraphEdgeData *)edgeData, numEdges)
RT_FORWARD(cudaGraphAddDependencies,
	   (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
	    const cudaGraphEdgeData *edgeData, size_t numDependencies),
	   cuGraphAddDependencies, graph, from, to, (const CUgraphEdgeData *)edgeData,
	   numDependencies)
RT_FORWARD(cudaGraphRemoveDependencies,
	   (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
	    const cudaGraphEdgeData *edgeData, size_t numDependencies),
	   cuGraphRemoveDependencies, graph, from, to, (const CUgraphEdgeData *)edgeData,
	   numDependencies)
RT_FORWARD(cudaGraphNodeGetDependencies,
	   (cudaGraphNode_t node, cudaGraphNode_t *pDependencies, cudaGraphEdgeData *edgeData,
	    size_t *pNumDependencies),
	   cuGraphNodeGetDependencies, node, pDependencies, (CUgraphEdgeData *)edgeData,
	   pNumDependencies)
RT_FORWARD(cudaGraphNodeGetDependentNodes,
	   (cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes, cudaGraphEdgeData *edgeData,
	    size_t *pNumDependentNodes),
	   cuGraphNodeGetDependentNodes, node, pDependentNodes, (CUgraphEdgeData *)edgeData,
	   pNumDependentNodes)
RT_FORWARD(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *pType),
	   cuGraphNodeGetType, node, (CUgraphNodeType *)pType)
RT_FORWARD(cudaGraphNodeFindInClone,
	   (cudaGraphNode_t * pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph),
	   cuGraphNodeFindInClone, pNode, originalNode, clonedGraph)
RT_FORWARD(cudaGraphDestroyNode, (cudaGraphNode_t node), cuGraphDestroyNode, node)
RT_FORWARD(cudaGraphNodeSetEnabled,
	   (cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled),
	   cuGraphNodeSetEnabled, hGraphExec, hNode, isEnabled)
RT_FORWARD(cudaGraphNodeGetEnabled,
	   (cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int *isEnabled),
	   cuGraphNodeGetEnabled, hGraphExec, hNode, isEnabled)

/* ---- executable graphs ---- */

RT_FORWARD(cudaGraphInstantiate,
	   (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
	   cuGraphInstantiateWithFlags, pGraphExec, graph, flags)
RT_FORWARD(cudaGraphInstantiateWithFlags,
	   (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
	   cuGraphInstantiateWithFlags, pGraphExec, graph, flags)
RT_FORWARD_BOTH(cudaGraphInstantiateWithParams, _ptsz,
		(cudaGraphExec_t * pGraphExec, cudaGraph_t graph,
		 cudaGraphInstantiateParams *instantiateParams),
		cuGraphInstantiateWithParams, pGraphExec, graph,
		(CUDA_GRAPH_INSTANTIATE_PARAMS *)instantiateParams)
RT_FORWARD(cudaGraphExecGetFlags, (cudaGraphExec_t graphExec, unsigned long long *flags),
	   cuGraphExecGetFlags, graphExec, (cuuint64_t *)flags)
RT_FORWARD(cudaGraphExecDestroy, (cudaGraphExec_t graphExec), cuGraphExecDestroy, graphExec)
RT_FORWARD(cudaGraphExecUpdate,
	   (cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
	    cudaGraphExecUpdateResultInfo *resultInfo),
	   cuGraphExecUpdate, hGraphExec, hGraph, (CUgraphExecUpdateResultInfo *)resultInfo)
RT_FORWARD_BOTH(cudaGraphUpload, _ptsz, (cudaGraphExec_t graphExec, cudaStream_t stream),
		cuGraphUpload, graphExec, stream)
RT_FORWARD_BOTH(cudaGraphLaunch, _ptsz, (cudaGraphExec_t graphExec, cudaStream_t stream),
		cuGraphLaunch, graphExec, stream)

/* ---- user objects ---- */

RT_FORWARD(cudaUserObjectCreate,
	   (cudaUserObject_t * object_out, void *ptr, cudaHostFn_t destroy,
	    unsigned int initialRefcount, unsigned int flags),
	   cuUserObjectCreate, object_out, ptr, destroy, initialRefcount, flags)
RT_FORWARD(cudaUserObjectRetain, (cudaUserObject_t object, unsigned int count), cuUserObjectRetain,
	   object, count)
RT_FORWARD(cudaUserObjectRelease, (cudaUserObject_t object, unsigned int count),
	   cuUserObjectRelease, object, count)
RT_FORWARD(cudaGraphRetainUserObject,
	   (cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
	   cuGraphRetainUserObject, graph, object, count, flags)
RT_FORWARD(cudaGraphReleaseUserObject,
	   (cudaGraph_t graph, cudaUserObject_t object, unsigned int count),
	   cuGraphReleaseUserObject, graph, object, count)
