/* SPDX-License-Identifier: Apache-2.0 */
/* The module as a whole: creation, what calls what, and its variables. */
#include "ptx/build.h"
#include "ptx/handlers.h"
#include "ptx/ops.h"
#include "ptx/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- after the last line ---- */

static void refuse_because(struct ptx_function *fn, const struct ptx_function *callee)
{
	if (fn->refused)
		return;
	fn->refused = true;
	fn->refusal.line = callee->refused ? callee->refusal.line : callee->line;
	if (callee->refused)
		fn->refusal = callee->refusal;
	else
		snprintf(fn->refusal.text, sizeof(fn->refusal.text),
			 "%.100s is called and not defined in this module as a function",
			 callee->info.name);
}

static struct ptx_function *resolve_alias(struct ptx_function *fn)
{
	return fn->alias && !fn->is_defined ? fn->alias : fn;
}

/* Calls were bound to names; some names stand for other functions. */
static void bind_aliases(struct ptx_function *fn)
{
	for (uint32_t i = 0; i < fn->insns; i++) {
		struct insn *in = &fn->code[i];

		if (in->fn == flow_call)
			in->aux.callee = resolve_alias(fn->module->function[in->aux.callee->index]);
	}
}

/* What callees need, their callers need. `state`: 1 while a function is being looked at, which
 * is where recursion shows; 2 afterwards. */
static void close_calls(struct ptx_module *module, struct ptx_function *fn, uint8_t *state,
			unsigned depth)
{
	uint32_t deepest = 0;

	state[fn->index] = 1;
	for (uint32_t i = 0; i < fn->callees; i++) {
		struct ptx_function *callee = resolve_alias(module->function[fn->callee[i]]);

		/* A kernel reads the launch's own parameters: it is no callee, by any name. */
		if (!callee->is_defined || callee->is_entry) {
			refuse_because(fn, callee);
			continue;
		}
		if (state[callee->index] == 1 || depth > 1000) {
			fn->calls_unknown = true;
			continue;
		}
		if (!state[callee->index])
			close_calls(module, callee, state, depth + 1);
		if (callee->refused)
			refuse_because(fn, callee);
		fn->calls_unknown |= callee->calls_unknown;
		fn->uses_common_shared |= callee->uses_common_shared;
		fn->info.uses_grid_sync |= callee->info.uses_grid_sync;
		deepest = callee->stack_bytes > deepest ? callee->stack_bytes : deepest;
		fn->info.regs =
			callee->info.regs > fn->info.regs ? callee->info.regs : fn->info.regs;
	}
	fn->stack_bytes = fn->local_bytes + deepest;
	state[fn->index] = 2;
}

static int close_all_calls(struct parser *p)
{
	uint8_t *state = calloc(p->functions + 1, 1);

	if (!state)
		return parse_no_memory(p);
	for (uint32_t i = 0; i < p->functions; i++) {
		if (p->module->function[i]->is_defined && !state[i])
			close_calls(p->module, p->module->function[i], state, 0);
	}
	free(state);
	return 0;
}

static void const_write(const struct ptx_function *fn, const struct reloc *reloc, uint64_t value)
{
	for (unsigned lane = 0; lane < LANES; lane++)
		memcpy(fn->consts + reloc->offset + lane * reloc->size, &value, reloc->size);
}

static void place_shared(struct ptx_module *module, struct ptx_function *fn)
{
	uint32_t start = fn->uses_common_shared ? module->common_shared : 0;

	start = (start + 127) / 128 * 128;
	fn->info.shared_bytes = fn->shared_own
					? start + fn->shared_own
					: (fn->uses_common_shared ? module->common_shared : 0);
	for (uint32_t i = 0; i < fn->relocs; i++) {
		if (fn->reloc[i].kind == RELOC_SHARED)
			const_write(fn, &fn->reloc[i], start + fn->reloc[i].addend);
	}
}

static void place_functions(struct ptx_module *module, const struct ptx_function *fn)
{
	for (uint32_t i = 0; i < fn->relocs; i++) {
		const struct reloc *reloc = &fn->reloc[i];

		if (reloc->kind == RELOC_FUNCTION)
			const_write(
				fn, reloc,
				(uint64_t)(uintptr_t)resolve_alias(module->function[reloc->index]));
	}
}

static int order_functions(struct parser *p)
{
	struct ptx_module *module = p->module;
	uint32_t at = 0;

	module->function =
		pool_copy(&module->pool, p->function, p->functions * sizeof(struct ptx_function *));
	module->entry = pool_alloc(&module->pool, (p->functions + 1) * sizeof(*module->entry));
	if (!module->function || !module->entry)
		return parse_no_memory(p);
	module->functions = p->functions;
	for (uint32_t i = 0; i < p->functions; i++) {
		if (p->function[i]->is_entry && p->function[i]->is_defined)
			module->entry[at++] = p->function[i];
	}
	module->entries = at;
	return 0;
}

static int module_finish(struct parser *p)
{
	struct ptx_module *module = p->module;

	/* A module of variables alone has none. */
	module->names = pool_string(&module->pool, p->name_text ? p->name_text : "", p->name_bytes);
	module->global = pool_copy(&module->pool, p->global, p->globals * sizeof(*p->global));
	if (!module->names || !module->global)
		return parse_no_memory(p);
	module->globals = p->globals;
	if (order_functions(p) || close_all_calls(p))
		return p->failed;
	for (uint32_t i = 0; i < module->functions; i++) {
		struct ptx_function *fn = module->function[i];

		fn->info.const_bytes = module->const_bytes;
		if (fn->is_defined && !fn->refused) {
			place_shared(module, fn);
			place_functions(module, fn);
			bind_aliases(fn);
		}
	}
	return 0;
}

/* ---- creation ---- */

static void parser_free(struct parser *p)
{
	names_free(&p->names);
	names_free(&p->mnemonics);
	free(p->symbol);
	free(p->scope_parent);
	free(p->function);
	free(p->global);
	free(p->name_text);
	ops_close((struct op_index *)p->ops);
}

static int parser_start(struct parser *p, const char *text, uint32_t cc, struct ptx_error *error)
{
	*p = (struct parser){.error = error, .cc = cc};
	p->module = calloc(1, sizeof(*p->module));
	if (!p->module)
		return parse_no_memory(p);
	pthread_mutex_init(&p->module->arena_lock, NULL);
	p->module->dynamic_align = 16;
	p->ops = ops_open();
	if (!p->ops)
		return parse_no_memory(p);
	lex_start(&p->lex, text);
	return scope_open(p);
}

struct ptx_module *ptx_module_create(const char *text, uint32_t cc, struct ptx_error *ret_error)
{
	struct ptx_module *module;
	struct parser p;
	int rc;

	*ret_error = (struct ptx_error){0};
	rc = parser_start(&p, text, cc, ret_error);
	if (!rc)
		rc = module_parse(&p);
	if (!rc)
		rc = module_finish(&p);
	module = p.module;
	parser_free(&p);
	if (!rc)
		return module;
	ptx_module_destroy(module);
	return NULL;
}

void ptx_module_destroy(struct ptx_module *module)
{
	if (!module)
		return;
	while (module->arenas) {
		struct arena *arena = module->arenas;

		module->arenas = arena->next;
		free(arena->base);
		free(arena);
	}
	pthread_mutex_destroy(&module->arena_lock);
	pool_free(&module->pool);
	free(module);
}

/* ---- functions ---- */

uint32_t ptx_module_functions(const struct ptx_module *module)
{
	return module->entries;
}

const struct ptx_function *ptx_module_function(const struct ptx_module *module, uint32_t index)
{
	return index < module->entries ? module->entry[index] : NULL;
}

const struct ptx_function *ptx_module_find(const struct ptx_module *module, const char *name)
{
	for (uint32_t i = 0; i < module->entries; i++) {
		if (!strcmp(module->entry[i]->info.name, name))
			return module->entry[i];
	}
	return NULL;
}

const struct ptx_function_info *ptx_function_get_info(const struct ptx_function *function)
{
	return &function->info;
}

/* ---- globals ---- */

uint32_t ptx_module_globals(const struct ptx_module *module)
{
	return module->globals;
}

const struct ptx_global *ptx_module_global(const struct ptx_module *module, uint32_t index)
{
	return index < module->globals ? &module->global[index].info : NULL;
}

void ptx_module_place_global(struct ptx_module *module, uint32_t index, void *address)
{
	if (index >= module->globals)
		return;
	module->global[index].address = address;
	for (uint32_t f = 0; f < module->functions; f++) {
		const struct ptx_function *fn = module->function[f];

		for (uint32_t i = 0; i < fn->relocs; i++) {
			const struct reloc *reloc = &fn->reloc[i];

			if (reloc->kind == RELOC_GLOBAL && reloc->index == index)
				const_write(fn, reloc,
					    (uint64_t)(uintptr_t)address + reloc->addend);
		}
	}
}

void ptx_module_init_globals(struct ptx_module *module)
{
	for (uint32_t g = 0; g < module->globals; g++) {
		const struct module_global *global = &module->global[g];

		if (!global->address || !global->info.size_bytes)
			continue;
		if (global->bytes)
			memcpy(global->address, global->bytes, global->info.size_bytes);
		else
			memset(global->address, 0, global->info.size_bytes);
		for (uint32_t i = 0; i < global->relocs; i++) {
			const struct reloc *reloc = &global->reloc[i];
			uint64_t value = reloc->addend;

			if (reloc->kind == RELOC_GLOBAL)
				value += (uint64_t)(uintptr_t)module->global[reloc->index].address;
			else
				value += (uint64_t)(uintptr_t)resolve_alias(
					module->function[reloc->index]);
			memcpy((uint8_t *)global->address + reloc->offset, &value, reloc->size);
		}
	}
}
