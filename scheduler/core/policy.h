/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_POLICY_H
#define CORE_POLICY_H

/*
 * A policy decides who may launch on one device. `decide` runs after every event that may change
 * the answer, looks at the device's gates and sets, for each, gate->next and gate->next_watch
 * (both preset to closed and unwatched), gate->next_counts for latency processes (preset false),
 * and device->next_ns (preset CORE_NEVER). It keeps its state in the device (turns, virtual
 * times); the engine tells the caller what changed.
 *
 * A new policy is a file policy_NAME.c and a line in policy.c.
 */

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct device;

struct policy {
	const char *name;
	void (*decide)(struct engine *engine, struct device *device, uint64_t now_ns);
	/* Do processes of the device take turns? */
	bool (*has_turns)(const struct device *device);
};

extern const struct policy policy_share;
extern const struct policy policy_slo;

const struct policy *policy_find(const char *name); /* NULL: there is none of that name */
/* Walks the registry: NULL past the end. */
const struct policy *policy_at(unsigned int index);

#endif
