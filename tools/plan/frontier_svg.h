/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_FRONTIER_SVG_H
#define PLAN_FRONTIER_SVG_H

/*
 * The frontier as a picture: what best-effort work gets (x) against what the latency-critical
 * tenant's p99 pays for it (y, logarithmic), once for A and once for S. Fractions of 1.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct frontier_point {
	const char *label;
	double throughput, a_over, s_over;
	bool unstable;	/* A depends on the length of the run: drawn hollow */
	uint32_t sweep; /* points of one sweep, in order, are joined by a line */
};

struct frontier {
	const char *title, *subtitle;
	double idle;		   /* 1 - load: the part that is idle alone; 0: no line for it */
	double a_target, s_target; /* over alone; NAN: none */
	const struct frontier_point *point;
	uint32_t points;
};

/* There is one point at least. 0, -EIO or -ENOMEM. */
int frontier_draw(const struct frontier *frontier, FILE *out);

#endif
