/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "plan/fold.h"
#include "plan/workload.h"
#include "query.h"
#include "sluice/wire_io.h"
#include "table.h"

/* The ring holds a thousand records: so often even a program of short kernels loses none. */
#define ASK_EVERY_NS 10000000

struct recording {
	struct fold fold;
	struct sluice_msg_trace_end end;
	uint64_t lost;
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

/* ---- what comes out ---- */

static int write_workload(const struct record_options *options, const struct workload *workload)
{
	FILE *out = options->output ? fopen(options->output, "we") : stdout;
	int r;

	if (!out)
		return cmd_fail("cannot write %s: %s", options->output, strerror(errno));
	r = workload_write(workload, out);
	if (options->output ? fclose(out) : fflush(out))
		r = -EIO;
	return r ? cmd_fail("cannot write the workload: %s", strerror(-r)) : 0;
}

static int write_arrivals(const struct record_options *options, const struct fold *fold)
{
	uint64_t *gaps;
	uint32_t count;
	FILE *out;
	int r = fold_gaps(fold, &gaps, &count);

	if (r)
		return cmd_fail("no two requests were seen: record for longer (--seconds)");
	out = fopen(options->arrivals, "we");
	if (!out) {
		free(gaps);
		return cmd_fail("cannot write %s: %s", options->arrivals, strerror(errno));
	}
	fprintf(out, "# seconds between the beginnings of the requests of tenant %s\n",
		options->tenant);
	for (uint32_t i = 0; i < count; i++)
		fprintf(out, "%llu.%09llu\n", (unsigned long long)(gaps[i] / 1000000000),
			(unsigned long long)(gaps[i] % 1000000000));
	free(gaps);
	return fclose(out) ? cmd_fail("cannot write %s", options->arrivals) : 0;
}

static void remark(const struct recording *recording, const struct fold_result *result)
{
	char launch[32], turn[32];

	format_ns(result->launch_gap_ns, sizeof(launch), launch);
	format_ns(result->turn_gap_ns, sizeof(turn), turn);
	fprintf(stderr,
		"sluice: %u of %u steps are alike, %u to an iteration, %u %% of the work; the host "
		"takes %s between two launches, %s from a drain to the next launch\n",
		result->used, result->steps, result->period, result->work_permille / 10, launch,
		turn);
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
		fputs("sluice: on the simulated GPU a kernel's SM demand is that of its grid, not "
		      "that of the cost table\n",
		      stderr);
}

static int make(const struct record_options *options, const struct recording *recording)
{
	char source[256], program[SLUICE_NAME_MAX], device[SLUICE_NAME_MAX];
	struct fold_terms terms = {.name = options->tenant,
				   .source = source,
				   .device_sms = recording->end.sms,
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
		return cmd_fail("tenant %s: no step was seen from one synchronisation to the next "
				"in %g s; record for longer (--seconds), or is it idle?",
				options->tenant, options->seconds);
	if (r)
		return cmd_fail("cannot make a workload: %s", strerror(-r));
	remark(recording, &result);
	r = write_workload(options, workload);
	workload_free(workload);
	return r || !options->arrivals ? r : write_arrivals(options, &recording->fold);
}

int plan_record(const struct record_options *options)
{
	struct recording recording = {0};
	char why[QUERY_WHY_MAX];
	struct query query;
	int r;

	if (strlen(options->tenant) >= SLUICE_NAME_MAX)
		return cmd_fail("there is no tenant of so long a name");
	if (query_open(&query, options->socket, why) < 0)
		return cmd_fail("%s", why);
	r = listen_for(&query, options, &recording, why);
	query_close(&query);
	/* A program that ends on the way has been recorded until then. */
	if (r == -ESRCH && recording.fold.records)
		r = 0;
	r = r ? cmd_fail("%s", why) : make(options, &recording);
	fold_finish(&recording.fold);
	return r;
}
