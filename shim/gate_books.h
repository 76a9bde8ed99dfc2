/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_GATE_BOOKS_H
#define SHIM_GATE_BOOKS_H

/*
 * What a gate knows and counts: its page, its lanes, what was launched and what is complete; and
 * the view of it all that a decision is made of. Everything with gate->lock; nothing waits.
 */

#include "gate.h"
#include "gate_decide.h"
#include "stream_state.h"

static inline uint64_t books_load_us(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed) * UINT64_C(1000);
}

static inline uint64_t books_load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void books_store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

/* Follows the grant: which activity counts, whose requests are marked. */
void books_follow(struct gate *gate);

void books_look(struct gate *gate, const struct lane *lane, uint64_t now_ns,
		struct gate_view *ret_view);

/* The launch goes: counted in the lane's slot and on the stream. */
void books_take(struct gate *gate, struct lane *lane, struct stream_state *stream, uint32_t cost_ns,
		uint64_t now_ns);

/* What was taken is a large copy: told from other work, for the arbiter. */
void books_note_copy(struct gate *gate, uint32_t cost_ns);

/* Until when the lane's fast path may go on by itself, after a launch of cost_ns that is about to be
 * taken. What the lane watches is seen anew. */
void books_allow(struct gate *gate, struct lane *lane, uint64_t cost_ns, uint64_t allowance_ns,
		 uint64_t interval_ns);

/* Takes back what other lanes have drawn and not used: idle threads keep nobody waiting. */
void books_recall(struct gate *gate, const struct lane *lane, struct gate_view *view);

#endif
