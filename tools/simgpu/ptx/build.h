/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_BUILD_H
#define SIMGPU_PTX_BUILD_H

/*
 * What the parser and the decoder share while a module is made: symbols, the function under
 * construction, the statement at hand. Functions return 0, or a negative errno after they have
 * written *parser->error; an instruction that is not interpreted is no error: it marks its
 * function as refused (build_refuse) and parsing goes on.
 */

#include "ptx/insn.h"
#include "ptx/lex.h"
#include "ptx/symbol.h"

#define STATEMENT_ARGS 8u
#define STATEMENT_PARTS 16u
#define MNEMONIC_MAX 96u

struct statement {
	uint32_t line;
	uint32_t guard; /* operand, OPERAND_NONE: none */
	bool guard_negate;
	char mnemonic[MNEMONIC_MAX]; /* whole, for messages */
	char split[MNEMONIC_MAX];    /* the parts, each NUL-terminated */
	const char *part[STATEMENT_PARTS];
	uint32_t parts;
	uint32_t name; /* offset of the mnemonic in the module's names */
	struct arg arg[STATEMENT_ARGS];
	uint32_t args;
};

struct fixup {	       /* an instruction waits for a label */
	uint32_t insn; /* UINT32_MAX: for list[entry] */
	uint32_t entry;
	uint32_t scope, line;
	const char *text;
	uint32_t length;
};

struct build_const {
	uint64_t value;
	bool wide;
	enum reloc_kind reloc;
	uint32_t index;
};

#define SCOPE_DEPTH 64u

/* The function being parsed. */
struct build {
	struct ptx_function *fn;
	struct insn *code;
	uint8_t *vreg_type; /* enum ptx_type by virtual register */
	uint32_t *list;	    /* operand lists */
	struct build_const *constant;
	uint32_t *const_slot; /* hash table of the constants */
	struct fixup *fixup;
	uint32_t *callee;
	struct ptx_param *param;
	uint32_t insns, insn_capacity, vregs, vreg_capacity, lists, list_capacity;
	uint32_t const_slots;
	uint32_t constants, constant_capacity, fixups, fixup_capacity, callees, callee_capacity;
	uint32_t params, param_capacity;
	struct formal *formal, *result;
	uint32_t formals, formal_capacity, results, result_capacity;
	uint32_t local_bytes, local_peak, shared_bytes;
	uint32_t depth;			/* of braces in the body */
	uint32_t local_at[SCOPE_DEPTH]; /* local_bytes when each was opened */
	uint32_t carry; /* the condition code's virtual register, OPERAND_NONE: none yet */
	bool special_used[SPECIAL_PINNED];
};

struct op_row;
struct op_index;

struct parser {
	struct lexer lex;
	struct ptx_module *module;
	struct ptx_error *error;
	uint32_t cc;
	int failed; /* a negative errno once something went wrong */
	struct names names;
	struct symbol *symbol;
	uint32_t symbols, symbol_capacity;
	uint32_t *scope_parent; /* by scope; 0 is the module's */
	uint32_t scopes, scope_capacity;
	uint32_t scope;
	struct ptx_function **function;
	uint32_t functions, function_capacity;
	struct module_global *global;
	uint32_t globals, global_capacity;
	char *name_text; /* mnemonics */
	uint32_t name_bytes, name_capacity;
	struct names mnemonics;
	const struct op_index *ops;
	struct build b;
	struct statement st;
	bool seen_version, seen_target;
};

/* ---- errors ---- */
int parse_fail(struct parser *p, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int parse_no_memory(struct parser *p);
int parse_unexpected(struct parser *p, const char *wanted); /* at the current token */
/* The function cannot run; first reason wins. Returns 0. */
int build_refuse(struct parser *p, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- tokens ---- */
int parse_expect(struct parser *p, char punct);
bool parse_accept(struct parser *p, char punct);
int parse_skip_braces(struct parser *p); /* current: { ; after: what follows } */

/* ---- pieces of the grammar ---- */
int expr_parse(struct parser *p, uint64_t *ret_value); /* integer constant expression */
struct variable {
	enum ptx_type type;
	struct token name;
	uint64_t size;	  /* bytes, of the whole array; 0 with is_open */
	uint32_t align;	  /* bytes */
	uint32_t element; /* bytes */
	bool is_open;	  /* name[] */
	bool is_managed;
	uint32_t regs; /* name<regs>; 0: no such suffix */
};
enum { VARIABLE_MAX_BYTES = 1 << 30 };
int variable_parse_prefix(struct parser *p, struct variable *var); /* .align .v4 .f32 ... */
int variable_parse_name(struct parser *p, struct variable *var);   /* name, <n>, [n] */
int variable_parse_global(struct parser *p, bool is_const, bool is_extern);
int variable_parse_shared(struct parser *p, bool is_extern);
int function_parse(struct parser *p, bool is_entry);
int body_parse(struct parser *p); /* from { to } */
int arg_parse(struct parser *p, struct arg *ret_arg);
int statement_parse_mnemonic(struct parser *p);
int statement_parse_args(struct parser *p); /* up to and with ; */
void statement_skip(struct parser *p);	    /* past ; */
struct ptx_function *function_find_or_add(struct parser *p, const struct token *name);

/* ---- building code ---- */
void build_start(struct parser *p, struct ptx_function *fn);
int build_finish(struct parser *p); /* labels, constants, slots: the function is ready */
void build_discard(struct parser *p);
struct insn *emit(struct parser *p, insn_fn fn); /* NULL: no memory, parser->failed is set */
struct insn *emit_to(struct parser *p, insn_fn fn, uint32_t d, uint32_t a); /* d = fn(a) */
uint32_t build_vreg(struct parser *p, enum ptx_type type);		    /* an operand */
uint32_t build_const(struct parser *p, uint64_t value, bool wide);
uint32_t build_const_reloc(struct parser *p, enum reloc_kind kind, uint32_t index, uint64_t addend,
			   bool wide);
uint32_t build_special(struct parser *p, enum special special);
uint32_t build_list(struct parser *p, const uint32_t *entry, uint32_t count); /* its start */
uint32_t build_local(struct parser *p, uint64_t size, uint32_t align);	      /* its offset */
uint32_t build_carry(struct parser *p);
int build_fixup(struct parser *p, uint32_t insn, uint32_t entry, const struct token *label);

/* ---- decoding: parser->st to instructions ---- */
int decode_statement(struct parser *p);

#endif
