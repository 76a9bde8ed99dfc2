/* SPDX-License-Identifier: Apache-2.0 */
#include "slo_ladder.h"

#define US 1000ull
#define QUIET_MOST 1000u /* all of them */

/* From a to b as level goes from `from` to `to`. */
static uint64_t ladder_between(uint64_t a, uint64_t b, int32_t level, int32_t from, int32_t to)
{
	uint64_t part = (uint64_t)(level - from), whole = (uint64_t)(to - from);

	return b >= a ? a + (b - a) * part / whole : a - (a - b) * part / whole;
}

/* Below the floor the guard doubles every 0.05: from 1.2 ms to a second and more. */
static uint64_t ladder_long_guard_ns(int32_t level)
{
	uint64_t guard_ns = 1200 * US;
	int32_t below = LEVEL_FLOOR - level;

	for (; below >= 50; below -= 50)
		guard_ns *= 2;
	return guard_ns + guard_ns * (uint64_t)below / 50;
}

static struct slo_setting ladder_idle(int32_t level)
{
	struct slo_setting setting = {.guard_ns = 60 * US, .quiet_permille = QUIET_MOST};

	if (level < LEVEL_FLOOR) {
		setting.window_ns = 50 * US;
		setting.guard_ns = ladder_long_guard_ns(level);
	} else if (level < 0) {
		setting.window_ns = ladder_between(50 * US, 100 * US, level, LEVEL_FLOOR, 0);
		setting.guard_ns = ladder_between(1200 * US, 200 * US, level, LEVEL_FLOOR, 0);
	} else if (level < 1000) {
		setting.window_ns = ladder_between(100 * US, 300 * US, level, 0, 1000);
		setting.guard_ns = ladder_between(200 * US, 60 * US, level, 0, 1000);
	} else {
		setting.window_ns = ladder_between(300 * US, 1000 * US, level, 1000, 2000);
		setting.quiet_permille = (uint32_t)ladder_between(QUIET_MOST, 0, level, 1000, 2000);
	}
	return setting;
}

static struct slo_setting ladder_beside(int32_t level)
{
	struct slo_setting setting = {
		.window_ns = 1000 * US, .guard_ns = 60 * US, .busy_permille = LADDER_NO_LIMIT};
	uint32_t above = (uint32_t)(level - LEVEL_IDLE_ONLY);

	if (level < 3000) {
		setting.cap_permille = 400;
		setting.busy_permille = 50 + 1500 * above / 1000 * above / 1000;
	} else if (level < 4000) {
		setting.cap_permille = (uint32_t)ladder_between(400, 600, level, 3000, 4000);
		setting.busy_permille = 1550 * 1000 / (uint32_t)(4000 - level);
	} else {
		setting.cap_permille = (uint32_t)ladder_between(600, 1000, level, 4000, 5000);
	}
	return setting;
}

struct slo_setting slo_ladder(int32_t level)
{
	if (level < LEVEL_LEAST)
		level = LEVEL_LEAST;
	if (level > LEVEL_MOST)
		level = LEVEL_MOST;
	return level <= LEVEL_IDLE_ONLY ? ladder_idle(level) : ladder_beside(level);
}
