/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/catalog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/desc.h"
#include "plan/arrivals.h"
#include "plan/metrics.h"
#include "plan/world.h"

#define CALIBRATE_REQUESTS 20
#define CALIBRATE_LOOP_NS 4000000000ull

const char *const suite_mode_name[SUITE_MODES] = {"time", "mps"};
const char *const suite_lc_name[SUITE_LC] = {
	"mobilenetv2-infer-b4",	 "resnet50-infer-b4",	    "resnet101-infer-b4",
	"efficientnet-infer-b4", "transformer-xl-infer-b4", "bert-infer-b2",
};
const char *const suite_be_name[SUITE_BE] = {
	"bert-train-b8",       "mobilenetv2-train-b64",	  "resnet50-train-b32",
	"resnet101-train-b32", "transformer-xl-train-b8",
};

static int load_device(struct suite_catalog *catalog, const char *path)
{
	static const enum desc_mps mps[SUITE_MODES] = {DESC_MPS_OFF, DESC_MPS_ON};
	struct desc_error error;

	for (int mode = 0; mode < SUITE_MODES; mode++) {
		int r = desc_load(path, mps[mode], &catalog->device[mode], &error);

		if (r) {
			(void)fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
			return r;
		}
	}
	return 0;
}

static int load_workload(const char *folder, const char *name, uint32_t sms, struct workload **ret)
{
	struct workload_error error;
	char path[512];
	int r;

	(void)snprintf(path, sizeof(path), "%s/%s.conf", folder, name);
	r = workload_load(path, ret, &error);
	if (r)
		(void)fprintf(stderr, "%s:%d: %s\n", error.file, error.line, error.msg);
	else
		/* Published durations are without gaps. */
		workload_restate(*ret, sms, 0);
	return r;
}

static int load_gaps(struct suite_catalog *catalog, const char *folder)
{
	char path[512];
	int line = 0, r;

	(void)snprintf(path, sizeof(path), "%s/gaps-recorded.txt", folder);
	r = arrivals_load_gaps(path, &catalog->gaps, &catalog->n_gaps, &line);
	if (r)
		(void)fprintf(stderr, "%s:%d: no list of gaps: %s\n", path, line, strerror(-r));
	return r;
}

static int load_workloads(struct suite_catalog *catalog, const char *folder)
{
	uint32_t sms = catalog->device[SUITE_MPS].sms;
	int r = load_workload(folder, "decode", sms, &catalog->decode);

	for (int i = 0; !r && i < SUITE_LC; i++)
		r = load_workload(folder, suite_lc_name[i], sms, &catalog->lc[i]);
	for (int i = 0; !r && i < SUITE_BE; i++)
		r = load_workload(folder, suite_be_name[i], sms, &catalog->be[i]);
	return r ? r : load_gaps(catalog, folder);
}

/* ---- alone ---- */

static int run_alone(const struct suite_catalog *catalog, const struct workload *workload,
		     bool latency, struct world **ret_world)
{
	struct world_config config;
	struct arrivals arrivals;
	struct world_tenant tenant = {.latency = latency,
				      .weight = 100,
				      .gpu_max_permille = 1000,
				      .workload = workload,
				      .arrivals = latency ? &arrivals : NULL};
	struct arrivals_desc closed = {.kind = ARRIVALS_CLOSED, .mean_ns = 1000000};
	int r;

	world_config_preset(&config);
	config.device = catalog->device[SUITE_MPS];
	config.warmup_requests = 1;
	r = world_create(&config, plan_policy_find("native"), NULL, ret_world);
	if (!r)
		r = arrivals_init(&arrivals, &closed);
	if (!r)
		r = world_add(*ret_world, &tenant, NULL);
	if (!r)
		r = world_run(*ret_world, latency ? CALIBRATE_REQUESTS : 0,
			      latency ? UINT64_MAX : CALIBRATE_LOOP_NS);
	return r;
}

static int request_alone_ns(const struct suite_catalog *catalog, const struct workload *workload,
			    uint64_t *ret_ns)
{
	struct metrics_tail tail = {0};
	struct world_record record;
	struct world *world = NULL;
	int r = run_alone(catalog, workload, true, &world);

	if (!r) {
		world_get_record(world, 0, &record);
		r = metrics_arrival(&record, 1, &tail);
	}
	world_destroy(world);
	*ret_ns = tail.p50_ns;
	return r;
}

static int loop_alone_rate(const struct suite_catalog *catalog, const struct workload *workload,
			   double *ret_rate)
{
	struct world_record record;
	struct world *world = NULL;
	int r = run_alone(catalog, workload, false, &world);

	if (!r) {
		world_get_record(world, 0, &record);
		*ret_rate = (double)record.done_ns / (double)record.measured_ns;
	}
	world_destroy(world);
	return r;
}

static int calibrate(struct suite_catalog *catalog)
{
	int r = request_alone_ns(catalog, catalog->decode, &catalog->decode_ns);

	for (int i = 0; !r && i < SUITE_LC; i++)
		r = request_alone_ns(catalog, catalog->lc[i], &catalog->lc_service_ns[i]);
	for (int i = 0; !r && i < SUITE_BE; i++)
		r = loop_alone_rate(catalog, catalog->be[i], &catalog->be_rate[i]);
	if (r)
		(void)fprintf(stderr, "a workload alone does not run: error %d\n", -r);
	return r;
}

int suite_catalog_load(struct suite_catalog *catalog, const char *device, const char *folder)
{
	int r = load_device(catalog, device);

	if (!r)
		r = load_workloads(catalog, folder);
	return r ? r : calibrate(catalog);
}

void suite_catalog_free(struct suite_catalog *catalog)
{
	free(catalog->gaps);
	workload_free(catalog->decode);
	for (int i = 0; i < SUITE_LC; i++)
		workload_free(catalog->lc[i]);
	for (int i = 0; i < SUITE_BE; i++)
		workload_free(catalog->be[i]);
}
