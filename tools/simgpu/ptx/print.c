/* SPDX-License-Identifier: Apache-2.0 */
/* The two functions that device code calls and nobody defines: vprintf and __assertfail. */
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_MAX 4096u
#define STRING_MAX 1024u
#define OUTPUT_MAX 8192u
#define SPEC_MAX 32u

struct printer {
	struct warp *w;
	const struct insn *in;
	uint32_t lane;
	uint64_t args; /* address of the packed arguments */
	uint64_t offset;
	uint32_t taken;
	char *out;
	size_t used;
	bool failed;
};

static uint64_t next_argument(struct printer *p, uint32_t bytes)
{
	uint64_t value = 0;

	p->offset = (p->offset + bytes - 1) / bytes * bytes;
	if (!memory_read(p->w, p->in, p->lane, p->args + p->offset, &value, bytes))
		p->failed = true;
	p->offset += bytes;
	p->taken++;
	return value;
}

static void put(struct printer *p, const char *text, size_t length)
{
	if (length > OUTPUT_MAX - 1 - p->used)
		length = OUTPUT_MAX - 1 - p->used;
	memcpy(p->out + p->used, text, length);
	p->used += length;
}

static void put_string(struct printer *p, const char *spec, uint64_t address)
{
	char text[STRING_MAX];
	char out[STRING_MAX + 64];

	if (!address)
		snprintf(text, sizeof(text), "(null)");
	else if (!memory_read_string(p->w, p->in, p->lane, address, text, sizeof(text))) {
		p->failed = true;
		return;
	}
	snprintf(out, sizeof(out), spec, text);
	put(p, out, strlen(out));
}

/* `spec` is one conversion that format_next took apart and put together again. */
static void put_value(struct printer *p, char *spec, char kind, bool wide)
{
	char out[512];
	uint64_t bits;
	double number;
	int length;

	switch (kind) {
	case 's': put_string(p, spec, next_argument(p, 8)); return;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		bits = next_argument(p, 8);
		memcpy(&number, &bits, sizeof(number));
		length = snprintf(out, sizeof(out), spec, number);
		break;
	case 'p':
		length = snprintf(out, sizeof(out), spec, (void *)(uintptr_t)next_argument(p, 8));
		break;
	case 'c': length = snprintf(out, sizeof(out), spec, (int)next_argument(p, 4)); break;
	default:
		bits = next_argument(p, wide ? 8 : 4);
		if (wide)
			length = snprintf(out, sizeof(out), spec, (long long)bits);
		else
			length = snprintf(out, sizeof(out), spec, (int)bits);
	}
	put(p, out,
	    length < 0			   ? 0
	    : (size_t)length < sizeof(out) ? (size_t)length
					   : sizeof(out) - 1);
}

/* Flags, width and precision are copied; a star's value is written out; h is dropped, l and ll
 * both mean 64 bits. Returns where the format goes on. */
static const char *put_conversion(struct printer *p, const char *at)
{
	char spec[SPEC_MAX] = "%";
	size_t used = 1;
	bool wide = false;

	for (; *at && strchr("-+ #0123456789.*", *at) && used < SPEC_MAX - 16; at++) {
		if (*at == '*') {
			int star = (int)next_argument(p, 4);

			if (star > 256 || star < -256)
				star = 256;
			used += (size_t)snprintf(spec + used, SPEC_MAX - used, "%d", star);
		} else {
			spec[used++] = *at;
		}
	}
	for (; *at && strchr("hlLqjzt", *at); at++)
		wide |= *at != 'h';
	if (!*at || !strchr("diouxXcsfFeEgGaAp", *at)) {
		put(p, "%", 1);
		return at;
	}
	/* A width of its own could be huge: what does not fit the buffer is cut. */
	if (wide && strchr("diouxX", *at)) {
		spec[used++] = 'l';
		spec[used++] = 'l';
	}
	spec[used++] = *at;
	spec[used] = 0;
	put_value(p, spec, *at, wide);
	return at + 1;
}

static void print_lane(struct printer *p, const char *format)
{
	const struct ptx_launch *launch = p->w->run->launch;

	for (const char *at = format; *at && !p->failed;) {
		size_t plain = strcspn(at, "%");

		put(p, at, plain);
		at += plain;
		if (at[0] == '%' && at[1] == '%') {
			put(p, "%", 1);
			at += 2;
		} else if (*at == '%') {
			at = put_conversion(p, at + 1);
		}
	}
	if (p->failed)
		return;
	p->out[p->used] = 0;
	if (launch->print)
		launch->print(launch->print_arg, p->out);
	else
		fputs(p->out, stdout);
}

/* Argument `index` of a builtin's call, one word or two. */
static uint64_t call_argument(const struct warp *w, const struct insn *in, uint32_t lane,
			      uint32_t index)
{
	const uint32_t *list = w->frame->fn->list + in->imm;
	uint64_t value = 0;

	memcpy(&value, w->local + lane * w->local_stride + list[1 + 2 * index],
	       list[2 + 2 * index]);
	return value;
}

static void call_result(const struct warp *w, const struct insn *in, uint32_t lane, uint32_t value)
{
	const uint32_t *list = w->frame->fn->list + in->imm;

	list += 1 + 2 * list[0];
	if (list[0])
		memcpy(w->local + lane * w->local_stride + list[1], &value, sizeof(value));
}

HANDLER(flow_call_vprintf)
{
	char *format = malloc(FORMAT_MAX + OUTPUT_MAX);

	if (!format)
		return fault_at(w, in, 0, PTX_NO_MEMORY, "no host memory for printf");
	FOR_LANES(lane, w->mask)
	{
		struct printer p = {.w = w, .in = in, .lane = lane, .out = format + FORMAT_MAX};

		p.args = call_argument(w, in, lane, 1);
		if (!memory_read_string(w, in, lane, call_argument(w, in, lane, 0), format,
					FORMAT_MAX))
			break;
		print_lane(&p, format);
		if (p.failed)
			break;
		call_result(w, in, lane, p.taken);
	}
	free(format);
	return w->run->fault ? LEAVE : in + 1;
}

HANDLER(flow_call_assertfail)
{
	uint32_t lane = (uint32_t)__builtin_ctz(w->mask);
	char text[3][STRING_MAX] = {"?", "?", "?"};
	static const uint8_t argument[3] = {0, 1, 3};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t address = call_argument(w, in, lane, argument[i]);

		if (address && !memory_read_string(w, in, lane, address, text[i], STRING_MAX))
			return LEAVE;
	}
	return fault_at(w, in, lane, PTX_ASSERT, "%.40s:%u: assertion `%.60s' failed", text[1],
			(unsigned)call_argument(w, in, lane, 2), text[0]);
}
