/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_PICK_H
#define PLAN_PICK_H

/*
 * Which of the launches that are ready goes next, on a device where processes overlap: orders from
 * papers. Pure, integers. What they know (class, width, what is left of a request) the planner's
 * workloads say; the arbiter of a real device sees none of it.
 */

#include <stdint.h>

enum pick_order {
	PICK_FAIR,     /* who has used least, by weight */
	PICK_CLASS,    /* beside a kernel of another class (HSV, DynaFlow); then as PICK_FAIR */
	PICK_NARROW,   /* who needs the fewest SMs */
	PICK_SHORTEST, /* who has least left */
	PICK_BY_LOAD,  /* narrow first while SMs are idle, else least left first (Berg et al.) */
};

#define PICK_CLASSES 3 /* enum workload_class */

/* What runs of others. */
struct pick_beside {
	uint32_t procs, sms;
	uint32_t of_class[PICK_CLASSES]; /* kernels */
};

/* A process with a launch that is ready. */
struct pick_ready {
	uint32_t sms; /* that it can use, at most the device's */
	uint8_t bw_class;
	uint64_t left_ns;    /* of its request, predicted */
	uint64_t virtual_ns; /* used, over its weight */
	struct pick_beside beside;
};

/* What BY_LOAD comes to; the others are what they are. */
enum pick_order pick_now(enum pick_order order, uint32_t load_permille, uint32_t light_permille);
/* Index of the one that goes; `count` at least 1. Equals: the first; not BY_LOAD. `slack_ns`: CLASS: nobody is
 * passed over who has used so much less. */
uint32_t pick_next(enum pick_order order, const struct pick_ready *ready, uint32_t count,
		   uint64_t slack_ns);

/* Busy SMs over a window, of all. */
struct pick_load {
	uint32_t busy_sms;
	uint64_t since_ns, window_start_ns, sum; /* SM ns in the window so far */
	uint32_t permille;			 /* of windows so far, the last ones above all */
};
/* From now on so many are busy. */
void pick_load_note(struct pick_load *load, uint32_t busy_sms, uint32_t sms, uint64_t window_ns,
		    uint64_t now_ns);

#endif
