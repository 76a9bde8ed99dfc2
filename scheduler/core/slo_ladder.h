/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SLO_LADDER_H
#define CORE_SLO_LADDER_H

/*
 * One number for how much best-effort work may cost a latency tenant: the level, in thousandths.
 * Continuous within a rung, and monotone: more of it is more best-effort work and a longer tail.
 *
 *   -1..-0.5  nothing for longer and longer after the latency tenant went idle: up to a second
 *   -0.5..0   window 50 -> 100 us, guard 1.2 -> 0.2 ms
 *   0..1      window 100 -> 300 us, guard 200 -> 60 us; runs into no expected arrival
 *   1..2      window 300 us -> 1 ms; an expected arrival is kept free less and less
 *   2..3      window 1 ms; on 0.4 of the SMs beside the active tenant, at the beginning of its busy
 *             period, for 0.05 -> 1.55 of its service time
 *   3..4      0.4 -> 0.6 of the SMs, for longer and longer; at 4 without end
 *   4..5      0.6 of the SMs -> all
 *
 * Figures of the policy study (HACKING.md). Above 2 launches must be kept to part of the SMs, and
 * processes must overlap. Pure.
 */

#include <stdint.h>

#define LEVEL_LEAST (-1000)
#define CLOSED_GUARD_NS 1000000000ull /* only the least level has such a guard */
#define LEVEL_FLOOR (-500)
#define LEVEL_START 1000
#define LEVEL_IDLE_ONLY 2000	 /* without partitions: nothing beside an active tenant */
#define LEVEL_CEILING 3500	 /* above it the tail explodes ... */
#define LEVEL_CEILING_LOOSE 3750 /* ... and is not worth it for less than +15 % */
#define LEVEL_MOST 5000

#define LADDER_NO_LIMIT UINT32_MAX

struct slo_setting {
	uint64_t window_ns;
	uint64_t guard_ns;
	uint32_t cap_permille;	/* of the SMs, beside an active tenant; 0: none */
	uint32_t busy_permille; /* of the service time alone; LADDER_NO_LIMIT: all the time */
	uint32_t
		quiet_permille; /* of the times at which an arrival is expected, the part kept free */
};

struct slo_setting slo_ladder(int32_t level);

#endif
