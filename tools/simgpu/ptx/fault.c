/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_SHOWN 48

const struct insn *fault_at(struct warp *w, const struct insn *in, uint32_t lane,
			    enum ptx_fault fault, const char *format, ...)
{
	struct run *r = w->run;
	const uint32_t *size = r->launch->block;
	uint32_t thread = w->index * LANES + lane;
	size_t room = sizeof(r->result->text);
	char *text = r->result->text;
	size_t used;
	va_list args;

	w->pc = in;
	if (r->fault)
		return LEAVE;
	r->fault = fault;
	snprintf(text, room, "%.*s: block (%u,%u,%u) thread (%u,%u,%u): ", NAME_SHOWN,
		 r->fn->info.name, w->block->id[0], w->block->id[1], w->block->id[2],
		 thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1]);
	used = strlen(text);
	va_start(args, format);
	vsnprintf(text + used, room - used, format, args);
	va_end(args);
	return LEAVE;
}

void fault_run(struct run *r, enum ptx_fault fault, const char *format, ...)
{
	size_t room = sizeof(r->result->text);
	char *text = r->result->text;
	size_t used;
	va_list args;

	if (r->fault)
		return;
	r->fault = fault;
	snprintf(text, room, "%.*s: ", NAME_SHOWN, r->fn->info.name);
	used = strlen(text);
	va_start(args, format);
	vsnprintf(text + used, room - used, format, args);
	va_end(args);
}
