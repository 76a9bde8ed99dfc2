/* SPDX-License-Identifier: Apache-2.0 */
/* The world's exact claims: a lone request takes the sum of its parts, runs repeat, queues obey
 * Lindley's recursion, limits stop kernels at their blocks. */

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/arrivals.h"
#include "plan/metrics.h"
#include "plan/workload.h"
#include "plan/world.h"

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull

static struct world_config plain_config(uint32_t mps)
{
	struct world_config config;

	world_config_preset(&config);
	config.device = (struct model_desc){.name = "test",
					    .sms = 80,
					    .copy_engines = 2,
					    .mps = mps,
					    .slice_ns = 2 * MS,
					    .switch_ns = 100 * US,
					    .idle_hold_ns = 50 * US,
					    .launch_latency_ns = 4 * US,
					    .kernel_gap_ns = 1 * US,
					    .memory_bytes = 16ull << 30};
	config.gap_least_ns = config.gap_most_ns = 6 * US;
	config.warmup_requests = 0;
	config.warmup_ns = 0;
	return config;
}

static struct workload *make_workload(uint32_t count, uint64_t ns, uint32_t sms)
{
	struct workload_op *ops = calloc(count, sizeof(*ops));
	struct workload *workload;

	ck_assert_ptr_nonnull(ops);
	for (uint32_t i = 0; i < count; i++)
		ops[i] = (struct workload_op){.ns = ns, .key = i + 1, .sms = sms};
	ck_assert_int_eq(workload_create("made", "test", 80, ops, count, &workload), 0);
	free(ops);
	return workload;
}

static struct arrivals make_arrivals(enum arrivals_kind kind, uint64_t mean_ns)
{
	struct arrivals arrivals;
	struct arrivals_desc desc = {.kind = kind, .mean_ns = mean_ns, .seed = 5};

	ck_assert_int_eq(arrivals_init(&arrivals, &desc), 0);
	return arrivals;
}

static struct world *make_world(const struct world_config *config, const char *policy)
{
	struct world *world;

	ck_assert_int_eq(world_create(config, plan_policy_find(policy), NULL, &world), 0);
	return world;
}

static void add_server(struct world *world, const struct workload *workload,
		       struct arrivals *arrivals)
{
	struct world_tenant tenant = {.name = "serve",
				      .latency = true,
				      .weight = 100,
				      .gpu_max_permille = 1000,
				      .priority = -1,
				      .workload = workload,
				      .arrivals = arrivals};

	ck_assert_int_eq(world_add(world, &tenant, NULL), 0);
}

static void add_loop(struct world *world, const struct workload *workload, uint32_t weight)
{
	struct world_tenant tenant = {
		.name = "train", .weight = weight, .gpu_max_permille = 1000, .workload = workload};

	ck_assert_int_eq(world_add(world, &tenant, NULL), 0);
}

/* Three kernels of 500 us, each longer than the host needs to launch the next: launch latency, the
 * kernels, the gaps between them, and the synchronisation. */
START_TEST(test_lone_request)
{
	struct world_config config = plain_config(0);
	struct workload *workload = make_workload(3, 500 * US, 40);
	struct arrivals arrivals = make_arrivals(ARRIVALS_PERIODIC, 10 * MS);
	struct world *world = make_world(&config, "native");
	struct world_record record;

	add_server(world, workload, &arrivals);
	ck_assert_int_eq(world_run(world, 20, MODEL_NEVER), 0);
	world_get_record(world, 0, &record);
	ck_assert_uint_eq(record.requests, 20);
	ck_assert_uint_eq(record.services, 20);
	for (uint32_t i = 0; i < record.requests; i++) {
		uint64_t parts_ns = 4 * US + 3 * 500 * US + 2 * US + 8 * US;

		ck_assert_uint_eq(record.request[i].end_ns - record.request[i].arrival_ns,
				  parts_ns);
		ck_assert_uint_eq(record.service[i].end_ns - record.service[i].start_ns, parts_ns);
	}
	ck_assert_uint_eq(record.done_ns, 20 * 3 * 500 * US);
	world_destroy(world);
	workload_free(workload);
}
END_TEST

/* Kernels shorter than the host's gap: the host's time counts, and of the GPU only the last. */
START_TEST(test_host_bound_request)
{
	struct world_config config = plain_config(0);
	struct workload *workload = make_workload(3, 2 * US, 40);
	struct arrivals arrivals = make_arrivals(ARRIVALS_PERIODIC, 10 * MS);
	struct world *world = make_world(&config, "native");
	struct world_record record;

	add_server(world, workload, &arrivals);
	ck_assert_int_eq(world_run(world, 5, MODEL_NEVER), 0);
	world_get_record(world, 0, &record);
	for (uint32_t i = 0; i < record.requests; i++)
		ck_assert_uint_eq(record.request[i].end_ns - record.request[i].start_ns,
				  2 * 6 * US + 4 * US + 2 * US + 8 * US);
	world_destroy(world);
	workload_free(workload);
}
END_TEST

START_TEST(test_decoder_steps)
{
	struct world_config config = plain_config(0);
	struct workload *workload = make_workload(2, 100 * US, 40);
	struct arrivals arrivals = make_arrivals(ARRIVALS_PERIODIC, 10 * MS);
	struct world *world = make_world(&config, "native");
	uint64_t step_ns = 4 * US + 200 * US + 1 * US + 8 * US;
	struct world_record record;

	workload->steps = 5;
	workload->step_gap_ns = 200 * US;
	add_server(world, workload, &arrivals);
	ck_assert_int_eq(world_run(world, 4, MODEL_NEVER), 0);
	world_get_record(world, 0, &record);
	ck_assert_uint_eq(record.services, 20);
	for (uint32_t i = 0; i < record.services; i++) {
		ck_assert_uint_eq(record.service[i].request, i / 5);
		ck_assert_uint_eq(record.service[i].step, i % 5);
		ck_assert_uint_eq(record.service[i].end_ns - record.service[i].start_ns, step_ns);
	}
	for (uint32_t i = 0; i < record.requests; i++)
		ck_assert_uint_eq(record.request[i].end_ns - record.request[i].arrival_ns,
				  5 * step_ns + 4 * 200 * US);
	world_destroy(world);
	workload_free(workload);
}
END_TEST

START_TEST(test_graph_is_one_launch)
{
	struct world_config config = plain_config(0);
	struct workload_op ops[] = {{.kind = WORKLOAD_GRAPH, .ns = 300 * US, .key = 9, .nodes = 3},
				    {.ns = 100 * US, .key = 1, .sms = 40},
				    {.ns = 100 * US, .key = 2, .sms = 40},
				    {.ns = 100 * US, .key = 3, .sms = 40},
				    {.kind = WORKLOAD_COPY_D2H, .ns = 20 * US, .key = 4}};
	struct arrivals arrivals = make_arrivals(ARRIVALS_PERIODIC, 10 * MS);
	struct world *world = make_world(&config, "native");
	struct workload *workload;
	struct world_record record;

	ck_assert_int_eq(workload_create("graph", "test", 80, ops, 5, &workload), 0);
	add_server(world, workload, &arrivals);
	ck_assert_int_eq(world_run(world, 3, MODEL_NEVER), 0);
	world_get_record(world, 0, &record);
	ck_assert_uint_eq(record.launches, 3 * 2);
	ck_assert_uint_eq(record.longest_unit_ns, 300 * US);
	ck_assert_uint_eq(record.longest_key, 9);
	ck_assert_uint_eq(record.done_ns, 3 * 320 * US);
	ck_assert_uint_eq(record.request[0].end_ns - record.request[0].start_ns,
			  4 * US + 320 * US + 2 * US + 1 * US + 8 * US);
	world_destroy(world);
	workload_free(workload);
}
END_TEST

/* The pipe is full: only its start, its end and the host's gap come on top. */
START_TEST(test_lone_loop)
{
	struct world_config config = plain_config(0);
	struct workload *workload = make_workload(10, 500 * US, 160);
	struct world *world = make_world(&config, "native");
	uint64_t period_ns = 4 * US + 10 * 500 * US + 9 * US + 8 * US + 6 * US;
	struct world_record record;

	add_loop(world, workload, 100);
	ck_assert_int_eq(world_run(world, 0, 100 * period_ns), 0);
	world_get_record(world, 0, &record);
	/* The gap of the hundredth is not over yet, but its end has been seen. */
	ck_assert_uint_eq(record.iterations, 100);
	ck_assert_uint_eq(record.done_ns, 100 * 10 * 500 * US);
	ck_assert_uint_eq(record.measured_ns, 100 * period_ns);
	world_destroy(world);
	workload_free(workload);
}
END_TEST

/* A server whose service never varies is Lindley's queue, to the nanosecond. */
START_TEST(test_lindley)
{
	struct world_config config = plain_config(0);
	struct workload *workload = make_workload(3, 500 * US, 40);
	struct arrivals arrivals = make_arrivals(ARRIVALS_POISSON, 2 * MS);
	struct world *world = make_world(&config, "native");
	uint64_t arrival_ns[500], latency_ns[500];
	struct world_record record;
	uint32_t queued = 0;

	add_server(world, workload, &arrivals);
	ck_assert_int_eq(world_run(world, 500, MODEL_NEVER), 0);
	world_get_record(world, 0, &record);
	for (uint32_t i = 0; i < 500; i++)
		arrival_ns[i] = record.request[i].arrival_ns;
	metrics_replay(arrival_ns, 500, 1514 * US, config.turnaround_ns, latency_ns);
	for (uint32_t i = 0; i < 500; i++) {
		ck_assert_uint_eq(record.request[i].end_ns - record.request[i].arrival_ns,
				  latency_ns[i]);
		queued += latency_ns[i] > 1514 * US;
	}
	ck_assert_uint_gt(queued, 200);
	world_destroy(world);
	workload_free(workload);
}
END_TEST

/* ---- requests that differ ---- */

/* `beside`: with a loop, which is the world's first process. */
static void run_varied(uint32_t sigma_permille, uint64_t seed, bool beside,
		       struct world_request *ret_request)
{
	struct world_config config = plain_config(0);
	struct workload *workload = make_workload(2, 500 * US, 40);
	struct arrivals_desc desc = {.kind = ARRIVALS_PERIODIC, .mean_ns = 30 * MS, .seed = seed};
	struct arrivals arrivals;
	struct world_tenant tenant = {.name = "serve",
				      .latency = true,
				      .weight = 100,
				      .gpu_max_permille = 1000,
				      .workload = workload,
				      .arrivals = &arrivals,
				      .work_sigma_permille = sigma_permille};
	struct world_record record;
	struct world *world;

	ck_assert_int_eq(arrivals_init(&arrivals, &desc), 0);
	world = make_world(&config, "native");
	if (beside)
		add_loop(world, workload, 100);
	ck_assert_int_eq(world_add(world, &tenant, NULL), 0);
	ck_assert_int_eq(world_run(world, 400, MODEL_NEVER), 0);
	world_get_record(world, beside ? 1 : 0, &record);
	memcpy(ret_request, record.request, 400 * sizeof(*ret_request));
	world_destroy(world);
	workload_free(workload);
}

/* All of a request's kernels take its own factor longer; without a sigma none does. */
START_TEST(test_work_varies_by_request)
{
	static struct world_request varied[400], again[400], other[400], plain[400], beside[400];
	uint32_t sum = 0, longer = 0;

	run_varied(600, 1, false, varied);
	run_varied(600, 1, false, again);
	run_varied(600, 2, false, other);
	run_varied(0, 1, false, plain);
	run_varied(600, 1, true, beside);
	ck_assert_mem_eq(varied, again, sizeof(varied));
	ck_assert_mem_ne(varied, other, sizeof(varied));
	for (uint32_t i = 0; i < 400; i++) {
		uint64_t work_ns = 1000 * US * varied[i].work_permille / 1000;

		ck_assert_uint_eq(varied[i].end_ns - varied[i].start_ns,
				  4 * US + work_ns + 1 * US + 8 * US);
		ck_assert_uint_eq(plain[i].work_permille, 1000);
		ck_assert_uint_eq(beside[i].work_permille, varied[i].work_permille);
		ck_assert_uint_eq(plain[i].arrival_ns, varied[i].arrival_ns);
		sum += varied[i].work_permille;
		longer += varied[i].work_permille > 1000;
	}
	ck_assert_uint_gt(sum, 400 * 930);
	ck_assert_uint_lt(sum, 400 * 1070);
	ck_assert_uint_gt(longer, 120); /* fewer than half: the mean of a log-normal is no median */
	ck_assert_uint_lt(longer, 180);
}
END_TEST

/* ---- runs repeat ---- */

struct trail {
	uint32_t services;
	struct world_service service[400];
	uint64_t done_ns, measured_ns, held_ns;
};

static void run_pair(uint64_t seed, uint32_t mps, struct trail *ret)
{
	struct world_config config = plain_config(mps);
	struct workload *serve = make_workload(20, 80 * US, 100);
	struct workload *train = make_workload(30, 300 * US, 300);
	struct arrivals arrivals;
	struct arrivals_desc desc = {.kind = ARRIVALS_POISSON, .mean_ns = 6 * MS, .seed = seed};
	struct world_record record;
	struct world *world;

	memset(ret, 0, sizeof(*ret));
	config.seed = seed;
	config.gap_most_ns = 10 * US;
	config.device.stagger_permille = 120;
	config.noise_permille = 300;
	ck_assert_int_eq(arrivals_init(&arrivals, &desc), 0);
	world = make_world(&config, "slo");
	add_server(world, serve, &arrivals);
	add_loop(world, train, 100);
	ck_assert_int_eq(world_run(world, 400, MODEL_NEVER), 0);
	world_get_record(world, 0, &record);
	ret->services = record.services;
	memcpy(ret->service, record.service, 400 * sizeof(ret->service[0]));
	world_get_record(world, 1, &record);
	ret->done_ns = record.done_ns;
	ret->measured_ns = record.measured_ns;
	ret->held_ns = record.held_ns;
	world_destroy(world);
	workload_free(serve);
	workload_free(train);
}

START_TEST(test_same_seed_same_bytes)
{
	static struct trail first, again, other;

	run_pair(3, (uint32_t)_i, &first);
	run_pair(3, (uint32_t)_i, &again);
	run_pair(4, (uint32_t)_i, &other);
	ck_assert_mem_eq(&first, &again, sizeof(first));
	ck_assert_mem_ne(&first, &other, sizeof(first));
}
END_TEST

/* ---- a policy's means ---- */

static struct {
	struct world *world;
	uint32_t fires, completions, pieces;
	uint64_t cost_ns, seen_at_ns[8], copy_in_ns;
} probe;

static int probe_create(struct world *world, const uint64_t *values, void **ret_state)
{
	probe.world = world;
	world_timer(world, 500 * US);
	return 0;
}

static enum plan_verdict probe_admit(void *state, struct plan_proc *proc,
				     struct plan_launch *launch, uint64_t *ret_wake_ns)
{
	if (probe.cost_ns)
		ck_assert_uint_eq(probe.cost_ns, launch->cost_ns);
	probe.cost_ns = launch->cost_ns;
	if (!launch->piece)
		launch->pieces = probe.pieces;
	launch->copy_in_ns = probe.copy_in_ns;
	probe.copy_in_ns = 0;
	return PLAN_GO;
}

static void probe_completed(void *state, struct plan_proc *proc, const struct workload_op *op,
			    uint64_t cost_ns)
{
	if (probe.completions < 8)
		probe.seen_at_ns[probe.completions] = world_now(probe.world);
	probe.completions++;
}

static void probe_timer(void *state)
{
	world_limit(probe.world, 0, probe.fires ? UINT32_MAX : 0);
	if (!probe.fires++)
		world_timer(probe.world, 5 * MS);
}

static const struct plan_policy probe_policy = {.name = "probe",
						.create = probe_create,
						.admit = probe_admit,
						.completed = probe_completed,
						.timer = probe_timer};

static int run_copy(uint32_t pieces, struct world_record *ret)
{
	struct world_config config = plain_config(0);
	struct workload *workload = make_workload(1, 2 * MS, 160);
	struct world *world;
	int r;

	memset(&probe, 0, sizeof(probe));
	probe.pieces = pieces;
	probe.fires = 1; /* no limit is set */
	probe.copy_in_ns = 3 * MS;
	ck_assert_int_eq(world_create(&config, &probe_policy, NULL, &world), 0);
	add_loop(world, workload, 100);
	r = world_run(world, 0, 6 * MS);
	world_get_record(world, 0, ret);
	world_destroy(world);
	workload_free(workload);
	return r;
}

/* Weights before a launch: in its stream, and no launch of its own. */
START_TEST(test_copy_before_a_launch)
{
	struct world_record record;

	ck_assert_int_eq(run_copy(1, &record), 0);
	ck_assert_uint_eq(probe.seen_at_ns[0], 4 * US + 3 * MS + 1 * US + 2 * MS + 3 * US);
	ck_assert_uint_eq(probe.completions, 1);
	ck_assert_uint_eq(record.launches, 2);
	ck_assert_uint_eq(record.done_ns, 2 * MS);
	ck_assert_uint_eq(record.copies_in, 1);
	/* It is asked for once, not for each piece. */
	ck_assert_int_eq(run_copy(2, &record), -EINVAL);
}
END_TEST

static void run_probe(struct world_config *config, uint32_t pieces, struct world_record *ret)
{
	struct workload *workload = make_workload(1, 2 * MS, 160);
	struct world *world;

	memset(&probe, 0, sizeof(probe));
	probe.pieces = pieces;
	ck_assert_int_eq(world_create(config, &probe_policy, NULL, &world), 0);
	add_loop(world, workload, 100);
	ck_assert_int_eq(world_run(world, 0, 10 * MS), 0);
	world_get_record(world, 0, ret);
	world_destroy(world);
	workload_free(workload);
}

/* Two waves of 1 ms: the first ends although nothing new may start from 0.5 ms on; the second is
 * let go at 5 ms. */
START_TEST(test_limit_stops_at_blocks)
{
	struct world_config config = plain_config(0);
	struct world_record record;

	run_probe(&config, 1, &record);
	ck_assert_uint_eq(probe.seen_at_ns[0], 6 * MS + 3 * US);
}
END_TEST

START_TEST(test_pieces_make_a_whole)
{
	struct world_config config = plain_config(0);
	struct world_record record;

	run_probe(&config, 2, &record);
	/* The first piece has started by 0.5 ms, the second waits for 5 ms. */
	ck_assert_uint_eq(probe.seen_at_ns[0], 4 * US + 1 * MS + 3 * US);
	ck_assert_uint_eq(probe.seen_at_ns[1], 6 * MS + 3 * US);
	ck_assert_uint_eq(record.launches, record.iterations + 1);
	ck_assert_uint_eq(record.pieces, 2 * record.launches);
	ck_assert_uint_eq(record.done_ns % (1 * MS), 0);
}
END_TEST

START_TEST(test_noise_is_the_kernels_own)
{
	struct world_config config = plain_config(0);
	struct world_record record;
	uint64_t other_ns;

	config.noise_permille = 300;
	run_probe(&config, 1, &record);
	other_ns = probe.cost_ns;
	ck_assert_uint_ne(other_ns, 2 * MS);
	ck_assert_uint_ge(other_ns, 1400 * US);
	ck_assert_uint_le(other_ns, 2600 * US);
	config.seed++;
	run_probe(&config, 1, &record);
	ck_assert_uint_ne(other_ns, probe.cost_ns);
}
END_TEST

/* ---- Sluice in it ---- */

/* The window is what a request can meet: 300 us of work, in kernels shorter than that. */
START_TEST(test_slo_bounds_what_is_met)
{
	static struct trail trail;
	uint64_t worst_ns = 0;

	run_pair(7, 1, &trail);
	for (uint32_t i = 0; i < 400; i++) {
		if (trail.service[i].met_ns > worst_ns)
			worst_ns = trail.service[i].met_ns;
	}
	/* Kernels of 300 us, predicted at up to 390 us: one at a time. */
	ck_assert_uint_gt(worst_ns, 200 * US);
	ck_assert_uint_le(worst_ns, 390 * US);
}
END_TEST

/* Idle share, less guard and starts: most of it is used; and all of the time by a lone loop. */
START_TEST(test_slo_uses_idle_time)
{
	static struct trail trail;
	double part;

	run_pair(7, 1, &trail);
	part = (double)trail.done_ns / (double)trail.measured_ns;
	ck_assert_double_gt(part, 0.6);
	ck_assert_double_lt(part, 0.75);
}
END_TEST

START_TEST(test_slo_follows_weights)
{
	struct world_config config = plain_config((uint32_t)_i);
	struct workload *train = make_workload(40, 400 * US, 320);
	uint32_t weight[2] = {300, 100};
	struct world_record record[2];
	struct metrics_shares shares;
	struct world *world = make_world(&config, "slo");

	add_loop(world, train, 300);
	add_loop(world, train, 100);
	ck_assert_int_eq(world_run(world, 0, 10 * S), 0);
	world_get_record(world, 0, &record[0]);
	world_get_record(world, 1, &record[1]);
	ck_assert_int_eq(
		metrics_share_error(record, weight, 2, config.share_ns, 1 * S, 1 * S, &shares), 0);
	ck_assert_uint_eq(shares.windows, 8);
	ck_assert_double_lt(shares.mean, 0.02);
	world_destroy(world);
	workload_free(train);
}
END_TEST

static Suite *world_suite(void)
{
	Suite *suite = suite_create("plan_world");
	TCase *tcase = tcase_create("programs");

	tcase_add_test(tcase, test_lone_request);
	tcase_add_test(tcase, test_host_bound_request);
	tcase_add_test(tcase, test_decoder_steps);
	tcase_add_test(tcase, test_graph_is_one_launch);
	tcase_add_test(tcase, test_lone_loop);
	tcase_add_test(tcase, test_lindley);
	tcase_add_test(tcase, test_work_varies_by_request);
	tcase_add_loop_test(tcase, test_same_seed_same_bytes, 0, 2);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("policies");
	tcase_add_test(tcase, test_limit_stops_at_blocks);
	tcase_add_test(tcase, test_pieces_make_a_whole);
	tcase_add_test(tcase, test_copy_before_a_launch);
	tcase_add_test(tcase, test_noise_is_the_kernels_own);
	tcase_add_test(tcase, test_slo_bounds_what_is_met);
	tcase_add_test(tcase, test_slo_uses_idle_time);
	tcase_add_loop_test(tcase, test_slo_follows_weights, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(world_suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
