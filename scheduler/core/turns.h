/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TURNS_H
#define CORE_TURNS_H

/*
 * One process at a time, for devices on which two processes cannot run at once: the driver would
 * slice between them, and a change with a drained pipe is cheaper. At a change the open gate is
 * closed, its work drains (all seen complete, or twice its predicted time has passed with nothing
 * new), then the next opens: of those who wait the tenant that is farthest behind its share (lag.h),
 * and in it the process closed longest. A turn ends when its holder is as far ahead as one may be and
 * another waits, and at once when its holder has nothing to launch, or a latency process keeps it
 * from launching, and another waits. Nobody waits: the holder goes on.
 * A turn that ends by the clock (four quantums of time that latency processes left, or a drain that
 * is overdue) is charged as the time that others waited for it, less what latency processes took.
 */

#include "entitle.h"
#include "state.h"

#define TURN_QUANTUM_NS 5000000ull /* where no other tenant competes */

struct turn_terms {
	uint64_t window_ns, guard_ns;
	gate_filter member; /* who takes turns */
	bool copies_pass;   /* large copies of those who wait go */
};

void turns_decide(struct engine *engine, struct device *device, const struct turn_terms *terms,
		  uint64_t now_ns);
/* The holder is gone: its turn is over now. */
void turns_forget(struct device *device, const struct gate *gate);

#endif
