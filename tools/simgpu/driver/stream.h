/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_STREAM_H
#define SIMGPU_STREAM_H

/*
 * Streams inside the driver; exec->lock guards them. Counted: by the handle, by each queued
 * operation, by executable graphs. Their memory is used for streams again only.
 */

#include "driver/exec.h"

struct capture;
struct graph_node;

struct stream {
	uint32_t magic;
	struct home *home;
	struct exec *exec;
	unsigned int flags;
	int priority;
	uint32_t model;
	uint64_t id;
	uint64_t owner; /* thread of a per-thread stream; 0: none */
	bool is_legacy, is_internal, is_released, is_leaving;
	uint32_t refs;
	struct op *oldest, *last; /* last is counted */
	uint64_t least_ns;
	struct op *last_write;	  /* counted; the latest write-value, while not complete */
	uint64_t joined_seq;	  /* legacy operations up to this one are waited for */
	uint64_t legacy_seen_seq; /* ours that the legacy stream waits for */
	struct capture *capture;  /* NULL: not capturing */
	struct stream *capture_next;
	struct graph_node **tail; /* under capture: what the next node depends on */
	size_t tails, tail_room;
	CUlaunchAttributeValue policy_window, sync_policy, sync_domain, domain_map;
	struct stream *next; /* in home: of streams, or leaving; or free */
};

struct stream *stream_new(struct home *home, unsigned int flags, int priority);
/* The handle is gone; queued work still completes. */
void stream_drop(struct stream *stream);
void stream_put(struct stream *stream);

#endif
