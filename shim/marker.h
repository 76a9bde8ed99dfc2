/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_MARKER_H
#define SHIM_MARKER_H

/*
 * The marker words of the channel page: their registration with a context, and which stream has
 * which word. A word is given to another stream only after the last sequence written to it has
 * landed. A registration belongs to a context, serves that one alone, and goes with it.
 *
 * Words: with the stream's lock. The registration has a lock of its own, which is held across the
 * driver's call.
 */

#include <stdbool.h>

#include "stream_state.h"

/* Gives the stream a word of its gate's page, if one is free, and back. */
bool marker_take(struct stream_state *stream);
void marker_give_back(struct stream_state *stream);

/* Makes the GPU write the next sequence to the stream's word when it comes there. The stream's
 * context is current. False: this context cannot. */
bool marker_place(struct stream_state *stream, struct stream_mark *mark);

/* Is the word one of the present page's? And is that page the one that can be registered, or are we
 * between two? Without a session every page is. */
bool marker_is_of_page(const struct stream_state *stream);
bool marker_page_is_here(const struct gate *gate);

/* Has the sequence landed? */
bool marker_has(const struct stream_state *stream, uint32_t seq);

/* Makes the context current for a driver call of our own, if it is not; leave takes the answer. */
bool marker_context_enter(CUcontext context);
void marker_context_leave(bool pushed);

/* A context goes, and its registration with it. landed: no marker of its streams is on the way, so
 * that the registration can be undone first. Not under gate->lock. */
void marker_context_dying(CUcontext context, bool landed);

void marker_forked(void);

#endif
