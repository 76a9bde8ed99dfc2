/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_RESIDENCY_H
#define PLAN_RESIDENCY_H

/*
 * Which model's weights are brought in when not all of them fit on the device, and which go, after
 * ESFF's treatment of cold starts: a model that is not there and has `waiting` requests costs
 * (swap + waiting * exec) / waiting each, and the least goes first. It is loaded only where its
 * queue gains more than the models that must go for it lose; and only models that serve no request
 * go, so that swaps happen where a request has been completed.
 *
 * Both sides are waiting time, summed over requests. A queue gains what it has waited so far: that
 * grows until the load is worth while, so nobody waits for ever, and nothing has to be guessed. A
 * model that goes loses what its own queue has waited, for each of those the time until it can be
 * back, and a swap for each request that is expected until the other's queue is served. Counting
 * its queue's own waiting is what keeps two long queues from throwing each other out after every
 * request.
 *
 * Pure. Times in ns, below 2^50.
 */

#include <stdbool.h>
#include <stdint.h>

#define RESIDENCY_MOST 64u
#define RESIDENCY_NONE UINT32_MAX

/* Policy `residency`'s option `rule`. */
enum residency_rule {
	RESIDENCY_ARRIVAL, /* the oldest request's; the least recently used one goes */
	RESIDENCY_WEIGHT,  /* ESFF's weights, compared with that of who would go */
	RESIDENCY_GAIN,	   /* that below */
};

struct residency_model {
	uint64_t bytes;
	uint64_t swap_ns;   /* to bring it in, on an idle link */
	uint64_t exec_ns;   /* a request */
	uint32_t waiting;   /* requests that came and have not begun */
	uint64_t waited_ns; /* so long have they waited, together */
	uint64_t gap_ns;    /* between its requests, mean; 0: not known, none is expected */
	bool resident;	    /* or on its way */
	bool busy;	    /* serves a request, or is on its way */
};

struct residency_choice {
	uint32_t load;	/* index; RESIDENCY_NONE: nothing for now */
	uint64_t evict; /* a bit for each that goes for it */
};

/* `room_bytes`: of the device, for all. At most RESIDENCY_MOST models. */
void residency_choose(const struct residency_model *model, uint32_t count, uint64_t room_bytes,
		      struct residency_choice *ret_choice);

#endif
