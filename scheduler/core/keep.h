/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KEEP_H
#define CORE_KEEP_H

/*
 * Time that activity takes. While a latency tenant's activity, or the guard after it, holds those who
 * want the device, the tenant takes that time, whatever it launches and whatever it says it launched:
 * the time counts against what it may have of a period (share->kept_ns, entitle_left_of_ns). A page
 * is its owner's to write, so it is looked at when the owner cannot know; each look stands for the
 * time since the one before. Nobody is held: activity takes nothing.
 */

#include "entitle.h"

/* Once in a round, after the readings; `filter` lets those through who may be held. */
void keep_round(struct engine *engine, struct device *device, gate_filter filter, uint64_t now_ns);
/* Asks for another look, where somebody is held. */
void keep_look(struct device *device, uint64_t now_ns);

#endif
