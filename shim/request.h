/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_REQUEST_H
#define SHIM_REQUEST_H

/*
 * Requests of a latency-critical tenant: from the first launch after idle to the call that shows
 * all of it drained. While one is open the device's activity is marked, by the number of streams
 * that have work of it.
 *
 * A stream is `quiet` while it has none. The launch and the drain meet as in Dekker's algorithm: a
 * launch adds to the stream's launched_ns and then reads `quiet`; a drain sets `quiet` and then
 * reads launched_ns. So either the launch comes here, or the drain sees that there is more.
 *
 * All with gate->lock, but for request_is_tracked. Service times are CLOCK_MONOTONIC ns.
 */

#include <stdbool.h>
#include <stdint.h>

#include "stream_state.h"

/* Does the device's grant make this process mark its activity? */
bool request_is_tracked(const struct gate *gate);

/* The tenant has become latency-critical, or is it no longer: all streams start quiet or not. */
void request_retrack(struct gate *gate);

/* The launch on a quiet stream: opens a request or joins the open one. key: what is launched, by
 * which the length of such a request is remembered. */
void request_launch(struct stream_state *stream, uint64_t key, uint64_t now_ns);

/* request_launch is about to come: what it touches is fetched. */
void request_warm(const struct gate *gate, uint64_t key);

/* The stream was seen complete up to launched_ns. True: nothing more has been launched since, and
 * its mark is gone. */
bool request_drained(struct stream_state *stream, uint64_t launched_ns, uint64_t now_ns);

/* A stream that is not quiet goes away, or has become quiet: one mark less. now_ns 0: look. */
void request_stream_drained(struct stream_state *stream, uint64_t now_ns);

/*
 * An application that learns of the end in a way that is not seen (a callback, a word of memory) is
 * assisted: once the watch thread has found an end that nothing showed, it looks for those that
 * follow, until the application has shown some in a row itself.
 */

/* A call of the application has shown that all is done. */
void request_shown(struct gate *gate, uint64_t now_ns);

/* The watch thread has found that all is done. */
void request_found(struct gate *gate, uint64_t now_ns);

/* When it is to look next, having looked at looked_ns last; 0: not by itself. */
uint64_t request_look_ns(const struct gate *gate, uint64_t looked_ns);

/* How long nothing may be launched, once all is empty, for that to be the end. */
uint64_t request_settle_ns(const struct gate *gate);

/* A range that counts as a request has been open for so long: noted on each device that had work in
 * it. Not with gate->lock. */
void request_range(uint64_t arrival_ns, uint64_t end_ns);

void request_forked(void);

#endif
