/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TURNS_H
#define CORE_TURNS_H

/*
 * One process at a time, for devices on which two processes cannot run at once: the driver would
 * slice between them, and a change with a drained pipe is cheaper. At a change the open gate is
 * closed, its work drains (all seen complete, or twice its predicted time has passed with nothing
 * new), then the next opens: the waiting tenant with the least virtual time, and in it the
 * process closed longest. A turn ends when its quantum is launched and another waits, and at once
 * when its holder has nothing to launch and another waits. Nobody waits: the holder goes on.
 * A turn that ends by the clock (four quantums of wall time, or a drain that is overdue) is charged
 * as the time that others waited for it, less what latency processes took of that.
 */

#include "entitle.h"
#include "state.h"

#define TURN_QUANTUM_NS 5000000ull /* of the tenant with the least share; others in proportion */
#define TURN_QUANTUM_RATIO 8u	   /* at most */

struct turn_terms {
	uint64_t window_ns, guard_ns;
	gate_filter member; /* who takes turns */
};

void turns_decide(struct engine *engine, struct device *device, const struct turn_terms *terms,
		  uint64_t now_ns);
/* The holder is gone: its turn is over now. */
void turns_forget(struct device *device, const struct gate *gate);

#endif
