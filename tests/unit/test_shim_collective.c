/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that wait for other GPUs are not held, and nothing else slips through with them. */
#include "collective.h"
#include "graph.h"
#include "shim_rig.h"

#define PLAIN 0x7000u
#define NCCL 0x7100u
#define NVSHMEM 0x7200u
#define NAMED_LIKE 0x7300u
#define EXEC ((CUgraphExec)(uintptr_t)0x8000)

static CUresult name_of(const char **name, CUfunction function)
{
	switch ((uintptr_t)function) {
	case NCCL:
		*name = "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE";
		break;
	case NVSHMEM: *name = "nvshmemi_barrier"; break;
	case NAMED_LIKE: *name = "_Z13my_ncclKernelv"; break;
	default: *name = "scripted";
	}
	return CUDA_SUCCESS;
}

static CUresult attribute_of(int *value, CUfunction_attribute attribute, CUfunction function)
{
	*value = 1;
	return CUDA_SUCCESS;
}

static CUresult no_kernel_name(const char **name, CUkernel kernel)
{
	return CUDA_ERROR_INVALID_HANDLE;
}

static void start(void)
{
	rig_start();
	real.cuFuncGetName = name_of;
	real.cuKernelGetName = no_kernel_name;
}

static void passes(uintptr_t function)
{
	struct rig_launcher launcher;

	rig_launcher_start(&launcher, function);
	rig_await(launcher.done);
	rig_launcher_join(&launcher);
}

/* And goes when the gate opens again; it is closed after that. */
static void is_held(uintptr_t function)
{
	struct rig_launcher launcher;

	rig_launcher_start(&launcher, function);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	usleep(5000);
	ck_assert(!launcher.done);
	fake_gate_set(rig.session, 0, true);
	rig_launcher_join(&launcher);
	fake_gate_set(rig.session, 0, false);
}

START_TEST(a_collective_passes_a_closed_gate)
{
	rig_launch(PLAIN);
	fake_gate_set(rig.session, 0, false);
	passes(NCCL);
	passes(NVSHMEM);
	is_held(PLAIN);
	is_held(NAMED_LIKE);
	ck_assert_uint_eq(rig_launches(), 5);
}
END_TEST

/* The next launch of the same thread, which the collective went before. */
START_TEST(it_takes_no_other_along)
{
	fake_gate_set(rig.session, 0, false);
	rig_launch(NCCL);
	ck_assert_uint_eq(rig.page->slot[0].launches, 1);
	ck_assert_uint_eq(gate_at(0)->lane[0].stop_at_ns, 0);
	is_held(PLAIN);
}
END_TEST

START_TEST(a_pause_holds_it_as_well)
{
	struct rig_launcher launcher;

	rig_launch(NCCL);
	atomic_fetch_or(&rig.grant->flags, SLUICE_GRANT_PAUSED);
	fake_grant_changed(rig.session, 0);
	rig_launcher_start(&launcher, NCCL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	ck_assert(!launcher.done);
	atomic_fetch_and(&rig.grant->flags, ~SLUICE_GRANT_PAUSED);
	fake_grant_changed(rig.session, 0);
	rig_launcher_join(&launcher);
}
END_TEST

/* ---- graphs: node n of a graph is kernel n, or the graph below it --------------------------------- */

static struct {
	uintptr_t kernel; /* of the second node */
	bool is_library;  /* ... which has no function */
	bool is_nested;
} graph;

static CUresult nodes(CUgraph of, CUgraphNode *node, size_t *count)
{
	*count = 2;
	for (uintptr_t i = 0; node && i < 2; i++)
		node[i] = (CUgraphNode)(i + (of == (CUgraph)(uintptr_t)2 ? 0x20 : 0x10));
	return CUDA_SUCCESS;
}

static CUresult node_type(CUgraphNode node, CUgraphNodeType *type)
{
	bool is_child = graph.is_nested && node == (CUgraphNode)(uintptr_t)0x11;

	*type = is_child ? CU_GRAPH_NODE_TYPE_GRAPH : CU_GRAPH_NODE_TYPE_KERNEL;
	return CUDA_SUCCESS;
}

static CUresult node_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
	*params = (CUDA_KERNEL_NODE_PARAMS){0};
	if (!((uintptr_t)node & 1))
		params->func = (CUfunction)(uintptr_t)PLAIN;
	else if (graph.is_library)
		params->kern = (CUkernel)graph.kernel;
	else
		params->func = (CUfunction)graph.kernel;
	return CUDA_SUCCESS;
}

static CUresult child(CUgraphNode node, CUgraph *ret_graph)
{
	*ret_graph = (CUgraph)(uintptr_t)2;
	return CUDA_SUCCESS;
}

static uint64_t digest_of(uintptr_t kernel, bool is_library, bool is_nested)
{
	struct graph_facts facts;

	graph.kernel = kernel;
	graph.is_library = is_library;
	graph.is_nested = is_nested;
	graph_look((CUgraph)(uintptr_t)1, &facts);
	return facts.digest;
}

static void graphs_start(void)
{
	start();
	graph.is_library = false;
	real.cuGraphGetNodes = nodes;
	real.cuGraphNodeGetType = node_type;
	real.cuGraphKernelNodeGetParams_v2 = node_params;
	real.cuGraphChildGraphNodeGetGraph = child;
	real.cuFuncGetAttribute = attribute_of;
}

/* Set by its library's handle or by its function's, it is the same kernel. */
START_TEST(a_node_without_a_function_is_digested_as_its_kernel)
{
	uint64_t digest = digest_of(NVSHMEM, false, false);

	ck_assert_uint_ne(digest, 0);
	ck_assert_uint_eq(digest_of(NVSHMEM, true, false), digest);
	ck_assert_uint_ne(digest_of(PLAIN, true, false), digest);
	ck_assert_uint_ne(digest_of(NCCL, true, false), digest);
	/* What is in a child graph counts as well. */
	digest = digest_of(NVSHMEM, false, true);
	ck_assert_uint_ne(digest_of(NCCL, false, true), digest);
}
END_TEST

static CUresult no_nodes(CUgraph of, CUgraphNode *node, size_t *count)
{
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult many_nodes(CUgraph of, CUgraphNode *node, size_t *count)
{
	size_t room = *count;

	*count = node ? room : 1000000;
	for (uintptr_t i = 0; node && i < room; i++)
		node[i] = (CUgraphNode)(uintptr_t)0x10;
	return CUDA_SUCCESS;
}

START_TEST(a_graph_that_is_not_seen_whole_has_no_digest)
{
	struct graph_facts facts;

	real.cuGraphGetNodes = no_nodes;
	graph_look((CUgraph)(uintptr_t)1, &facts);
	ck_assert(!facts.digest && !facts.nodes && !facts.is_collective);
	real.cuGraphGetNodes = many_nodes;
	graph_look((CUgraph)(uintptr_t)1, &facts);
	ck_assert(!facts.digest && facts.nodes == 65536);
}
END_TEST

static bool is_made_collective(uintptr_t kernel, bool is_nested)
{
	struct graph_facts facts;

	graph.kernel = kernel;
	graph.is_nested = is_nested;
	graph_look((CUgraph)(uintptr_t)1, &facts);
	ck_assert_uint_eq(facts.nodes, is_nested ? 4 : 2);
	collective_graph_made(EXEC, facts.is_collective);
	return collective_is((struct sample_what){.kind = PREDICT_GRAPH, .handle = EXEC});
}

START_TEST(a_graph_is_what_its_nodes_are)
{
	ck_assert(!is_made_collective(PLAIN, false));
	ck_assert(is_made_collective(NCCL, false));
	/* Its handle comes again. */
	ck_assert(!is_made_collective(PLAIN, true));
	ck_assert(is_made_collective(NCCL, true));
	graph.is_library = true;
	ck_assert(is_made_collective(NCCL, false));
	collective_graph_gone(EXEC);
	ck_assert(!collective_is((struct sample_what){.kind = PREDICT_GRAPH, .handle = EXEC}));
}
END_TEST

/* ---- executable graphs that change ----------------------------------------------------------------- */

static CUresult instantiate(CUgraphExec *exec, CUgraph of, unsigned long long flags)
{
	*exec = EXEC;
	return CUDA_SUCCESS;
}

static CUresult update(CUgraphExec exec, CUgraph of, CUgraphExecUpdateResultInfo *info)
{
	return script.launch_result;
}

static CUresult update_old(CUgraphExec exec, CUgraph of, CUgraphNode *node,
			   CUgraphExecUpdateResult *result)
{
	return script.launch_result;
}

static CUresult set_kernel(CUgraphExec exec, CUgraphNode node,
			   const CUDA_KERNEL_NODE_PARAMS *params)
{
	return script.launch_result;
}

static CUresult set_kernel_old(CUgraphExec exec, CUgraphNode node,
			       const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	return script.launch_result;
}

static CUresult set_node(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	return script.launch_result;
}

static CUresult set_child(CUgraphExec exec, CUgraphNode node, CUgraph of)
{
	return script.launch_result;
}

static void execs_start(void)
{
	CUgraphExec exec;

	graphs_start();
	real.cuGraphInstantiateWithFlags = instantiate;
	real.cuGraphExecUpdate = update_old;
	real.cuGraphExecUpdate_v2 = update;
	real.cuGraphExecKernelNodeSetParams = set_kernel_old;
	real.cuGraphExecKernelNodeSetParams_v2 = set_kernel;
	real.cuGraphExecNodeSetParams = set_node;
	real.cuGraphExecChildGraphNodeSetParams = set_child;
	graph.kernel = PLAIN;
	graph.is_nested = false;
	ck_assert_int_eq(cuGraphInstantiateWithFlags(&exec, (CUgraph)(uintptr_t)1, 0),
			 CUDA_SUCCESS);
}

static uint32_t cost_ns(void)
{
	return predict_cost_ns(predict_find(&launch_predict, predict_graph_tag(EXEC), 1));
}

static bool is_collective(void)
{
	return collective_is((struct sample_what){.kind = PREDICT_GRAPH, .handle = EXEC});
}

static void update_to(uintptr_t kernel)
{
	CUgraphExecUpdateResultInfo info;

	graph.kernel = kernel;
	ck_assert_int_eq(cuGraphExecUpdate_v2(EXEC, (CUgraph)(uintptr_t)1, &info), CUDA_SUCCESS);
}

START_TEST(an_update_is_looked_at_and_the_same_work_stays_known)
{
	CUgraphExecUpdateResult result;
	CUgraphNode node;

	ck_assert_uint_eq(cost_ns(), 40 * US);
	for (int i = 0; i < 8; i++)
		predict_sample(&launch_predict,
			       predict_find(&launch_predict, predict_graph_tag(EXEC), 1), 700 * US,
			       true);
	update_to(PLAIN);
	ck_assert_uint_eq(cost_ns(), 700 * US);
	ck_assert(!is_collective());
	/* One that the driver has refused has changed nothing. */
	script.launch_result = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	graph.kernel = NCCL;
	ck_assert_int_eq(cuGraphExecUpdate(EXEC, (CUgraph)(uintptr_t)1, &node, &result),
			 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	ck_assert_uint_eq(cost_ns(), 700 * US);
	ck_assert(!is_collective());
	script.launch_result = CUDA_SUCCESS;
	ck_assert_int_eq(cuGraphExecUpdate(EXEC, (CUgraph)(uintptr_t)1, &node, &result),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(cost_ns(), 40 * US);
	ck_assert(is_collective());
	update_to(PLAIN);
	ck_assert(!is_collective());
}
END_TEST

START_TEST(a_node_that_becomes_a_collective_makes_its_graph_one)
{
	CUDA_KERNEL_NODE_PARAMS kernel = {.func = (CUfunction)(uintptr_t)PLAIN};
	CUDA_KERNEL_NODE_PARAMS_v1 old = {.func = (CUfunction)(uintptr_t)NCCL};
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	ck_assert_int_eq(cuGraphExecKernelNodeSetParams_v2(EXEC, NULL, &kernel), CUDA_SUCCESS);
	ck_assert_int_eq(cuGraphExecNodeSetParams(EXEC, NULL, &params), CUDA_SUCCESS);
	ck_assert_int_eq(cuGraphExecChildGraphNodeSetParams(EXEC, NULL, (CUgraph)(uintptr_t)1),
			 CUDA_SUCCESS);
	ck_assert(!is_collective());
	kernel = (CUDA_KERNEL_NODE_PARAMS){.kern = (CUkernel)(uintptr_t)NCCL};
	cuGraphExecKernelNodeSetParams_v2(EXEC, NULL, &kernel);
	ck_assert(is_collective());
	update_to(PLAIN);
	cuGraphExecKernelNodeSetParams(EXEC, NULL, &old);
	ck_assert(is_collective());
	update_to(PLAIN);
	params = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL,
				     .kernel.func = (CUfunction)(uintptr_t)NVSHMEM};
	cuGraphExecNodeSetParams(EXEC, NULL, &params);
	ck_assert(is_collective());
	update_to(PLAIN);
	graph.kernel = NCCL;
	params = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_GRAPH,
				     .graph.graph = (CUgraph)(uintptr_t)1};
	cuGraphExecNodeSetParams(EXEC, NULL, &params);
	ck_assert(is_collective());
	update_to(PLAIN);
	ck_assert(!is_collective());
	graph.kernel = NCCL;
	cuGraphExecChildGraphNodeSetParams(EXEC, NULL, (CUgraph)(uintptr_t)1);
	ck_assert(is_collective());
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_collective");
	TCase *tcase = tcase_create("collective");

	tcase_add_checked_fixture(tcase, start, rig_finish);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_collective_passes_a_closed_gate);
	tcase_add_test(tcase, it_takes_no_other_along);
	tcase_add_test(tcase, a_pause_holds_it_as_well);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("graphs");
	tcase_add_checked_fixture(tcase, graphs_start, rig_finish);
	tcase_add_test(tcase, a_graph_is_what_its_nodes_are);
	tcase_add_test(tcase, a_node_without_a_function_is_digested_as_its_kernel);
	tcase_add_test(tcase, a_graph_that_is_not_seen_whole_has_no_digest);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("executable graphs");
	tcase_add_checked_fixture(tcase, execs_start, rig_finish);
	tcase_add_test(tcase, an_update_is_looked_at_and_the_same_work_stays_known);
	tcase_add_test(tcase, a_node_that_becomes_a_collective_makes_its_graph_one);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
