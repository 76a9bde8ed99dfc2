/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ROUND_H
#define CORE_ROUND_H

#include "state.h"

/* One round of decisions on every device: presets, the policy, and actions for what changed. */
void round_run(struct engine *engine, uint64_t now_ns);

#endif
