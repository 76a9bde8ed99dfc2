/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_KNOWN_H
#define SHIM_KNOWN_H

/*
 * Estimates over runs: what this process measures goes to the arbiter by the ring of its channel
 * page, and what earlier runs of the same user measured comes as a page at the start. Entries of
 * the prediction table go by tags that hold addresses; here they have keys that are alike in every
 * run. An entry is *met* when its key is known; then it starts from what an earlier run knew, and
 * is measured again all the same.
 *
 * Threads: any; the table's lock serialises. Lifetime: the page stays mapped for good.
 */

#include <stdbool.h>
#include <stdint.h>

#include "predict.h"
#include "sample.h"

/* Slow paths: gives the entry its key, if it has none. ordinal: of the GPU. */
void known_meet(struct predict *predict, struct predict_entry *entry, struct sample_what what,
		uint32_t ordinal);

/* The executable graph behind the entry has just been made, of a graph with this digest (graph.h), in
 * the current context. */
void known_meet_graph(struct predict *predict, struct predict_entry *entry, uint64_t digest);

/* Is the entry that of such a graph still? Also where that cannot be told. */
bool known_is_graph(struct predict *predict, struct predict_entry *entry, uint64_t digest);

/* A part has been split off, by the launch before (a predict_number) or by a digest of scalars.
 * With the table's lock. */
void known_meet_part(struct predict *predict, struct predict_stat *part,
		     const struct predict_stat *whole, uint64_t by);

/* Tells the arbiter what is believed of the entry, if it is worth telling. One thread at a time. */
void known_tell(struct predict *predict, struct predict_entry *entry,
		struct sluice_estimate_ring *ring);

/* The arbiter's page, of so many bytes: entries that were met earlier start from it, too. 0, or
 * -EINVAL: it makes no sense. */
int known_adopt(struct predict *predict, const struct sluice_known *page, uint64_t bytes);

/* The same, with the descriptor of a page, which stays the caller's. */
int known_map(struct predict *predict, int fd);

#endif
