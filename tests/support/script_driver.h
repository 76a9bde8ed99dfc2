/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SCRIPT_DRIVER_H
#define TESTS_SCRIPT_DRIVER_H

/*
 * A driver that the test scripts: it fills the shim's table of real entries with functions that
 * queue what they are given and complete it when the test says so. One device, one context, made
 * current everywhere. Stream handles are SCRIPT_STREAM(0..); those from SCRIPT_STREAMS on share one
 * queue. The GPU sees registered memory elsewhere than the host does. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "real.h"

#define SCRIPT_STREAMS 8
#define SCRIPT_STREAM(n) ((CUstream)(uintptr_t)(0x1000 + 0x100 * (n)))
#define SCRIPT_CONTEXT ((CUcontext)(uintptr_t)0x10)

enum script_op {
	SCRIPT_KERNEL,
	SCRIPT_WRITE, /* a marker word */
	SCRIPT_EVENT,
	SCRIPT_COPY,
	SCRIPT_HOST, /* a callback; run, under the driver's lock, when it is completed */
};

struct script {
	bool is_immediate;	/* whatever is queued completes at once */
	bool has_memory_ops;	/* cuStreamWriteValue32 works; else it is refused */
	float elapsed_ms;	/* between any two events */
	CUresult launch_result; /* of launches and copies */
	CUresult failure;	/* of all that asks or waits, once it is set */
	unsigned int stream_flags;
	bool is_pageable; /* host memory, which copies into it are waited for then */
	uint64_t registrations;
	uint64_t copied_bytes;
	_Atomic uint64_t
		faults; /* what a real driver, GPU or capture would not survive: a destroyed event
			    or stream, a write to what is not registered, a question to a stream
			    that captures */
	/* Calls on events, streams and registrations that another thread's capture would make
	 * unsafe: in another capture mode than relaxed. */
	uint64_t strict;
	CUcontext context;
	CUcontext gone;	      /* to make it current is a fault */
	CUhostFn host;	      /* what the driver was last given to call, by cuLaunchHostFunc */
	CUresult host_status; /* that callbacks of cuStreamAddCallback are told */
	_Atomic uint64_t questions;	   /* cuStreamQuery, ever */
	bool is_down;			   /* any question is a fault */
	void (*on_write)(CUstream stream); /* inside the driver's call that places a marker word */
	void (*on_copy_out)(void);	   /* inside a blocking copy, before it returns */
};

extern struct script script;

/* Forgets everything and fills the table. */
void script_start(void);

/* Completes the first `count` operations of a stream (UINT32_MAX: all). */
void script_complete(CUstream stream, uint32_t count);

/* What the stream was given, ever: one letter each (K W E C H), NUL-terminated. */
const char *script_log(CUstream stream);

/* How many of one kind, over all streams. */
uint32_t script_count(enum script_op op);

void script_set_capturing(CUstream stream, bool capturing);

/* The current context's events and registrations are no more; another is current from now on. */
void script_change_context(CUcontext context);

/* Attaches the shim to the arbiter at the socket, as cuInit would, and registers device 0. */
void script_attach(const char *socket, const char *tenant);

/* Sets the shim back to what it is at process start. */
void script_detach(void);

#endif
