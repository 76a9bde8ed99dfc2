/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_LIVES_H
#define CORE_LIVES_H

/*
 * What comes and goes: devices, tenants, processes and their gates. Each event's function returns
 * 0, -EINVAL (names what is not there, or is there already, or is still in use) or -ENOMEM; then
 * nothing has changed.
 */

#include "state.h"

/* By the caller's numbers; NULL for what is not there. */
struct device *lives_find_device(const struct engine *engine, uint32_t index);
struct tenant *lives_find_tenant(const struct engine *engine, uint32_t index);
struct process *lives_find_process(const struct engine *engine, uint32_t index);
struct gate *lives_find_gate(const struct engine *engine, uint32_t process, uint32_t device);

int lives_device(struct engine *engine, const struct event *event);
int lives_device_gone(struct engine *engine, const struct event *event);
int lives_tenant(struct engine *engine, const struct event *event);
int lives_tenant_gone(struct engine *engine, const struct event *event);
int lives_pause(struct engine *engine, const struct event *event);
int lives_join(struct engine *engine, const struct event *event);
int lives_attach(struct engine *engine, const struct event *event);
int lives_leave(struct engine *engine, const struct event *event);

#endif
