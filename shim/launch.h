/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_LAUNCH_H
#define SHIM_LAUNCH_H

/*
 * The way of a launch (kernel, graph, copy, memset) through the shim:
 *
 *   if (launch_fast(tag, key))
 *           return real.call(...);                a tail call: a few loads and compares before it
 *   launch_begin(&launch, ...);                   looks, waits, marks, samples: whatever is due
 *   result = real.call(...);
 *   launch_end(&launch, result);
 *
 * Threads: any. Units: predicted ns.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch_fast.h"
#include "sample.h"

enum launch_way {
	LAUNCH_FOREIGN,	  /* not ours to look at */
	LAUNCH_UNTOUCHED, /* capturing, unmanaged: nothing noted; the thread is marked busy */
	LAUNCH_ADMITTED,  /* noted without a look */
	LAUNCH_NOTED,	  /* the thread is marked busy */
};

struct launch {
	enum launch_way way;
	struct stream_state *stream;
	struct gate *gate;
	struct sample *sample;
	_Atomic uint32_t *next; /* to be woken once the launch is made: see gate_enter */
};

#define LAUNCH_DEPENDENT (1u << 0) /* programmatic dependent launch: nothing goes before it */
#define LAUNCH_UNTIMED (1u << 1)   /* blocks, or is part of a split copy: no sample */

void launch_begin(struct launch *launch, uint64_t tag, uint32_t guess_ns, CUstream key,
		  struct sample_what what, uint32_t flags);
void launch_end(struct launch *launch, CUresult result);

/* Does this process's gate hold plain launches on the stream now (best-effort, managed)? Then
 * large copies are worth splitting. */
bool launch_is_gated(CUstream key);

/* The calling thread's number, from 1; made at first use. */
uint32_t launch_thread_number(void);

/* Does one thread alone launch in this process? */
bool launch_is_alone(void);

/* Has the thread of that number ended? */
bool launch_thread_is_gone(uint32_t number);

/* The current context of the thread changes: what it remembers of default streams is void. */
void launch_context_changed(void);

struct launch_unit {
	uint64_t key; /* see known.h; 0: none */
	uint32_t cost_ns;
	uint32_t launches; /* that were looked at */
};

/* The longest of the latest launches of this thread that make up so much predicted work. */
void launch_longest(uint64_t in_flight_ns, struct launch_unit *ret_unit);

/* A name for status: the kernel's, or the kind. */
void launch_name(struct sample_what what, char *ret_name, size_t size);

void launch_forked(void);
void launch_threads_forked(void); /* by launch_forked */

#endif
