/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_PROFILE_H
#define SHIM_PROFILE_H

/*
 * Exact durations of all kernels from CUPTI, where `sluice run --profile` asks for them: they go
 * into the prediction in place of event pairs. A record is matched to what was launched by the
 * kernel's name and dimensions, so that launches themselves do nothing for it.
 *
 * CUPTI serves one tool a process. One that is there already is left alone: nothing is started.
 * One that comes later, by loading CUPTI or by calling it, finds the activities off and callbacks
 * of its own in force; they are not turned on again.
 *
 * Threads: any; records come in a thread of CUPTI's.
 */

#include <stdbool.h>

#include "cupti_abi.h"
#include "known.h"

/* Once, when the process is managed; does nothing unless the environment asks for it. */
void profile_start(void);

/* With these calls instead of a library's. False: another tool is there. */
bool profile_begin(const struct cupti_calls *calls);

bool profile_is_on(void);

/* The entry is of that kernel: its records are known by it. */
void profile_note(struct predict_entry *entry, struct sample_what what);

/* Somebody else uses CUPTI from now on. */
void profile_yield(void);

/* A library of that name is about to be loaded: is it CUPTI? */
void profile_look_at(const char *library);

void profile_forked(void);

#endif
