/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SLO_ALONE_H
#define CORE_SLO_ALONE_H

/*
 * How long would a request have taken alone? Learned from the requests that met no best-effort work,
 * by kind (what they launch first). Where a kind's requests differ among themselves, one that did
 * meet some is taken for the request of the same rank among those that did not: a delay keeps the
 * order. So the requests' own spread is never mistaken for interference.
 *
 * Times are ns. Plain data, owned by the caller.
 */

#include <stdbool.h>
#include <stdint.h>

#define ALONE_KINDS 8
#define ALONE_SAMPLES 64
#define ALONE_KNOWN 30u

struct slo_kind {
	uint64_t key;
	uint64_t used;	     /* when last: the request's number */
	uint64_t alone, met; /* requests, ever */
	uint64_t alone_ns[ALONE_SAMPLES], sorted_ns[ALONE_SAMPLES];
	uint64_t met_ns[ALONE_SAMPLES];
	uint64_t most_ns; /* a sample above that met something after all */
};

struct slo_alone {
	uint64_t requests;
	struct slo_kind kind[ALONE_KINDS];
};

/* Of the request's kind; 0: too few were seen. Notes the request. */
uint64_t slo_alone_service(struct slo_alone *alone, uint64_t key, uint64_t service_ns,
			   bool met_none);
/* Of the kind that is most seen: the median; 0: not known. */
uint64_t slo_alone_typical_ns(const struct slo_alone *alone);

#endif
