/* SPDX-License-Identifier: Apache-2.0 */
/* Branches, calls and returns. */
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <string.h>

/* The whole group goes to `target`; loops give way here when their turn is over. */
static const struct insn *jump(struct warp *w, const struct insn *in, const struct insn *target)
{
	warp_count(w, in);
	if (target <= in && (int64_t)w->steps >= w->patience) {
		w->pc = target;
		return LEAVE;
	}
	w->segment = target;
	return target;
}

HANDLER(flow_bra)
{
	uint32_t stays = w->active & ~w->mask;

	if (!stays)
		return jump(w, in, in->aux.target);
	warp_count(w, in);
	group_split(w, w->mask, in->aux.target);
	w->pc = in + 1;
	return LEAVE;
}

/* Lanes that want what the first of them wants; the others do the instruction again. */
static uint32_t take_same(struct warp *w, const struct insn *in, const void *value, bool wide)
{
	uint32_t first = (uint32_t)__builtin_ctz(w->mask);
	const uint64_t *value64 = value;
	const uint32_t *value32 = value;
	uint32_t same = 0;

	group_narrow(w, in);
	FOR_LANES(lane, w->mask)
	{
		if (wide ? value64[lane] == value64[first] : value32[lane] == value32[first])
			same |= 1u << lane;
	}
	if (same != w->mask)
		group_split(w, w->mask & ~same, in);
	w->mask = same;
	return first;
}

HANDLER(flow_brx)
{
	const uint32_t *index = reg(w, in->a);
	uint32_t lane = take_same(w, in, index, false);
	const uint32_t *target = w->frame->fn->list + in->imm;

	warp_count(w, in);
	if (index[lane] >= in->aux.bits)
		return fault_at(w, in, lane, PTX_ILLEGAL_INSTRUCTION,
				"brx.idx in line %u: index %u of %u targets", in->line, index[lane],
				(unsigned)in->aux.bits);
	w->pc = w->frame->fn->code + target[index[lane]];
	return LEAVE;
}

/* ---- calls ---- */

/* The list: arguments, then results; for each how many, then (offset, bytes) in the caller's
 * local memory. */
static bool copy_arguments(struct warp *w, const struct insn *in, const struct frame *frame)
{
	const uint32_t *list = w->frame->fn->list + in->imm;
	const struct ptx_function *fn = frame->fn;
	uint8_t *to = frame_local(w, frame);
	uint32_t count = list[0];

	if (count != fn->formals || list[1 + 2 * count] > fn->results)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t offset = list[1 + 2 * i];
		uint32_t bytes = list[2 + 2 * i];

		if (bytes != fn->formal[i].size)
			return false;
		FOR_LANES(lane, w->mask)
		memcpy(to + lane * w->local_stride + fn->formal[i].local_offset,
		       w->local + lane * w->local_stride + offset, bytes);
	}
	for (uint32_t i = 0; i < list[1 + 2 * count]; i++) {
		if (list[3 + 2 * count + 2 * i] != fn->result[i].size)
			return false;
	}
	return true;
}

static void copy_results(struct warp *w, const struct frame *frame)
{
	const uint32_t *list = frame->parent->fn->list + frame->call->imm;
	uint8_t *to = frame_local(w, frame->parent);
	uint32_t count;

	list += 1 + 2 * list[0];
	count = *list++;
	for (uint32_t i = 0; i < count; i++) {
		FOR_LANES(lane, w->mask)
		memcpy(to + lane * w->local_stride + list[2 * i],
		       w->local + lane * w->local_stride + frame->fn->result[i].local_offset,
		       list[2 * i + 1]);
	}
}

static const struct insn *call(struct warp *w, const struct insn *in, const struct ptx_function *fn)
{
	uint32_t lane = (uint32_t)__builtin_ctz(w->mask);
	struct frame *frame;

	warp_count(w, in);
	/* Direct calls of such functions refuse the kernel, but for cycles that end in one. */
	if (fn->refused || !fn->code)
		return fault_at(w, in, lane, PTX_ILLEGAL_INSTRUCTION,
				"call of %.40s in line %u: %.100s", fn->info.name, in->line,
				fn->refused ? fn->refusal.text : "it is not defined");
	frame = frame_push(w, in, fn);
	if (!frame)
		return LEAVE;
	if (!copy_arguments(w, in, frame))
		return fault_at(w, in, lane, PTX_ILLEGAL_INSTRUCTION,
				"call in line %u: %.60s takes other parameters", in->line,
				fn->info.name);
	w->current->frame = frame;
	w->pc = fn->code;
	return LEAVE;
}

HANDLER(flow_call)
{
	group_narrow(w, in);
	return call(w, in, in->aux.callee);
}

HANDLER(flow_call_register)
{
	const uint64_t *address = reg(w, in->a);
	uint32_t lane = take_same(w, in, address, true);
	const struct ptx_module *module = w->run->module;

	for (uint32_t i = 0; i < module->functions; i++) {
		const struct ptx_function *fn = module->function[i];

		if ((uint64_t)(uintptr_t)fn != address[lane] || fn->is_entry)
			continue;
		return call(w, in, fn);
	}
	warp_count(w, in);
	return fault_at(w, in, lane, PTX_ILLEGAL_ADDRESS,
			"call in line %u: 0x%llx is no function of this module", in->line,
			(unsigned long long)address[lane]);
}

HANDLER(flow_exit)
{
	group_narrow(w, in);
	warp_count(w, in);
	warp_exit_lanes(w, in);
	return LEAVE;
}

HANDLER(flow_ret)
{
	struct frame *frame = w->frame;

	if (!frame->parent)
		return flow_exit(w, in);
	group_narrow(w, in);
	warp_count(w, in);
	copy_results(w, frame);
	w->current->frame = frame->parent;
	w->pc = frame->return_to;
	frame_drop(w, frame, w->mask);
	return LEAVE;
}

HANDLER(flow_trap)
{
	return fault_at(w, in, (uint32_t)__builtin_ctz(w->mask), PTX_TRAP, "trap in line %u",
			in->line);
}
