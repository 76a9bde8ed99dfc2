/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEMO_PHASE_H
#define DEMO_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One phase of the demo, as its programs reported it: serve.json (latencies), train.json (ends of
 * steps), and the simulated GPU's *.simgpu.json, all in one folder. Latencies are milliseconds,
 * sorted; times are CLOCK_MONOTONIC nanoseconds.
 */

struct phase {
	bool has_serve, has_train;
	double *arrival_ms; /* A: from arrival to the reply, sorted */
	double *service_ms; /* S: first launch to drain, sorted */
	size_t requests;
	double load; /* of the request stream: offered rate x service time alone */
	uint64_t seed;
	uint64_t start_ns, end_ns; /* first arrival, last reply; without a server: of the steps */
	double steps_per_s;	   /* of training, between start and end */
	uint64_t wrong_results;
	uint64_t ops, late_ops, kernels; /* simulated GPU: 0 on a real one */
};

/* Reads what the folder holds. Returns 0, or -EINVAL with one sentence that names the file. */
int phase_load(const char *folder, struct phase *ret_phase, size_t size, char *ret_why);
void phase_finish(struct phase *phase);

/* Nearest rank; permille of the sorted values. 0 where there are none. */
double phase_quantile(const double *sorted, size_t count, unsigned int permille);

#endif
