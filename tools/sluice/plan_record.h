/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_PLAN_RECORD_H
#define SLUICE_PLAN_RECORD_H

/* `sluice plan --record`: what a running tenant launches becomes a workload's file. */

struct record_options {
	const char *tenant, *socket;
	const char *output;   /* NULL: standard output */
	const char *arrivals; /* file for the gaps between its requests; NULL: none */
	double seconds;
};

/* The exit status; said why on stderr. */
int plan_record(const struct record_options *options);

#endif
