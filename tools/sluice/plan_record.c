/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_record.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "plan/fold.h"
#include "plan/workload.h"
#include "output.h"
#include "query.h"
#include "sluice/wire_io.h"
#include "table.h"

/* The ring holds a thousand records: so often even a program of short kernels loses none. */
#define ASK_EVERY_NS 10000000
/* Held for so much of the time: that is why nothing was seen. */
#define HELD_PART 0.8
/* Held for so much of it: worth a word. */
#define HELD_WORD 0.05

struct recording {
	struct fold fold;
	struct sluice_msg_trace_end end;
	uint64_t lost;
	bool paused;	  /* at the end */
	uint64_t held_ns; /* while it was recorded */
};

static int take_trace(void *context, const struct sluice_msg_trace *trace)
{
	struct recording *recording = context;

	return fold_add(&recording->fold, trace->first, trace->record, trace->count);
}

static int listen_for(struct query *query, const struct record_options *options,
		      struct recording *recording, char *ret_why)
{
	uint64_t until_ns = sluice_now_ns() + (uint64_t)(options->seconds * 1e9);
	struct sluice_msg_record question = {.from_now = 1};
	int r;

	do {
		const struct timespec pause = {.tv_nsec = ASK_EVERY_NS};

		r = query_trace(query, options->tenant, &question, take_trace, recording,
				&recording->end, ret_why);
		if (r)
			return r;
		if (question.from_now)
			recording->fold.next = recording->end.seen;
		question.from_now = 0;
		question.pid = recording->end.pid;
		question.seen = recording->end.seen;
		recording->lost += recording->end.lost;
		(void)nanosleep(&pause, NULL);
	} while (sluice_now_ns() < until_ns);
	return 0;
}

/* How long it has been held, ever, and whether it is paused. Nothing fails without that. */
static uint64_t held_so_far(struct query *query, const char *tenant, bool *ret_paused)
{
	char why[QUERY_WHY_MAX];
	struct status status;
	uint64_t held_ns = 0;

	*ret_paused = false;
	if (query_status(query, &status, why) < 0)
		return 0;
	for (size_t i = 0; i < status.tenants; i++) {
		const struct sluice_msg_status_tenant *row = &status.tenant[i];

		if (strncmp(row->name, tenant, sizeof(row->name)))
			continue;
		*ret_paused |= row->state & SLUICE_STATE_PAUSED;
		held_ns = row->pressure_total_ns > held_ns ? row->pressure_total_ns : held_ns;
	}
	status_finish(&status);
	return held_ns;
}

/* ---- what comes out ---- */

static int write_workload(const struct record_options *options, const struct workload *workload)
{
	struct output output = {.file = stdout};
	int r = options->output ? output_open(&output, options->output) : 0;

	if (!r) {
		r = workload_write(workload, output.file);
		r = options->output ? output_close(&output, r) : fflush(stdout) ? -EIO : r;
	}
	return r ? cmd_fail("cannot write %s: %s",
			    options->output ? options->output : "the workload", strerror(-r))
		 : 0;
}

static int write_arrivals(const struct record_options *options, const struct fold *fold)
{
	uint64_t *gaps;
	uint32_t count;
	struct output output;
	int r = fold_gaps(fold, &gaps, &count);

	if (r)
		return cmd_fail("no two requests were seen: record for longer (--seconds)");
	r = output_open(&output, options->arrivals);
	if (!r) {
		fprintf(output.file,
			"# seconds between the beginnings of the requests of tenant %s\n",
			options->tenant);
		for (uint32_t i = 0; i < count; i++)
			fprintf(output.file, "%llu.%09llu\n",
				(unsigned long long)(gaps[i] / 1000000000),
				(unsigned long long)(gaps[i] % 1000000000));
		r = output_close(&output, 0);
	}
	free(gaps);
	return r ? cmd_fail("cannot write %s: %s", options->arrivals, strerror(-r)) : 0;
}

static void remark(const struct record_options *options, const struct recording *recording,
		   const struct fold_result *result)
{
	double held = (double)recording->held_ns / (options->seconds * 1e9);
	char launch[32], turn[32];

	format_ns(result->launch_gap_ns, sizeof(launch), launch);
	format_ns(result->turn_gap_ns, sizeof(turn), turn);
	fprintf(stderr,
		"sluice: %u of %u steps are alike, %u to an iteration, %u %% of the work; the host "
		"takes %s between two launches, %s from a drain to the next launch\n",
		result->used, result->steps, result->period, result->work_permille / 10, launch,
		turn);
	if (held >= HELD_WORD)
		fprintf(stderr,
			"sluice: launches were held for %.0f %% of the time, and the wait is in "
			"what "
			"the host takes: the program's own is seen when others are idle\n",
			fmin(held, 1) * 100);
	if (recording->lost)
		fprintf(stderr,
			"sluice: %llu launches were lost on the way; the steps that they were in "
			"are not used\n",
			(unsigned long long)recording->lost);
	if (recording->end.processes > 1)
		fprintf(stderr,
			"sluice: of the tenant's %u processes only one was recorded, pid %u\n",
			recording->end.processes, recording->end.pid);
	if (recording->end.simulated)
		fputs("sluice: on the simulated GPU a kernel is taken to hold the whole device: "
		      "its grid says nothing\n",
		      stderr);
}

static int fail_nothing(const struct record_options *options, const struct recording *recording)
{
	if (recording->paused)
		return cmd_fail("tenant %s: no step was seen in %g s: it is paused; `sluice resume "
				"%s` lets it go on",
				options->tenant, options->seconds, options->tenant);
	if ((double)recording->held_ns >= HELD_PART * options->seconds * 1e9)
		return cmd_fail("tenant %s: no step was seen from one synchronisation to the next "
				"in %g s: it was held, others had the GPU; record for longer "
				"(--seconds), or when they are idle",
				options->tenant, options->seconds);
	return cmd_fail("tenant %s: no step was seen from one synchronisation to the next "
			"in %g s; record for longer (--seconds), or is it idle?",
			options->tenant, options->seconds);
}

static int make(const struct record_options *options, const struct recording *recording)
{
	char source[256], program[SLUICE_NAME_MAX], device[SLUICE_NAME_MAX];
	struct fold_terms terms = {.name = options->tenant,
				   .source = source,
				   .device_sms = recording->end.sms,
				   .simulated = recording->end.simulated,
				   .latency =
					   recording->end.tenant_class == SLUICE_LATENCY_CRITICAL};
	struct fold_result result;
	struct workload *workload;
	int r;

	sluice_wire_text(program, sizeof(program), recording->end.program);
	sluice_wire_text(device, sizeof(device), recording->end.device);
	(void)snprintf(source, sizeof(source), "recorded by sluice plan: %s on %s%s", program,
		       recording->end.simulated ? "a simulated " : "", device);
	r = fold_make(&recording->fold, &terms, &workload, &result);
	if (r == -ENODATA)
		return fail_nothing(options, recording);
	if (r)
		return cmd_fail("cannot make a workload: %s", strerror(-r));
	remark(options, recording, &result);
	r = write_workload(options, workload);
	workload_free(workload);
	return r || !options->arrivals ? r : write_arrivals(options, &recording->fold);
}

static int check_output(const char *path)
{
	int r = path ? output_check(path) : 0;

	return r ? cmd_fail("cannot write %s: %s", path, strerror(-r)) : 0;
}

int plan_record(const struct record_options *options)
{
	struct recording recording = {0};
	char why[QUERY_WHY_MAX];
	struct query query;
	uint64_t held_ns;
	int r;

	if (strlen(options->tenant) >= SLUICE_NAME_MAX)
		return cmd_fail("there is no tenant of so long a name");
	/* Before the time is spent. */
	if (check_output(options->output) || check_output(options->arrivals))
		return 1;
	if (query_open(&query, options->socket, why) < 0)
		return cmd_fail("%s", why);
	held_ns = held_so_far(&query, options->tenant, &recording.paused);
	r = listen_for(&query, options, &recording, why);
	if (r == 0)
		recording.held_ns =
			held_so_far(&query, options->tenant, &recording.paused) - held_ns;
	query_close(&query);
	/* A program that ends on the way has been recorded until then. */
	if (r == -ESRCH && recording.fold.records)
		r = 0;
	r = r ? cmd_fail("%s", why) : make(options, &recording);
	fold_finish(&recording.fold);
	return r;
}
