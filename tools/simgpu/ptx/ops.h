/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_OPS_H
#define SIMGPU_PTX_OPS_H

/*
 * The table of lane-wise instructions: what PTX calls them, what their operands are, what runs
 * them. The rows and handlers are compiled twice, for any x86-64 processor and for those with AVX2
 * and FMA (isa_*.c; AVX-512 was measured and is no quicker); ops_open takes what this machine
 * runs. Results do not differ. Keys that begin with '=' are internal and no PTX text.
 */

#include "ptx/insn.h"

enum op_mod {
	MOD_ROUND = 1,	/* .rn .rz .rm .rp */
	MOD_FTZ = 2,	/* .ftz */
	MOD_SAT = 4,	/* .sat, as a clamp to [0, 1] of the result */
	MOD_APPROX = 8, /* .approx .full: no other result than the exact form's */
	MOD_RN = 16,	/* .rn only */
};

struct op_row {
	const char *op;	   /* "mul.wide" */
	const char *types; /* the parts that may follow, blank-separated; "": none */
	insn_fn fn;
	const char *sig; /* a class letter per operand, the result first; see decode.h */
	uint8_t mods;
};

struct op_set {
	const char *name;
	const struct op_row *const *table;
	const unsigned *rows;
	unsigned tables;
};

extern const struct op_set ops_base, ops_avx2;

struct op_index;
/* NULL: no memory. SIMGPU_PTX_ISA=base in the environment asks for less than the best. */
struct op_index *ops_open(void);
void ops_close(struct op_index *index);
const struct op_row *ops_find(const struct op_index *index, const char *key);

#endif
