/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_EVENT_H
#define SIMGPU_EVENT_H

/* Events inside the driver; exec->lock is held. */

#include "driver/exec.h"

struct graph_node;
struct stream;

struct event {
	uint32_t magic;
	unsigned int flags;
	struct home *home;
	struct op *op;	  /* counted; the last record */
	uint64_t capture; /* id of the capture it was recorded in; 0: none */
	struct graph_node **node;
	size_t nodes;
	struct event *next;
};

/* NULL: not an event. Without the lock. */
struct event *event_get(CUevent handle);
/* Outside capture: queues the record and binds the event to it. */
CUresult event_record(struct event *event, struct stream *stream);
/* Forgets what it was recorded as. */
void event_unbind(struct event *event);
void event_drop_home(struct home *home);

#endif
