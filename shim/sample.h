/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_SAMPLE_H
#define SHIM_SAMPLE_H

/*
 * Measuring launches: an event on each side, read at some later slow path. A sample is clean when
 * the grant said all the while that nothing of another process runs and no latency tenant was
 * active; others count only for launches that never got a clean one.
 *
 * Threads: any; each sample of the small pool has one owner at a time. Outside captures only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "predict.h"
#include "stream_state.h"

struct sample;

/* What is measured, for its name in status. */
struct sample_what {
	enum predict_kind kind;
	const void *handle;  /* CUfunction of a kernel */
	uint64_t shape;	     /* digest of the dimensions or the size, alike in every run */
	void *const *params; /* its parameters, during the launch's call; NULL: not given so */
	uint64_t size;	     /* blocks of a kernel's grid, else bytes; 0: not known */
	uint32_t threads;    /* of a block; 0: not known */
	uint32_t shared_bytes;
};

/* Right before the launch; NULL: not now. The stream's context is current. */
struct sample *sample_begin(struct stream_state *stream, struct gate *gate,
			    struct predict_entry *entry, struct sample_what what);

/* Right after it. submitted: the driver took it. */
void sample_end(struct sample *sample, bool submitted);

/* Reads what is ready. Not under gate->lock. */
void sample_harvest(struct predict *predict);

/* The context's events go with it: waits for whoever is asking them. Of all contexts of a device:
 * where its primary one has been reset, others lose theirs as well. */
void sample_context_dying(CUcontext context);
void sample_device_dying(uint32_t ordinal);

void sample_forked(void);

#endif
