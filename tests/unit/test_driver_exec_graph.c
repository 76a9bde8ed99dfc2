/* SPDX-License-Identifier: Apache-2.0 */

/* Capture, what it forbids, graphs built by hand, instantiation, launches and changes. */

#include "exec_fixture.h"

#include <pthread.h>

static uint32_t *pinned;

static CUgraph begin_fork_join(void)
{
	CUgraph graph;

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	exec_run(w.inc, w.a, 1, 1, 1);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda(cuStreamWaitEvent(w.b, w.event[0], 0));
	exec_busy(w.spin, w.b);
	exec_busy(w.spin, w.a);
	ck_cuda(cuEventRecord(w.event[1], w.b));
	ck_cuda(cuStreamWaitEvent(w.a, w.event[1], 0));
	exec_run(w.mul, w.a, 2, 1, 1);
	ck_cuda(cuMemcpyDtoHAsync_v2(pinned, w.data, 4, w.a));
	ck_cuda(cuStreamEndCapture(w.a, &graph));
	return graph;
}

START_TEST(test_capture_and_replay)
{
	CUgraphExec exec;
	CUgraph graph;
	size_t count;

	ck_cuda(cuMemHostAlloc((void **)&pinned, 4096, 0));
	graph = begin_fork_join();
	/* Nothing has run. */
	ck_cuda(cuCtxSynchronize());
	ck_assert_uint_eq(exec_peek(0), 0);
	ck_cuda(cuGraphGetNodes(graph, NULL, &count));
	ck_assert_uint_eq(count, 5);
	ck_cuda(cuGraphGetEdges(graph, NULL, NULL, &count));
	ck_assert_uint_eq(count, 5);
	ck_cuda(cuGraphGetRootNodes(graph, NULL, &count));
	ck_assert_uint_eq(count, 1);
	ck_cuda(cuGraphInstantiateWithFlags(&exec, graph, 0));
	ck_cuda(cuGraphDestroy(graph));
	exec_gate(w.c, NULL);
	ck_cuda(cuEventRecord(w.event[2], w.c));
	ck_cuda(cuGraphLaunch(exec, w.c));
	ck_cuda(cuEventRecord(w.event[3], w.c));
	ck_cuda(cuGraphLaunch(exec, w.c));
	exec_open();
	ck_cuda(cuStreamSynchronize(w.c));
	ck_assert_uint_eq(*pinned, ((0 + 1) * 2 + 1) * 2);
	/* The branches overlapped. */
	ck_assert_int_ge(exec_us(2, 3), SPIN_US);
	if (!exec_world_was_late())
		ck_assert_int_lt(exec_us(2, 3), SPIN_US + 1000);
	ck_cuda(cuGraphExecDestroy(exec));
	ck_cuda(cuMemFreeHost(pinned));
}
END_TEST

START_TEST(test_launches_of_one_graph_do_not_overlap)
{
	CUgraphExec exec;
	CUgraph graph;

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	exec_busy(w.spin, w.a);
	ck_cuda(cuStreamEndCapture(w.a, &graph));
	ck_cuda(cuGraphInstantiateWithFlags(&exec, graph, 0));
	exec_gate(w.a, NULL);
	ck_cuda(cuGraphLaunch(exec, w.a));
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda(cuGraphLaunch(exec, w.b));
	ck_cuda(cuEventRecord(w.event[1], w.b));
	exec_open();
	ck_cuda(cuCtxSynchronize());
	ck_us(0, 1, SPIN_US + GAP_US);
	ck_cuda(cuGraphLaunch(exec, w.a));
	/* Both may go while it runs. */
	ck_cuda(cuGraphExecDestroy(exec));
	ck_cuda(cuGraphDestroy(graph));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_cuda_is(cuGraphLaunch(NULL, w.a), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* ---- what is forbidden ---- */

static void check_ended(CUstream stream, CUresult expected)
{
	CUgraph graph = (CUgraph)w.context;
	CUstreamCaptureStatus status;

	ck_cuda_is(cuStreamEndCapture(stream, &graph), expected);
	ck_assert_ptr_null(graph);
	ck_cuda(cuStreamIsCapturing(stream, &status));
	ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

START_TEST(test_forbidden_on_the_stream)
{
	CUstreamCaptureStatus status;
	uint32_t word;

	ck_cuda_is(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
		   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_cuda_is(cuStreamEndCapture(w.a, NULL), CUDA_ERROR_ILLEGAL_STATE);

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ck_cuda_is(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_GLOBAL),
		   CUDA_ERROR_ILLEGAL_STATE);
	ck_cuda_is(cuStreamSynchronize(w.a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_cuda(cuStreamIsCapturing(w.a, &status));
	ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	ck_cuda_is(exec_try(w.fill, w.a, w.data, 0, 0, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	check_ended(w.a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ck_cuda_is(cuStreamQuery(w.a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	check_ended(w.a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	ck_cuda(cuStreamBeginCapture_v2(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ck_cuda_is(cuMemcpyDtoH_v2_ptds(&word, w.data, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	check_ended(CU_STREAM_PER_THREAD, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(test_forbidden_around)
{
	CUdeviceptr place;
	CUstream blocking;

	/* Work in the legacy stream would wait for the capturing one. */
	ck_cuda(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	ck_cuda(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
	ck_cuda_is(cuMemsetD8_v2(w.data, 1, 4), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	check_ended(blocking, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_RELAXED));
	ck_cuda(cuMemsetD8_v2(w.data, 1, 4));
	ck_cuda(cuMemAlloc_v2(&place, 16));
	ck_cuda(cuEventQuery(w.event[4]));
	ck_cuda(cuStreamEndCapture(w.a, NULL)); /* nobody wants it */

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ck_cuda_is(cuMemAlloc_v2(&place, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	check_ended(w.a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ck_cuda_is(cuEventQuery(w.event[4]), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	check_ended(w.a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ck_cuda(cuStreamDestroy_v2(blocking));
}
END_TEST

START_TEST(test_forbidden_events)
{
	CUgraph graph;

	exec_busy(w.fill, w.c);
	ck_cuda(cuEventRecord(w.event[5], w.c));
	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_RELAXED));
	ck_cuda_is(cuStreamWaitEvent(w.a, w.event[5], 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	check_ended(w.a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_RELAXED));
	exec_busy(w.fill, w.a);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda_is(cuEventQuery(w.event[0]), CUDA_ERROR_CAPTURED_EVENT);
	ck_cuda_is(cuEventSynchronize(w.event[0]), CUDA_ERROR_CAPTURED_EVENT);
	ck_cuda(cuStreamBeginCapture_v2(w.b, CU_STREAM_CAPTURE_MODE_RELAXED));
	ck_cuda_is(cuStreamWaitEvent(w.b, w.event[0], 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
	check_ended(w.a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	check_ended(w.b, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_RELAXED));
	exec_busy(w.fill, w.a);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda(cuStreamWaitEvent(w.b, w.event[0], 0));
	ck_cuda_is(cuStreamEndCapture(w.b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	check_ended(w.a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_RELAXED));
	exec_busy(w.fill, w.a);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda(cuStreamWaitEvent(w.b, w.event[0], 0));
	exec_busy(w.fill, w.b);
	check_ended(w.a, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	ck_cuda(cuStreamSynchronize(w.b));
}
END_TEST

static CUresult seen[4];

static void *in_another_thread(void *arg)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUgraph graph;

	ck_cuda(cuCtxSetCurrent(w.context));
	seen[0] = cuStreamEndCapture(w.a, &graph);
	ck_cuda(cuThreadExchangeStreamCaptureMode(&mode));
	ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	seen[1] = cuEventQuery(w.event[7]);
	ck_cuda(cuThreadExchangeStreamCaptureMode(&mode));
	seen[2] = cuEventQuery(w.event[7]);
	return NULL;
}

START_TEST(test_other_threads)
{
	pthread_t thread;
	CUgraph graph;

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	ck_assert_int_eq(pthread_create(&thread, NULL, in_another_thread, NULL), 0);
	pthread_join(thread, NULL);
	ck_cuda_is(seen[0], CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	ck_cuda_is(seen[1], CUDA_SUCCESS);
	ck_cuda_is(seen[2], CUDA_SUCCESS);
	ck_cuda(cuStreamEndCapture(w.a, &graph));
	ck_cuda(cuGraphDestroy(graph));
	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ck_assert_int_eq(pthread_create(&thread, NULL, in_another_thread, NULL), 0);
	pthread_join(thread, NULL);
	ck_cuda_is(seen[1], CUDA_SUCCESS);
	ck_cuda_is(seen[2], CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	check_ended(w.a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

/* ---- graphs by hand ---- */

static CUgraphNode add_sized(CUgraph graph, CUfunction function, uint64_t value, uint64_t words,
			     CUgraphNode dep)
{
	uint64_t none = 0;
	void *params[] = {&w.data, &value, &words, &none};
	CUDA_KERNEL_NODE_PARAMS_v1 node = {
		.func = function,
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = params,
	};
	CUgraphNode added;

	ck_cuda(cuGraphAddKernelNode(&added, graph, &dep, dep != NULL, &node));
	return added;
}

static CUgraphNode add_kernel(CUgraph graph, CUfunction function, uint64_t value, CUgraphNode dep)
{
	return add_sized(graph, function, value, 1, dep);
}

static int calls;

static void CUDA_CB count_call(void *arg)
{
	calls += (int)(intptr_t)arg;
}

START_TEST(test_nodes_of_all_kinds)
{
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = w.data, .value = 5, .elementSize = 4, .width = 1, .height = 1};
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = w.data,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = w.data + 64,
			      .WidthInBytes = 4,
			      .Height = 1,
			      .Depth = 1};
	CUDA_HOST_NODE_PARAMS host = {.fn = count_call, .userData = (void *)3};
	CUgraphNode node[8], child_node;
	CUgraph graph, child;
	CUgraphNodeType type;
	CUgraphExec exec;
	size_t count = 1;

	calls = 0;
	ck_cuda(cuGraphCreate(&child, 0));
	ck_cuda(cuGraphCreate(&graph, 0));
	ck_cuda(cuGraphAddMemsetNode(&node[0], graph, NULL, 0, &set, w.context));
	add_kernel(child, w.mul, 3, add_kernel(child, w.inc, 1, NULL));
	ck_cuda(cuGraphAddChildGraphNode(&child_node, graph, node, 1, child));
	ck_cuda(cuGraphDestroy(child));
	ck_cuda(cuGraphAddEmptyNode(&node[1], graph, &child_node, 1));
	ck_cuda(cuGraphAddMemcpyNode(&node[2], graph, &node[1], 1, &copy, w.context));
	ck_cuda(cuGraphAddHostNode(&node[3], graph, &node[2], 1, &host));
	ck_cuda(cuGraphAddEventRecordNode(&node[4], graph, &node[3], 1, w.event[6]));
	ck_cuda(cuGraphNodeGetType(child_node, &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_GRAPH);
	ck_cuda(cuGraphNodeGetDependencies(node[2], &child_node, &count));
	ck_assert_uint_eq(count, 1);
	ck_assert_ptr_eq(child_node, node[1]);
	ck_cuda(cuGraphInstantiateWithFlags(&exec, graph, 0));
	ck_cuda(cuGraphLaunch(exec, w.a));
	ck_cuda(cuEventSynchronize(w.event[6]));
	ck_assert_int_eq(calls, 3);
	ck_assert_uint_eq(exec_peek(0), 18);
	ck_assert_uint_eq(exec_peek(16), 18);
	ck_cuda(cuGraphExecDestroy(exec));
	ck_cuda(cuGraphDestroy(graph));
	ck_cuda_is(cuGraphAddEmptyNode(&node[1], NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(test_structure)
{
	CUgraphNode a, b, c, found;
	CUgraphExec exec;
	CUgraph graph, clone;
	size_t count;

	ck_cuda(cuGraphCreate(&graph, 0));
	a = add_kernel(graph, w.fill, 1, NULL);
	b = add_kernel(graph, w.fill, 2, a);
	c = add_kernel(graph, w.fill, 3, b);
	ck_cuda(cuGraphClone(&clone, graph));
	ck_cuda(cuGraphNodeFindInClone(&found, b, clone));
	ck_assert_ptr_ne(found, b);
	ck_cuda_is(cuGraphNodeFindInClone(&found, found, clone), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuGraphNodeGetDependentNodes(a, NULL, &count));
	ck_assert_uint_eq(count, 1);
	ck_cuda_is(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuGraphAddDependencies(graph, &c, &a, 1)); /* a cycle */
	ck_cuda_is(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuGraphRemoveDependencies(graph, &c, &a, 1));
	ck_cuda_is(cuGraphRemoveDependencies(graph, &c, &a, 1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuGraphDestroyNode(b));
	ck_cuda(cuGraphGetRootNodes(graph, NULL, &count));
	ck_assert_uint_eq(count, 2);
	ck_cuda(cuGraphDestroy(graph));
	ck_cuda(cuGraphInstantiateWithFlags(&exec, clone, 0));
	ck_cuda(cuGraphDestroy(clone));
	ck_cuda(cuGraphLaunch(exec, NULL));
	ck_cuda(cuCtxSynchronize());
	ck_assert_uint_eq(exec_peek(0), 3);
	ck_cuda(cuGraphExecDestroy(exec));
}
END_TEST

START_TEST(test_changes_of_an_executable_graph)
{
	uint64_t value = 50, one = 1, none = 0;
	void *params[] = {&w.data, &value, &one, &none};
	CUDA_KERNEL_NODE_PARAMS_v1 node = {.func = w.fill,
					   .gridDimX = 1,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 1,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = params};
	CUgraphExecUpdateResultInfo info;
	CUgraphNode first, second;
	CUgraph graph, other;
	CUgraphExec exec;

	ck_cuda(cuGraphCreate(&graph, 0));
	first = add_kernel(graph, w.fill, 1, NULL);
	second = add_kernel(graph, w.inc, 2, first);
	ck_cuda(cuGraphInstantiateWithFlags(&exec, graph, 0));
	ck_cuda(cuGraphExecKernelNodeSetParams(exec, first, &node));
	ck_cuda(cuGraphLaunch(exec, w.a));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(0), 52);
	ck_cuda(cuGraphNodeSetEnabled(exec, second, 0));
	ck_cuda(cuGraphLaunch(exec, w.a));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(0), 50);
	ck_cuda(cuGraphNodeSetEnabled(exec, second, 1));
	ck_cuda(cuGraphCreate(&other, 0));
	add_kernel(other, w.mul, 4, add_kernel(other, w.fill, 10, NULL));
	ck_cuda(cuGraphExecUpdate_v2(exec, other, &info));
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	ck_cuda(cuGraphLaunch(exec, w.a));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(0), 40);
	add_kernel(other, w.mul, 4, NULL);
	ck_cuda_is(cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	ck_cuda(cuGraphDestroy(other));
	ck_cuda(cuGraphDestroy(graph));
	ck_cuda(cuGraphExecDestroy(exec));
}
END_TEST

START_TEST(test_a_wide_graph_captured_in_a_graph)
{
	CUgraphNode last = NULL;
	CUgraph wide, outer;
	CUgraphExec inner, exec;

	/* More branches than lanes. */
	ck_cuda(cuGraphCreate(&wide, 0));
	for (int i = 0; i < 50; i++)
		last = add_sized(wide, w.inc, 0, 0, i % 5 ? last : NULL);
	ck_cuda(cuGraphInstantiateWithFlags(&inner, wide, 0));
	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_RELAXED));
	exec_run(w.fill, w.a, 8, 1, 1);
	ck_cuda(cuGraphLaunch(inner, w.a));
	exec_run(w.mul, w.a, 2, 1, 1);
	ck_cuda(cuStreamEndCapture(w.a, &outer));
	ck_cuda(cuGraphInstantiateWithFlags(&exec, outer, 0));
	for (int i = 0; i < 20; i++)
		ck_cuda(cuGraphLaunch(exec, w.a));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(0), 16);
	ck_cuda(cuGraphExecDestroy(inner));
	ck_cuda(cuGraphExecDestroy(exec));
	ck_cuda(cuGraphDestroy(wide));
	ck_cuda(cuGraphDestroy(outer));
}
END_TEST

START_TEST(test_allocations_in_a_capture)
{
	CUdeviceptr place, after;
	CUgraphExec exec;
	CUgraph graph;
	size_t before = fixture_free_bytes();

	ck_cuda(cuStreamBeginCapture_v2(w.a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ck_cuda(cuMemAllocAsync(&place, 64 << 20, w.a));
	ck_cuda(exec_try(w.fill, w.a, place, 77, 1, 1));
	ck_cuda(cuMemcpyDtoDAsync_v2(w.data, place, 4, w.a));
	ck_cuda(cuMemFreeAsync(place, w.a));
	ck_cuda(cuStreamEndCapture(w.a, &graph));
	ck_cuda(cuGraphInstantiateWithFlags(&exec, graph, 0));
	ck_cuda(cuGraphDestroy(graph));
	for (int i = 0; i < 3; i++)
		ck_cuda(cuGraphLaunch(exec, w.a));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(0), 77);
	ck_assert_uint_lt(fixture_free_bytes(), before);
	ck_cuda(cuGraphExecDestroy(exec));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda(cuMemAlloc_v2(&after, 64 << 20));
	ck_cuda(cuMemFree_v2(after));
}
END_TEST

START_TEST(test_nodes_by_one_structure)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
	CUkernelNodeAttrValue attribute = {.priority = -3}, back;
	CUDA_KERNEL_NODE_PARAMS_v1 kernel;
	CUgraphEdgeData edge = {.from_port = 1};
	CUgraphNode set, inc, host;
	CUgraph graph;
	CUgraphExec exec;

	calls = 0;
	ck_cuda(cuGraphCreate(&graph, 0));
	params.memset.dst = w.data;
	params.memset.value = 20;
	params.memset.elementSize = 4;
	params.memset.width = params.memset.height = 1;
	ck_cuda(cuGraphAddNode_v2(&set, graph, NULL, NULL, 0, &params));
	inc = add_kernel(graph, w.inc, 2, set);
	ck_cuda(cuGraphKernelNodeSetAttribute(inc, CU_LAUNCH_ATTRIBUTE_PRIORITY, &attribute));
	ck_cuda(cuGraphKernelNodeGetAttribute(inc, CU_LAUNCH_ATTRIBUTE_PRIORITY, &back));
	ck_assert_int_eq(back.priority, -3);
	ck_cuda(cuGraphKernelNodeGetParams(inc, &kernel));
	ck_assert_uint_eq(*(uint64_t *)kernel.kernelParams[1], 2);
	memset(&params, 0, sizeof(params));
	params.type = CU_GRAPH_NODE_TYPE_HOST;
	params.host.fn = count_call;
	params.host.userData = (void *)1;
	ck_cuda_is(cuGraphAddNode_v2(&host, graph, &inc, &edge, 1, &params),
		   CUDA_ERROR_NOT_SUPPORTED);
	ck_cuda(cuGraphAddNode(&host, graph, &inc, 1, &params));
	params.host.userData = (void *)5;
	ck_cuda(cuGraphNodeSetParams(host, &params));
	ck_cuda_is(cuGraphNodeSetParams(inc, &params), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuGraphInstantiateWithFlags(&exec, graph, 0));
	ck_cuda(cuGraphLaunch(exec, w.a));
	params.host.userData = (void *)7;
	ck_cuda(cuGraphExecNodeSetParams(exec, host, &params));
	ck_cuda(cuGraphLaunch(exec, w.a));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_int_eq(calls, 12);
	ck_assert_uint_eq(exec_peek(0), 22);
	params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
	ck_cuda_is(cuGraphAddNode(&host, graph, NULL, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
	ck_cuda(cuGraphExecDestroy(exec));
	ck_cuda(cuGraphDestroy(graph));
}
END_TEST

static TCase *make(void)
{
	TCase *tcase = tcase_create("graphs");

	tcase_add_test(tcase, test_capture_and_replay);
	tcase_add_test(tcase, test_launches_of_one_graph_do_not_overlap);
	tcase_add_test(tcase, test_forbidden_on_the_stream);
	tcase_add_test(tcase, test_forbidden_around);
	tcase_add_test(tcase, test_forbidden_events);
	tcase_add_test(tcase, test_other_threads);
	tcase_add_test(tcase, test_nodes_of_all_kinds);
	tcase_add_test(tcase, test_structure);
	tcase_add_test(tcase, test_nodes_by_one_structure);
	tcase_add_test(tcase, test_changes_of_an_executable_graph);
	tcase_add_test(tcase, test_a_wide_graph_captured_in_a_graph);
	tcase_add_test(tcase, test_allocations_in_a_capture);
	return tcase;
}

int main(void)
{
	return exec_world_run("exec-graph", make);
}
