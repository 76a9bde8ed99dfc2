/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_DECODE_H
#define SIMGPU_PTX_DECODE_H

/*
 * From a statement to instructions. Most opcodes are rows of a table (ops.h); the families here
 * have a grammar of their own. All work on parser->st and emit into parser->b.
 *
 * An operand's class is a letter, as in op_row.sig: h w d are integers of 16, 32 and 64 bits, e f
 * g floats of the same sizes, x two halves, p a predicate. It says how wide a register must be
 * and what an immediate means.
 */

#include "ptx/build.h"
#include "ptx/ops.h"

uint32_t decode_src(struct parser *p, const struct scalar *scalar, char class);
uint32_t decode_dst(struct parser *p, const struct scalar *scalar, char class);
char class_of(enum ptx_type type);
bool class_is_wide(char class);
/* A new virtual register of a class. */
uint32_t decode_temp(struct parser *p, char class);
/* d = row(a); the row must exist. */
struct insn *emit_row(struct parser *p, const char *key, uint32_t d, uint32_t a);

/* The mnemonic's parts. */
bool has_part(const struct statement *st, const char *part);
bool has_only_part(const struct statement *st, const char *part); /* or none */
enum ptx_type last_type(const struct statement *st);
/* "instruction X is not interpreted": refuses the function, skips nothing. */
int refuse_statement(struct parser *p);
int want_args(struct parser *p, uint32_t least, uint32_t most);

/* One per family; they parse the rest of the statement too. */
int decode_table(struct parser *p); /* everything with a row */
int decode_mov(struct parser *p);
int decode_cvt(struct parser *p);
int decode_cvta(struct parser *p);
int decode_isspacep(struct parser *p);
int decode_setp(struct parser *p);
int decode_set(struct parser *p);
int decode_load(struct parser *p);
int decode_store(struct parser *p);
int decode_atom(struct parser *p);
int decode_lop3(struct parser *p);
int decode_nothing(struct parser *p); /* prefetch and its like */
int decode_bra(struct parser *p);
int decode_brx(struct parser *p);
int decode_call(struct parser *p);
int decode_ret(struct parser *p);
int decode_exit(struct parser *p);
int decode_trap(struct parser *p);
int decode_bar(struct parser *p);
int decode_fence(struct parser *p);
int decode_shfl(struct parser *p);
int decode_vote(struct parser *p);
int decode_match(struct parser *p);
int decode_redux(struct parser *p);
int decode_activemask(struct parser *p);
int decode_nanosleep(struct parser *p);
int decode_carry(struct parser *p); /* the .cc forms, addc, subc, madc */

/* What ret is, also at a function's end where none is written; and what comes first. */
int decode_return(struct parser *p);
int decode_prologue(struct parser *p);

#endif
