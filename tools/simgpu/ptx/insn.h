/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_INSN_H
#define SIMGPU_PTX_INSN_H

/*
 * What the parser makes and the interpreter runs: modules, functions, decoded instructions.
 * Everything here is immutable once ptx_module_create has returned, but for the addresses of
 * globals (before any run) and the store of arenas (under its lock). Lives in the module's pool.
 *
 * A register of a warp is an array of 32 lanes: 32 bits each for types up to 32 bits (8- and
 * 16-bit values zero-extended), 64 bits each for 64-bit types; a predicate is one word, a bit per
 * lane. An operand is a byte offset into the frame (registers) or, with bit 0 set, into the
 * function's constants, which are arrays of equal lanes too: handlers do not tell them apart.
 */

#include <pthread.h>

#include "ptx/pool.h"
#include "ptx/ptx.h"
#include "ptx/special.h"

#define LANES 32u
#define ALL_LANES UINT32_MAX

struct warp;
struct insn;

/* Does one instruction for the lanes in warp->mask; returns the next, or LEAVE to give the warp
 * back to its scheduler (warp->pc says where it goes on). */
typedef const struct insn *(*insn_fn)(struct warp *warp, const struct insn *in);
#define LEAVE ((const struct insn *)UINTPTR_MAX)

#define OPERAND_NONE UINT32_MAX

/* While a function is being decoded, an operand is (index << 2) | one of these. */
enum operand_space {
	OPERAND_VREG = 0,    /* virtual register */
	OPERAND_CONST = 1,   /* constant of the function */
	OPERAND_SPECIAL = 2, /* pinned slot, filled when a frame is made */
};

enum insn_flag {
	INSN_LIST_DST = 1,    /* `n` operands at list[e] are written */
	INSN_LIST_SRC = 2,    /* ... are read */
	INSN_EARLY = 4,	      /* writes before it has read everything: no slot in common */
	INSN_ENDS_BLOCK = 8,  /* control may go elsewhere */
	INSN_NO_FALL = 16,    /* ... and never to the next instruction when not predicated */
	INSN_HAS_TARGET = 32, /* aux.target */
	INSN_TARGETS = 64,    /* list[imm] .. list[imm + n): instruction indices */
	INSN_MOVE = 128,      /* d = a, nothing else */
};

/* How floating point is set while an instruction runs: PTX's .rn .rz .rm .rp and .ftz. */
enum fp_mode { FP_RN = 0, FP_RM = 1, FP_RP = 2, FP_RZ = 3, FP_FTZ = 4, FP_ANY = 255 };

struct insn {
	insn_fn fn;
	union {
		const struct insn *target;
		const struct ptx_function *callee;
		void (*atomic)(void *address, uint64_t b, uint64_t c, uint64_t *ret_old);
		uint64_t bits;
	} aux;
	int64_t imm;
	uint32_t d, d2;	     /* written */
	uint32_t a, b, c, e; /* read */
	uint32_t pred;	     /* guard, OPERAND_NONE: none */
	uint32_t line;	     /* of the text */
	uint32_t name;	     /* the mnemonic: offset into the module's names */
	uint8_t pred_negate;
	uint8_t fp_mode;
	uint8_t flags;
	uint8_t n; /* operands in the list; element type or kind elsewhere */
};

_Static_assert(sizeof(struct insn) == 64, "one cache line per instruction");

/* Where a constant's value comes from when it is more than a number. */
enum reloc_kind {
	RELOC_NONE,
	RELOC_GLOBAL,	/* address of global `index` */
	RELOC_FUNCTION, /* address of function `index` */
	RELOC_SHARED,	/* offset after the module's common shared variables */
};

struct reloc {
	enum reloc_kind kind;
	uint32_t index;
	uint32_t offset; /* of the constant in `consts`, or of the word in a global's bytes */
	uint32_t size;	 /* bytes, in a global */
	uint64_t addend;
};

/* A parameter of a .func: where it lies in the frame's local memory. */
struct formal {
	uint32_t local_offset;
	uint32_t size;
	uint32_t vreg; /* while parsing: a .reg parameter's operand, or OPERAND_NONE */
	uint32_t type; /* enum ptx_type */
};

struct ptx_function {
	struct ptx_function_info info;
	struct ptx_module *module;
	struct ptx_function *alias; /* what runs in its place, or NULL */
	struct insn *code;
	uint32_t *list;
	uint8_t *consts; /* 64-byte aligned */
	struct reloc *reloc;
	uint32_t *callee; /* function indices, direct calls */
	struct formal *formal, *result;
	uint32_t insns, relocs, callees, formals, results;
	uint32_t frame_bytes;			 /* registers of a warp */
	uint32_t local_bytes;			 /* one thread's, this function alone */
	uint32_t stack_bytes;			 /* one thread's, with all that it calls */
	uint32_t shared_own;			 /* bytes of its own static shared variables */
	uint32_t special_offset[SPECIAL_PINNED]; /* OPERAND_NONE: not used */
	uint32_t index, line;
	bool is_entry, is_defined;
	bool uses_common_shared;
	bool calls_unknown; /* an indirect call, or recursion: stack depth is not known */
	bool refused;
	struct ptx_error refusal;
};

struct module_global {
	struct ptx_global info;
	const uint8_t *bytes; /* initial value, NULL: zeroes */
	struct reloc *reloc;
	uint32_t relocs;
	void *address;
};

struct arena {
	struct arena *next;
	size_t size;
	uint8_t *base;
};

struct ptx_module {
	struct pool pool;
	struct ptx_function **function; /* all, by ptx_function.index */
	struct ptx_function **entry;	/* kernels that are defined, in the order of the text */
	struct module_global *global;
	const char *names; /* mnemonics, NUL after each */
	uint32_t functions, entries, globals;
	uint32_t common_shared; /* bytes of module-scope shared variables */
	uint32_t const_bytes;
	uint32_t dynamic_align; /* of .extern .shared, at least 16 */
	/* Memory of past runs, kept for the next ones. */
	pthread_mutex_t arena_lock;
	struct arena *arenas;
	uint32_t arenas_kept;
};

#endif
