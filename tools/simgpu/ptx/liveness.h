/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_LIVENESS_H
#define SIMGPU_PTX_LIVENESS_H

/* Where in a function under construction each virtual register holds something. */

#include "ptx/build.h"

#define NOWHERE UINT32_MAX

struct touched {
	uint32_t *operand[16]; /* places in the instruction or the list */
	uint32_t count;
};

bool is_vreg(uint32_t operand);
void reads_of(struct build *b, struct insn *in, struct touched *t);
void writes_of(struct build *b, struct insn *in, struct touched *t);

struct basic_block {
	uint32_t first, last; /* instructions */
};

struct liveness {
	struct basic_block *block;
	uint32_t *block_of; /* by instruction */
	uint32_t blocks;
	uint32_t *bit;	/* by register: its place in the sets; NOWHERE: lives in one block */
	uint32_t *vreg; /* by place in the sets */
	uint32_t bits, words;
	uint64_t *in, *out, *use, *kill;
	/* By register, first and last position; two per instruction, reads before writes. NOWHERE:
	 * not used. */
	uint32_t *start, *end;
};

/* Fills a zeroed *v. -1: no memory. liveness_free in any case. */
int liveness_find(struct build *b, struct liveness *v);
void liveness_free(struct liveness *v);

#endif
