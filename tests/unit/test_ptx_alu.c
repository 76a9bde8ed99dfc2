/* SPDX-License-Identifier: Apache-2.0 */
/* Lane-wise instructions, one at a time, as text: results, and that lanes which are masked off
 * keep what they had. */
#include "unit/ptx/harness.h"

#include <float.h>

/* Operands are given as bits; %r %h %f %g %q are registers of 32, 16, 32, 64 and 64 bits that
 * hold a, b, c, e; the result goes to the one with 0 of the kind that `out` names. */
struct row {
	const char *body;
	char out;
	uint64_t a, b, c, want;
};

static const char head[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 lanes)\n{\n"
	".reg .b64 %in, %out, %off, %q0, %qa, %qb, %qc; .reg .f64 %g0, %ga, %gb, %gc;\n"
	".reg .b32 %r0, %r1, %ra, %rb, %rc, %t, %n; .reg .f32 %f0, %fa, %fb, %fc;\n"
	".reg .b16 %h0, %h1, %ha, %hb, %hc; .reg .pred %p0, %p1, %pa, %pb, %on;\n"
	"ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %n, [lanes];\n"
	"ld.global.u64 %qa, [%in]; ld.global.u64 %qb, [%in+8]; ld.global.u64 %qc, [%in+16];\n"
	"mov.b64 %ga, %qa; mov.b64 %gb, %qb; mov.b64 %gc, %qc;\n"
	"cvt.u32.u64 %ra, %qa; cvt.u32.u64 %rb, %qb; cvt.u32.u64 %rc, %qc;\n"
	"mov.b32 %fa, %ra; mov.b32 %fb, %rb; mov.b32 %fc, %rc;\n"
	"cvt.u16.u64 %ha, %qa; cvt.u16.u64 %hb, %qb; cvt.u16.u64 %hc, %qc;\n"
	"setp.ne.u32 %pa, %ra, 0; setp.ne.u32 %pb, %rb, 0;\n"
	"mov.u32 %t, %tid.x; mul.wide.u32 %off, %t, 8; add.u64 %out, %out, %off;\n"
	"mov.u64 %q0, 0x1111111122222222; mov.u32 %r0, 0x33333333; mov.b16 %h0, 0x4444;\n"
	"mov.b64 %g0, %q0; mov.b32 %f0, %r0; setp.eq.u32 %p0, %t, %t; mov.pred %p1, %p0;\n"
	"setp.lt.u32 %on, %t, %n;\n"
	"@!%on bra SKIP;\n";
static const char tail_of_q[] = "\nSKIP: st.global.u64 [%out], %q0; ret; }\n";
static const char tail_of_g[] = "\nSKIP: st.global.f64 [%out], %g0; ret; }\n";
static const char tail_of_r[] = "\nSKIP: cvt.u64.u32 %q0, %r0; st.global.u64 [%out], %q0; ret; }\n";
static const char tail_of_f[] =
	"\nSKIP: mov.b32 %r0, %f0; cvt.u64.u32 %q0, %r0; st.global.u64 [%out], %q0; ret; }\n";
static const char tail_of_h[] = "\nSKIP: cvt.u64.u16 %q0, %h0; st.global.u64 [%out], %q0; ret; }\n";
static const char tail_of_p[] = "\nSKIP: selp.u64 %q0, 1, 0, %p0; @%p1 add.u64 %q0, %q0, 2;"
				" st.global.u64 [%out], %q0; ret; }\n";

static const char *tail_of(char out)
{
	switch (out) {
	case 'q': return tail_of_q;
	case 'g': return tail_of_g;
	case 'r': return tail_of_r;
	case 'f': return tail_of_f;
	case 'h': return tail_of_h;
	default: return tail_of_p;
	}
}

static uint64_t untouched(char out)
{
	switch (out) {
	case 'q':
	case 'g': return 0x1111111122222222ull;
	case 'h': return 0x4444;
	case 'p': return 3;
	default: return 0x33333333;
	}
}

static void run_row(const struct row *row, uint32_t lanes)
{
	char text[8192];
	uint64_t *in;
	uint64_t *out;

	bench_start();
	snprintf(text, sizeof(text), "%s%s%s", head, row->body, tail_of(row->out));
	bench_load(text, 90);
	in = bench_buffer(3 * sizeof(*in));
	out = bench_buffer(32 * sizeof(*out));
	in[0] = row->a;
	in[1] = row->b;
	in[2] = row->c;
	BENCH_PARAM(in);
	BENCH_PARAM(out);
	BENCH_PARAM(lanes);
	ck_assert_msg(bench_try("k", 1, 1, 32, 1) == PTX_OK, "%s: %s", row->body,
		      bench.result.text);
	for (uint32_t lane = 0; lane < 32; lane++) {
		uint64_t want = lane < lanes ? row->want : untouched(row->out);

		ck_assert_msg(out[lane] == want, "%s (0x%llx 0x%llx 0x%llx): 0x%llx, not 0x%llx",
			      row->body, (unsigned long long)row->a, (unsigned long long)row->b,
			      (unsigned long long)row->c, (unsigned long long)out[lane],
			      (unsigned long long)want);
	}
	bench_end();
}

/* `isa` 0 is what this machine has best, 1 what every machine has. */
static void run_rows(const struct row *row, size_t rows, int isa)
{
	if (isa)
		setenv("SIMGPU_PTX_ISA", "base", 1);
	else
		unsetenv("SIMGPU_PTX_ISA");
	for (size_t i = 0; i < rows; i++) {
		run_row(&row[i], 32);
		run_row(&row[i], 11);
	}
}

#define RUN(rows) run_rows(rows, sizeof(rows) / sizeof((rows)[0]), _i)

static uint64_t f32(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static uint64_t f64(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

#define S32(x) ((uint32_t)(int32_t)(x))
#define S64(x) ((uint64_t)(int64_t)(x))

START_TEST(integer_arithmetic)
{
	const struct row rows[] = {
		{"add.s32 %r0, %ra, %rb;", 'r', 5, S32(-7), 0, S32(-2)},
		{"add.u32 %r0, %ra, 1;", 'r', UINT32_MAX, 0, 0, 0},
		{"add.u16 %h0, %ha, %hb;", 'h', 0xffff, 2, 0, 1},
		{"add.u64 %q0, %qa, %qb;", 'q', UINT64_MAX, 2, 0, 1},
		{"add.sat.s32 %r0, %ra, %rb;", 'r', INT32_MAX, 1, 0, INT32_MAX},
		{"add.sat.s32 %r0, %ra, %rb;", 'r', S32(INT32_MIN), S32(-1), 0, S32(INT32_MIN)},
		{"sub.s64 %q0, %qa, %qb;", 'q', 1, 2, 0, UINT64_MAX},
		{"sub.s32 %r0, %ra, -3;", 'r', 1, 0, 0, 4},
		{"sub.sat.s32 %r0, %ra, %rb;", 'r', S32(INT32_MIN), 1, 0, S32(INT32_MIN)},
		{"sub.s16 %h0, %ha, %hb;", 'h', 0, 1, 0, 0xffff},
		{"mul.lo.s32 %r0, %ra, %rb;", 'r', 0x10001, 0x10001, 0, 0x20001},
		{"mul.lo.u16 %h0, %ha, %hb;", 'h', 0x101, 0x101, 0, 0x0201},
		{"mul.lo.s64 %q0, %qa, %qb;", 'q', S64(-3), 7, 0, S64(-21)},
		{"mul.hi.u32 %r0, %ra, %rb;", 'r', 0xffffffff, 0xffffffff, 0, 0xfffffffe},
		{"mul.hi.s32 %r0, %ra, %rb;", 'r', S32(-5), 3, 0, S32(-1)},
		{"mul.hi.u16 %h0, %ha, %hb;", 'h', 0xffff, 0xffff, 0, 0xfffe},
		{"mul.hi.s16 %h0, %ha, %hb;", 'h', 0xfffb, 3, 0, 0xffff},
		{"mul.hi.u64 %q0, %qa, %qb;", 'q', UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1},
		{"mul.hi.s64 %q0, %qa, %qb;", 'q', S64(-5), 3, 0, UINT64_MAX},
		{"mul.wide.u32 %q0, %ra, %rb;", 'q', 0xffffffff, 2, 0, 0x1fffffffeull},
		{"mul.wide.s32 %q0, %ra, %rb;", 'q', S32(-2), 3, 0, S64(-6)},
		{"mul.wide.u16 %r0, %ha, %hb;", 'r', 0xffff, 0xffff, 0, 0xfffe0001},
		{"mul.wide.s16 %r0, %ha, %hb;", 'r', 0xffff, 2, 0, S32(-2)},
		{"mul24.lo.u32 %r0, %ra, %rb;", 'r', 0xff000003, 5, 0, 15},
		{"mul24.lo.s32 %r0, %ra, %rb;", 'r', 0x00ffffff, 5, 0, S32(-5)},
		{"mul24.hi.u32 %r0, %ra, %rb;", 'r', 0xffffff, 0xffffff, 0, 0xfffffe00},
		{"mad.lo.s32 %r0, %ra, %rb, %rc;", 'r', 3, S32(-4), 5, S32(-7)},
		{"mad.lo.u16 %h0, %ha, %hb, %hc;", 'h', 3, 4, 5, 17},
		{"mad.lo.u64 %q0, %qa, %qb, %qc;", 'q', 1ull << 40, 4, 5, (1ull << 42) + 5},
		{"mad.hi.u32 %r0, %ra, %rb, %rc;", 'r', 1u << 31, 4, 5, 7},
		{"mad.hi.s32 %r0, %ra, %rb, %rc;", 'r', S32(-1), 4, 5, 4},
		{"mad.hi.sat.s32 %r0, %ra, %rb, %rc;", 'r', 1u << 30, 8, INT32_MAX, INT32_MAX},
		{"mad.hi.u64 %q0, %qa, %qb, %qc;", 'q', 1ull << 63, 4, 5, 7},
		{"mad.wide.u32 %q0, %ra, %rb, %qc;", 'q', 0xffffffff, 2, 3, 0x200000001ull},
		{"mad.wide.s32 %q0, %ra, %rb, %qc;", 'q', S32(-2), 3, 10, 4},
		{"mad.wide.s16 %r0, %ha, %hb, %rc;", 'r', 0xffff, 3, 10, 7},
		{"mad24.lo.u32 %r0, %ra, %rb, %rc;", 'r', 0xff000003, 5, 2, 17},
		{"div.u32 %r0, %ra, %rb;", 'r', 0xfffffffe, 3, 0, 0x55555554},
		{"div.s32 %r0, %ra, %rb;", 'r', S32(-7), 2, 0, S32(-3)},
		{"div.s32 %r0, %ra, %rb;", 'r', S32(INT32_MIN), S32(-1), 0, S32(INT32_MIN)},
		{"div.u64 %q0, %qa, %qb;", 'q', UINT64_MAX, 10, 0, UINT64_MAX / 10},
		{"div.s64 %q0, %qa, %qb;", 'q', S64(-100), 7, 0, S64(-14)},
		{"div.s16 %h0, %ha, %hb;", 'h', 0xfff9, 2, 0, 0xfffd},
		{"div.u16 %h0, %ha, %hb;", 'h', 0xfff9, 2, 0, 0x7ffc},
		{"rem.s32 %r0, %ra, %rb;", 'r', S32(-7), 2, 0, S32(-1)},
		{"rem.u32 %r0, %ra, %rb;", 'r', 17, 5, 0, 2},
		{"rem.s64 %q0, %qa, %qb;", 'q', S64(INT64_MIN), S64(-1), 0, 0},
		{"rem.u64 %q0, %qa, %qb;", 'q', 1ull << 40, 7, 0, (1ull << 40) % 7},
		{"rem.s16 %h0, %ha, %hb;", 'h', 0xfff9, 4, 0, 0xfffd},
		{"neg.s32 %r0, %ra;", 'r', 5, 0, 0, S32(-5)},
		{"neg.s16 %h0, %ha;", 'h', 5, 0, 0, 0xfffb},
		{"neg.s64 %q0, %qa;", 'q', 5, 0, 0, S64(-5)},
		{"abs.s32 %r0, %ra;", 'r', S32(-5), 0, 0, 5},
		{"abs.s16 %h0, %ha;", 'h', 0xfffb, 0, 0, 5},
		{"abs.s64 %q0, %qa;", 'q', S64(-5), 0, 0, 5},
		{"min.s32 %r0, %ra, %rb;", 'r', S32(-1), 1, 0, S32(-1)},
		{"min.u32 %r0, %ra, %rb;", 'r', S32(-1), 1, 0, 1},
		{"max.s32 %r0, %ra, %rb;", 'r', S32(-1), 1, 0, 1},
		{"max.u32 %r0, %ra, %rb;", 'r', S32(-1), 1, 0, S32(-1)},
		{"min.s64 %q0, %qa, %qb;", 'q', S64(-1), 1, 0, S64(-1)},
		{"max.u64 %q0, %qa, %qb;", 'q', S64(-1), 1, 0, S64(-1)},
		{"min.s16 %h0, %ha, %hb;", 'h', 0xffff, 1, 0, 0xffff},
		{"max.u16 %h0, %ha, %hb;", 'h', 0xffff, 1, 0, 0xffff},
		{"sad.s32 %r0, %ra, %rb, %rc;", 'r', S32(-3), 4, 10, 17},
		{"sad.u32 %r0, %ra, %rb, %rc;", 'r', 3, 10, 1, 8},
		{"sad.s64 %q0, %qa, %qb, %qc;", 'q', S64(-3), 4, 10, 17},
		{"sad.u16 %h0, %ha, %hb, %hc;", 'h', 3, 10, 1, 8},
		{"dp4a.u32.u32 %r0, %ra, %rb, %rc;", 'r', 0x01020304, 0x05060708, 1, 71},
		{"dp4a.s32.s32 %r0, %ra, %rb, %rc;", 'r', 0xff020304, 0x05fe0708, 0, 44},
		{"dp4a.s32.u32 %r0, %ra, %rb, %rc;", 'r', 0xff000000, 0xff000000, 0, S32(-255)},
		{"dp4a.u32.s32 %r0, %ra, %rb, %rc;", 'r', 0xff000000, 0xff000000, 0, S32(-255)},
		{"dp2a.lo.s32.u32 %r0, %ra, %rb, %rc;", 'r', 0xffff0002, 0x0403, 10, S32(12)},
		{"dp2a.hi.u32.u32 %r0, %ra, %rb, %rc;", 'r', 0x00030002, 0x04030000, 1, 19},
	};

	RUN(rows);
}
END_TEST

START_TEST(bits)
{
	const struct row rows[] = {
		{"and.b32 %r0, %ra, %rb;", 'r', 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
		{"and.b64 %q0, %qa, %qb;", 'q', 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0,
		 0x0f000f000f000f00},
		{"and.b16 %h0, %ha, %hb;", 'h', 0xff00, 0x0ff0, 0, 0x0f00},
		{"or.b32 %r0, %ra, %rb;", 'r', 0xf0, 0x0f, 0, 0xff},
		{"or.b16 %h0, %ha, 15;", 'h', 0xf0, 0, 0, 0xff},
		{"xor.b64 %q0, %qa, %qb;", 'q', 0xff, 0x0f, 0, 0xf0},
		{"xor.b32 %r0, %ra, %rb;", 'r', 0xff, 0x0f, 0, 0xf0},
		{"not.b16 %h0, %ha;", 'h', 0xff, 0, 0, 0xff00},
		{"not.b32 %r0, %ra;", 'r', 0xff, 0, 0, 0xffffff00},
		{"not.b64 %q0, %qa;", 'q', 0xff, 0, 0, ~0xffull},
		{"cnot.b32 %r0, %ra;", 'r', 0, 0, 0, 1},
		{"cnot.b64 %q0, %qa;", 'q', 9, 0, 0, 0},
		{"shl.b32 %r0, %ra, %rb;", 'r', 1, 31, 0, 0x80000000},
		{"shl.b32 %r0, %ra, %rb;", 'r', 1, 32, 0, 0},
		{"shl.b64 %q0, %qa, %rb;", 'q', 1, 40, 0, 1ull << 40},
		{"shl.b64 %q0, %qa, %rb;", 'q', 1, 64, 0, 0},
		{"shl.b16 %h0, %ha, %rb;", 'h', 3, 15, 0, 0x8000},
		{"shr.u32 %r0, %ra, %rb;", 'r', 0x80000000, 31, 0, 1},
		{"shr.u32 %r0, %ra, %rb;", 'r', 0x80000000, 400, 0, 0},
		{"shr.s32 %r0, %ra, %rb;", 'r', 0x80000000, 400, 0, 0xffffffff},
		{"shr.s32 %r0, %ra, %rb;", 'r', 0x80000000, 4, 0, 0xf8000000},
		{"shr.s64 %q0, %qa, %rb;", 'q', S64(-16), 2, 0, S64(-4)},
		{"shr.u64 %q0, %qa, 60;", 'q', S64(-16), 0, 0, 15},
		{"shr.s16 %h0, %ha, %rb;", 'h', 0x8000, 3, 0, 0xf000},
		{"shr.u16 %h0, %ha, %rb;", 'h', 0x8000, 3, 0, 0x1000},
		{"shf.l.wrap.b32 %r0, %ra, %rb, %rc;", 'r', 0x80000000, 1, 33, 3},
		{"shf.l.clamp.b32 %r0, %ra, %rb, %rc;", 'r', 0x80000001, 1, 33, 0x80000001},
		{"shf.r.wrap.b32 %r0, %ra, %rb, %rc;", 'r', 2, 1, 33, 0x80000001},
		{"shf.r.clamp.b32 %r0, %ra, %rb, %rc;", 'r', 2, 7, 40, 7},
		{"bfe.u32 %r0, %ra, %rb, %rc;", 'r', 0xabcd1234, 8, 8, 0x12},
		{"bfe.s32 %r0, %ra, %rb, %rc;", 'r', 0xabcd9234, 8, 8, S32(-0x6e)},
		{"bfe.s32 %r0, %ra, %rb, %rc;", 'r', 0x80000000, 28, 8, 0xfffffff8},
		{"bfe.u32 %r0, %ra, %rb, %rc;", 'r', 0xffffffff, 4, 0, 0},
		{"bfe.s32 %r0, %ra, %rb, %rc;", 'r', 0xffffffff, 4, 0, 0},
		{"bfe.u64 %q0, %qa, %rb, %rc;", 'q', 0xabcd123456789abc, 32, 16, 0x1234},
		{"bfe.s64 %q0, %qa, %rb, %rc;", 'q', 0xabcd923456789abc, 32, 16, S64(-0x6dcc)},
		{"bfi.b32 %r0, %ra, %rb, %rc, 8;", 'r', 0xcd, 0x11111111, 4, 0x11111cd1},
		{"bfi.b64 %q0, %qa, %qb, 32, 32;", 'q', 0xcd, 0x11, 0, 0xcd00000011},
		{"bfi.b32 %r0, %ra, %rb, %rc, 0;", 'r', 0xcd, 0x11111111, 4, 0x11111111},
		{"bfi.b32 %r0, %ra, %rb, %rc, 8;", 'r', 0xcd, 0x11111111, 40, 0x11111111},
		{"bfind.u32 %r0, %ra;", 'r', 0x00010000, 0, 0, 16},
		{"bfind.u32 %r0, %ra;", 'r', 0, 0, 0, UINT32_MAX},
		{"bfind.s32 %r0, %ra;", 'r', S32(-2), 0, 0, 0},
		{"bfind.s32 %r0, %ra;", 'r', S32(-1), 0, 0, UINT32_MAX},
		{"bfind.u64 %r0, %qa;", 'r', 1ull << 40, 0, 0, 40},
		{"bfind.shiftamt.u32 %r0, %ra;", 'r', 0x00010000, 0, 0, 15},
		{"bfind.shiftamt.s64 %r0, %qa;", 'r', S64(-2), 0, 0, 63},
		{"brev.b32 %r0, %ra;", 'r', 0x12345678, 0, 0, 0x1e6a2c48},
		{"brev.b64 %q0, %qa;", 'q', 1, 0, 0, 1ull << 63},
		{"clz.b32 %r0, %ra;", 'r', 0, 0, 0, 32},
		{"clz.b32 %r0, %ra;", 'r', 0x100, 0, 0, 23},
		{"clz.b64 %r0, %qa;", 'r', 1, 0, 0, 63},
		{"popc.b32 %r0, %ra;", 'r', 0xf0f0f00f, 0, 0, 16},
		{"popc.b64 %r0, %qa;", 'r', UINT64_MAX, 0, 0, 64},
		{"bmsk.clamp.b32 %r0, %ra, %rb;", 'r', 4, 8, 0, 0xff0},
		{"lop3.b32 %r0, %ra, %rb, %rc, 0x80;", 'r', 0xf0, 0xcc, 0xaa, 0x80},
		{"lop3.b32 %r0, %ra, %rb, %rc, 0x96;", 'r', 0xf0, 0xcc, 0xaa, 0x96},
		{"prmt.b32 %r0, %ra, %rb, %rc;", 'r', 0x33221100, 0x77665544, 0x7531, 0x77553311},
		{"prmt.b32 %r0, %ra, %rb, 0x8888;", 'r', 0x80, 0, 0, 0xffffffff},
		{"prmt.b32.f4e %r0, %ra, %rb, %rc;", 'r', 0x33221100, 0x77665544, 1, 0x44332211},
		{"prmt.b32.b4e %r0, %ra, %rb, %rc;", 'r', 0x33221100, 0x77665544, 1, 0x66770011},
		{"prmt.b32.rc8 %r0, %ra, %rb, %rc;", 'r', 0x33221100, 0, 2, 0x22222222},
		{"prmt.b32.ecl %r0, %ra, %rb, %rc;", 'r', 0x33221100, 0, 2, 0x33222222},
		{"prmt.b32.ecr %r0, %ra, %rb, %rc;", 'r', 0x33221100, 0, 2, 0x22221100},
		{"prmt.b32.rc16 %r0, %ra, %rb, %rc;", 'r', 0x33221100, 0, 1, 0x33223322},
	};

	RUN(rows);
}
END_TEST

START_TEST(selection)
{
	const struct row rows[] = {
		{"selp.b32 %r0, %rb, %rc, %pa;", 'r', 1, 5, 6, 5},
		{"selp.b32 %r0, %rb, %rc, %pa;", 'r', 0, 5, 6, 6},
		{"selp.b64 %q0, %qb, 7, %pa;", 'q', 0, 5, 6, 7},
		{"selp.b16 %h0, %hb, %hc, %pa;", 'h', 1, 5, 6, 5},
		{"selp.f32 %f0, 0f3F800000, %fc, %pa;", 'f', 1, 0, 0, f32(1)},
		{"selp.f64 %g0, %gb, 0d4000000000000000, %pa;", 'g', 0, 0, 0, f64(2)},
		{"slct.s32.s32 %r0, %ra, %rb, %rc;", 'r', 1, 2, S32(-1), 2},
		{"slct.u64.s32 %q0, %qa, %qb, %rc;", 'q', 1, 2, 0, 1},
		{"slct.f32.f32 %f0, %fa, %fb, %fc;", 'f', f32(1), f32(2), f32(-0.0f), f32(1)},
		{"slct.b16.f32 %h0, %ha, %hb, %fc;", 'h', 1, 2, f32(NAN), 2},
		{"mov.u32 %r0, %laneid; and.b32 %r0, %r0, 0;", 'r', 0, 0, 0, 0},
		{"mov.b64 %q0, {%ra, %rb};", 'q', 0x11, 0x22, 0, 0x2200000011},
		{"mov.b64 {%r0, %r1}, %qa;", 'r', 0x2200000011, 0, 0, 0x11},
		{"mov.b64 {%r1, %r0}, %qa;", 'r', 0x2200000011, 0, 0, 0x22},
		{"mov.b64 {_, %r0}, %qa;", 'r', 0x2200000011, 0, 0, 0x22},
		{"mov.b32 %r0, {%ha, %hb};", 'r', 0x11, 0x22, 0, 0x220011},
		{"mov.b32 {%h1, %h0}, %ra;", 'h', 0x220011, 0, 0, 0x22},
		{"mov.b64 %q0, {%ha, %hb, %hc, %ha};", 'q', 1, 2, 3, 0x0001000300020001},
		{"mov.b64 {%h1, _, %h0, _}, %qa;", 'h', 0x0004000300020001, 0, 0, 3},
		{"mov.pred %p0, %pa; not.pred %p1, %pa;", 'p', 0, 0, 0, 2},
		{"and.pred %p0, %pa, %pb; or.pred %p1, %pa, %pb;", 'p', 0, 1, 0, 2},
		{"xor.pred %p0, %pa, %pb; mov.pred %p1, 0;", 'p', 0, 1, 0, 1},
		{"mov.u32 %r0, WARP_SZ;", 'r', 0, 0, 0, 32},
		{"mov.u32 %r0, (2 + 3) * 4 - 1;", 'r', 0, 0, 0, 19},
		{"mov.u32 %r0, %lanemask_eq; popc.b32 %r0, %r0;", 'r', 0, 0, 0, 1},
	};

	RUN(rows);
}
END_TEST

START_TEST(comparisons)
{
	const uint64_t nan = f32(NAN);
	const uint64_t wide_nan = f64((double)NAN);
	const struct row rows[] = {
		/* out: p0 + 2 * p1 */
		{"setp.eq.s32 %p0|%p1, %ra, %rb;", 'p', 1, 1, 0, 1},
		{"setp.ne.s32 %p0|%p1, %ra, %rb;", 'p', 1, 1, 0, 2},
		{"setp.lt.s32 %p0|%p1, %ra, %rb;", 'p', S32(-1), 1, 0, 1},
		{"setp.lt.u32 %p0|%p1, %ra, %rb;", 'p', S32(-1), 1, 0, 2},
		{"setp.lo.u32 %p0|%p1, %ra, %rb;", 'p', 1, 2, 0, 1},
		{"setp.ls.u32 %p0|%p1, %ra, %rb;", 'p', 2, 2, 0, 1},
		{"setp.hi.u32 %p0|%p1, %ra, %rb;", 'p', S32(-1), 2, 0, 1},
		{"setp.hs.u32 %p0|%p1, %ra, 2;", 'p', 2, 2, 0, 1},
		{"setp.ge.s64 %p0|%p1, %qa, %qb;", 'p', S64(-1), 0, 0, 2},
		{"setp.gt.u64 %p0|%p1, %qa, %qb;", 'p', S64(-1), 0, 0, 1},
		{"setp.le.s16 %p0|%p1, %ha, %hb;", 'p', 0xffff, 0, 0, 1},
		{"setp.eq.b16 %p0|%p1, %ha, -1;", 'p', 0xffff, 0, 0, 1},
		{"setp.eq.and.s32 %p0|%p1, %ra, %rb, %pb;", 'p', 1, 1, 0, 1},
		{"setp.eq.and.s32 %p0|%p1, %ra, %rb, !%pb;", 'p', 1, 1, 0, 0},
		{"setp.eq.or.s32 %p0|%p1, %ra, %rb, %pb;", 'p', 2, 1, 0, 3},
		{"setp.eq.xor.s32 %p0|%p1, %ra, %rb, %pb;", 'p', 1, 1, 0, 2},
		{"setp.eq.f32 %p0|%p1, %fa, %fb;", 'p', nan, nan, 0, 2},
		{"setp.ne.f32 %p0|%p1, %fa, %fb;", 'p', nan, 0, 0, 2},
		{"setp.lt.f32 %p0|%p1, %fa, %fb;", 'p', f32(-1), f32(1), 0, 1},
		{"setp.geu.f32 %p0|%p1, %fa, %fb;", 'p', nan, f32(1), 0, 1},
		{"setp.equ.f32 %p0|%p1, %fa, %fb;", 'p', nan, f32(1), 0, 1},
		{"setp.neu.f32 %p0|%p1, %fa, %fb;", 'p', nan, f32(1), 0, 1},
		{"setp.neu.f32 %p0|%p1, %fa, %fb;", 'p', f32(1), f32(1), 0, 2},
		{"setp.ltu.f32 %p0|%p1, %fa, %fb;", 'p', f32(1), f32(1), 0, 2},
		{"setp.gtu.f32 %p0|%p1, %fa, %fb;", 'p', f32(2), f32(1), 0, 1},
		{"setp.leu.f32 %p0|%p1, %fa, %fb;", 'p', nan, nan, 0, 1},
		{"setp.num.f32 %p0|%p1, %fa, %fb;", 'p', f32(2), f32(1), 0, 1},
		{"setp.nan.f32 %p0|%p1, %fa, %fb;", 'p', f32(2), nan, 0, 1},
		{"setp.lt.f64 %p0|%p1, %ga, %gb;", 'p', f64(-1), f64(1), 0, 1},
		{"setp.gtu.f64 %p0|%p1, %ga, %gb;", 'p', wide_nan, f64(1), 0, 1},
		{"setp.lt.ftz.f32 %p0|%p1, %fa, %fb;", 'p', 0, 1, 0, 2},
		{"setp.lt.f32 %p0|%p1, %fa, %fb;", 'p', 0, 1, 0, 1},
		{"setp.lt.f16 %p0|%p1, %ha, %hb;", 'p', 0xbc00, 0x3c00, 0, 1},
		{"setp.gt.f16x2 %p0|%p1, %ra, %rb;", 'p', 0xbc003c00, 0, 0, 1},
		{"set.lt.u32.s32 %r0, %ra, %rb;", 'r', S32(-1), 1, 0, UINT32_MAX},
		{"set.gt.f32.s32 %f0, %ra, %rb;", 'f', 2, 1, 0, f32(1)},
		{"set.eq.and.u32.f32 %r0, %fa, %fb, %pa;", 'r', f32(1), f32(2), 0, 0},
		{"testp.finite.f32 %p0, %fa; testp.infinite.f32 %p1, %fa;", 'p', f32(INFINITY), 0,
		 0, 2},
		{"testp.number.f32 %p0, %fa; testp.notanumber.f32 %p1, %fa;", 'p', nan, 0, 0, 2},
		{"testp.normal.f64 %p0, %ga; testp.subnormal.f64 %p1, %ga;", 'p', 1, 0, 0, 2},
		{"testp.normal.f32 %p0, %fa; testp.subnormal.f32 %p1, %fa;", 'p', f32(1), 0, 0, 1},
	};

	RUN(rows);
}
END_TEST

START_TEST(floats)
{
	const uint64_t tiny = 1; /* the smallest subnormal */
	const float third = 1.0f / 3.0f;
	const struct row rows[] = {
		{"add.f32 %f0, %fa, %fb;", 'f', f32(1.5f), f32(2.25f), 0, f32(3.75f)},
		{"add.rn.f32 %f0, %fa, 0f3F800000;", 'f', f32(1.5f), 0, 0, f32(2.5f)},
		{"add.ftz.f32 %f0, %fa, %fb;", 'f', tiny, tiny, 0, 0},
		{"add.f32 %f0, %fa, %fb;", 'f', tiny, tiny, 0, 2},
		{"add.rp.f32 %f0, %fa, %fb;", 'f', f32(1), f32(1e-20f), 0, f32(1.00000012f)},
		{"add.rz.f32 %f0, %fa, %fb;", 'f', f32(1), f32(-1e-20f), 0, f32(0.99999994f)},
		{"add.rm.f32 %f0, %fa, %fb;", 'f', f32(-1), f32(-1e-20f), 0, f32(-1.00000012f)},
		{"add.sat.f32 %f0, %fa, %fb;", 'f', f32(1), f32(1), 0, f32(1)},
		{"add.sat.f32 %f0, %fa, %fb;", 'f', f32(NAN), f32(1), 0, 0},
		{"sub.f32 %f0, %fa, %fb;", 'f', f32(1.5f), f32(2.25f), 0, f32(-0.75f)},
		{"sub.sat.f32 %f0, %fa, %fb;", 'f', f32(1.5f), f32(2.25f), 0, 0},
		{"mul.f32 %f0, %fa, %fb;", 'f', f32(1.5f), f32(-2), 0, f32(-3)},
		{"mul.rz.f32 %f0, %fa, %fb;", 'f', f32(third), f32(3), 0, f32(1)},
		{"mul.ftz.f32 %f0, %fa, %fb;", 'f', f32(1e-30f), f32(1e-10f), 0, 0},
		{"div.rn.f32 %f0, %fa, %fb;", 'f', f32(1), f32(3), 0, f32(third)},
		{"div.rp.f32 %f0, %fa, %fb;", 'f', f32(1), f32(10), 0, f32(0.1f)},
		{"div.rm.f32 %f0, %fa, %fb;", 'f', f32(1), f32(10), 0, f32(nextafterf(0.1f, 0))},
		{"div.full.f32 %f0, %fa, %fb;", 'f', f32(6), f32(3), 0, f32(2)},
		{"div.approx.ftz.f32 %f0, %fa, %fb;", 'f', f32(6), f32(-3), 0, f32(-2)},
		{"fma.rn.f32 %f0, %fa, %fb, %fc;", 'f', f32(third), f32(3), f32(-1),
		 f32(fmaf(third, 3, -1))},
		{"fma.rm.f32 %f0, %fa, %fb, %fc;", 'f', f32(1), f32(1), f32(-1e-20f),
		 f32(0.99999994f)},
		{"fma.rn.sat.f32 %f0, %fa, %fb, %fc;", 'f', f32(2), f32(3), f32(-1), f32(1)},
		{"mad.rn.f32 %f0, %fa, %fb, %fc;", 'f', f32(2), f32(3), f32(-1), f32(5)},
		{"min.f32 %f0, %fa, %fb;", 'f', f32(NAN), f32(2), 0, f32(2)},
		{"max.f32 %f0, %fa, %fb;", 'f', f32(2), f32(NAN), 0, f32(2)},
		{"min.f32 %f0, %fa, %fb;", 'f', f32(0.0f), f32(-0.0f), 0, f32(-0.0f)},
		{"max.f32 %f0, %fa, %fb;", 'f', f32(-0.0f), f32(0.0f), 0, f32(0.0f)},
		{"min.NaN.f32 %f0, %fa, %fb;", 'f', f32(NAN), f32(2), 0, 0x7fffffff},
		{"neg.f32 %f0, %fa;", 'f', f32(2), 0, 0, f32(-2)},
		{"neg.ftz.f32 %f0, %fa;", 'f', tiny, 0, 0, f32(-0.0f)},
		{"abs.f32 %f0, %fa;", 'f', f32(-2), 0, 0, f32(2)},
		{"abs.ftz.f32 %f0, %fa;", 'f', tiny, 0, 0, 0},
		{"copysign.f32 %f0, %fa, %fb;", 'f', f32(-2), f32(3), 0, f32(-3)},
		{"sqrt.rn.f32 %f0, %fa;", 'f', f32(2), 0, 0, f32(sqrtf(2))},
		{"sqrt.approx.ftz.f32 %f0, %fa;", 'f', f32(4), 0, 0, f32(2)},
		{"rsqrt.approx.f32 %f0, %fa;", 'f', f32(4), 0, 0, f32(0.5f)},
		{"rcp.rn.f32 %f0, %fa;", 'f', f32(3), 0, 0, f32(third)},
		{"rcp.approx.ftz.f32 %f0, %fa;", 'f', f32(0), 0, 0, f32(INFINITY)},
		{"ex2.approx.f32 %f0, %fa;", 'f', f32(5), 0, 0, f32(32)},
		{"ex2.approx.f32 %f0, %fa;", 'f', f32(-149), 0, 0, 1},
		{"ex2.approx.ftz.f32 %f0, %fa;", 'f', f32(-149), 0, 0, 0},
		{"ex2.approx.f32 %f0, %fa;", 'f', f32(-INFINITY), 0, 0, 0},
		{"ex2.approx.f32 %f0, %fa;", 'f', f32(1000), 0, 0, f32(INFINITY)},
		{"lg2.approx.f32 %f0, %fa;", 'f', f32(0.25f), 0, 0, f32(-2)},
		{"lg2.approx.f32 %f0, %fa;", 'f', tiny, 0, 0, f32(-149)},
		{"lg2.approx.f32 %f0, %fa;", 'f', 0, 0, 0, f32(-INFINITY)},
		{"lg2.approx.ftz.f32 %f0, %fa;", 'f', tiny, 0, 0, f32(-INFINITY)},
		{"lg2.approx.f32 %f0, %fa;", 'f', f32(-1), 0, 0, 0x7fffffff},
		{"sin.approx.f32 %f0, %fa;", 'f', f32(0.5f), 0, 0, f32(sinf(0.5f))},
		{"cos.approx.ftz.f32 %f0, %fa;", 'f', f32(0.5f), 0, 0, f32(cosf(0.5f))},
		{"tanh.approx.f32 %f0, %fa;", 'f', f32(0.5f), 0, 0, f32(tanhf(0.5f))},
		{"add.f64 %g0, %ga, %gb;", 'g', f64(1.5), f64(2.25), 0, f64(3.75)},
		{"sub.rn.f64 %g0, %ga, %gb;", 'g', f64(1.5), f64(2.25), 0, f64(-0.75)},
		{"mul.rp.f64 %g0, %ga, %gb;", 'g', f64(1 + DBL_EPSILON), f64(1 + DBL_EPSILON), 0,
		 f64(1 + 3 * DBL_EPSILON)},
		{"div.rn.f64 %g0, %ga, %gb;", 'g', f64(1), f64(3), 0, f64(1.0 / 3)},
		{"fma.rn.f64 %g0, %ga, %gb, %gc;", 'g', f64(0.1), f64(10), f64(-1),
		 f64(fma(0.1, 10, -1))},
		{"min.f64 %g0, %ga, %gb;", 'g', f64((double)NAN), f64(2), 0, f64(2)},
		{"max.f64 %g0, %ga, 0d4008000000000000;", 'g', f64(1), 0, 0, f64(3)},
		{"neg.f64 %g0, %ga;", 'g', f64(2), 0, 0, f64(-2)},
		{"abs.f64 %g0, %ga;", 'g', f64(-2), 0, 0, f64(2)},
		{"copysign.f64 %g0, %ga, %gb;", 'g', f64(-2), f64(3), 0, f64(-3)},
		{"sqrt.rn.f64 %g0, %ga;", 'g', f64(2), 0, 0, f64(sqrt(2))},
		{"rcp.rn.f64 %g0, %ga;", 'g', f64(3), 0, 0, f64(1.0 / 3)},
		{"rcp.approx.ftz.f64 %g0, %ga;", 'g', f64(4), 0, 0, f64(0.25)},
		{"rsqrt.approx.f64 %g0, %ga;", 'g', f64(4), 0, 0, f64(0.5)},
		{"mov.f32 %f0, 1.5;", 'f', 0, 0, 0, f32(1.5f)},
		{"mov.f64 %g0, -2.5e-1;", 'g', 0, 0, 0, f64(-0.25)},
		{"mov.f32 %f0, -0f3F800000;", 'f', 0, 0, 0, f32(-1)},
	};

	RUN(rows);
}
END_TEST

START_TEST(halves)
{
	const struct row rows[] = {
		{"add.f16 %h0, %ha, %hb;", 'h', 0x3c00, 0x4000, 0, 0x4200},
		{"sub.rn.f16 %h0, %ha, %hb;", 'h', 0x3c00, 0x4000, 0, 0xbc00},
		{"mul.f16 %h0, %ha, %hb;", 'h', 0x4200, 0x4000, 0, 0x4600},
		{"mul.sat.f16 %h0, %ha, %hb;", 'h', 0x4200, 0x4000, 0, 0x3c00},
		{"fma.rn.f16 %h0, %ha, %hb, %hc;", 'h', 0x4200, 0x4000, 0x3c00, 0x4700},
		{"mul.f16 %h0, %ha, %hb;", 'h', 0x7bff, 0x4000, 0, 0x7c00},
		{"mul.f16 %h0, %ha, %hb;", 'h', 0x0001, 0x3800, 0, 0x0000},
		{"add.f16 %h0, %ha, %hb;", 'h', 0x0001, 0x0001, 0, 0x0002},
		{"add.f16 %h0, %ha, %hb;", 'h', 0x7c00, 0xfc00, 0, 0x7fff},
		{"neg.f16 %h0, %ha;", 'h', 0x3c00, 0, 0, 0xbc00},
		{"abs.f16 %h0, %ha;", 'h', 0xbc00, 0, 0, 0x3c00},
		{"min.f16 %h0, %ha, %hb;", 'h', 0x3c00, 0x7e00, 0, 0x3c00},
		{"max.f16 %h0, %ha, %hb;", 'h', 0x3c00, 0x4000, 0, 0x4000},
		{"ex2.approx.f16 %h0, %ha;", 'h', 0x4200, 0, 0, 0x4800},
		{"add.f16x2 %r0, %ra, %rb;", 'r', 0x3c004000, 0x40004000, 0, 0x42004400},
		{"fma.rn.f16x2 %r0, %ra, %rb, %rc;", 'r', 0x42003c00, 0x40004000, 0x3c003c00,
		 0x47004200},
		{"mul.f16x2 %r0, %ra, %rb;", 'r', 0x42003c00, 0x40004000, 0, 0x46004000},
		{"sub.f16x2 %r0, %ra, %rb;", 'r', 0x42003c00, 0x40004000, 0, 0x3c00bc00},
		{"max.f16x2 %r0, %ra, %rb;", 'r', 0x42003c00, 0x40004000, 0, 0x42004000},
		{"neg.f16x2 %r0, %ra;", 'r', 0x42003c00, 0, 0, 0xc200bc00},
		{"cvt.f32.f16 %f0, %ha;", 'f', 0x3555, 0, 0, f32(0.333251953125f)},
		{"cvt.f32.f16 %f0, %ha;", 'f', 0x0001, 0, 0, f32(0x1p-24f)},
		{"cvt.f32.f16 %f0, %ha;", 'f', 0xfc00, 0, 0, f32(-INFINITY)},
		{"cvt.rn.f16.f32 %h0, %fa;", 'h', f32(0.333333f), 0, 0, 0x3555},
		{"cvt.rn.f16.f32 %h0, %fa;", 'h', f32(65519.0f), 0, 0, 0x7bff},
		{"cvt.rn.f16.f32 %h0, %fa;", 'h', f32(65520.0f), 0, 0, 0x7c00},
		{"cvt.rz.f16.f32 %h0, %fa;", 'h', f32(65530.0f), 0, 0, 0x7bff},
		{"cvt.rp.f16.f32 %h0, %fa;", 'h', f32(1.0001f), 0, 0, 0x3c01},
		{"cvt.rm.f16.f32 %h0, %fa;", 'h', f32(-1.0001f), 0, 0, 0xbc01},
		{"cvt.rn.f16.f32 %h0, %fa;", 'h', f32(0x1p-25f), 0, 0, 0},
		{"cvt.rn.f16.f32 %h0, %fa;", 'h', f32(0x1.8p-25f), 0, 0, 1},
		{"cvt.rp.f16.f32 %h0, %fa;", 'h', f32(0x1p-40f), 0, 0, 1},
		{"cvt.rn.f16.f64 %h0, %ga;", 'h', f64(1.0 / 3), 0, 0, 0x3555},
		{"cvt.f64.f16 %g0, %ha;", 'g', 0x3c00, 0, 0, f64(1)},
		{"cvt.rn.f16.s32 %h0, %ra;", 'h', S32(-3), 0, 0, 0xc200},
		{"cvt.rzi.s32.f16 %r0, %ha;", 'r', 0xc2ff, 0, 0, S32(-3)},
		{"cvt.rn.f16x2.f32 %r0, %fa, %fb;", 'r', f32(3), f32(1), 0, 0x42003c00},
	};

	RUN(rows);
}
END_TEST

START_TEST(conversions)
{
	const struct row rows[] = {
		{"cvt.s64.s32 %q0, %ra;", 'q', S32(-5), 0, 0, S64(-5)},
		{"cvt.u64.u32 %q0, %ra;", 'q', S32(-5), 0, 0, S32(-5)},
		{"cvt.s64.s16 %q0, %ha;", 'q', 0xfffb, 0, 0, S64(-5)},
		{"cvt.u64.u16 %q0, %ha;", 'q', 0xfffb, 0, 0, 0xfffb},
		{"cvt.s64.s8 %q0, %ra;", 'q', 0x1fb, 0, 0, S64(-5)},
		{"cvt.s32.s8 %r0, %ra;", 'r', 0x1fb, 0, 0, S32(-5)},
		{"cvt.u32.u8 %r0, %ra;", 'r', 0x1fb, 0, 0, 0xfb},
		{"cvt.s16.s8 %h0, %ra;", 'h', 0x1fb, 0, 0, 0xfffb},
		{"cvt.u16.u8 %h0, %ha;", 'h', 0x1fb, 0, 0, 0xfb},
		{"cvt.u8.u32 %h0, %ra;", 'h', 0x1fb, 0, 0, 0xfb},
		{"cvt.s8.s32 %r0, %ra;", 'r', 0x1fb, 0, 0, S32(-5)},
		{"cvt.u32.u64 %r0, %qa;", 'r', 0x1234567890, 0, 0, 0x34567890},
		{"cvt.u16.u64 %h0, %qa;", 'h', 0x1234567890, 0, 0, 0x7890},
		{"cvt.u32.u16 %r0, %qa;", 'r', 0x1234567890, 0, 0, 0x7890},
		{"cvt.s32.s16 %r0, %ra;", 'r', 0x1ffff, 0, 0, S32(-1)},
		{"cvt.sat.s8.s32 %r0, %ra;", 'r', 1000, 0, 0, 127},
		{"cvt.sat.s8.s32 %r0, %ra;", 'r', S32(-1000), 0, 0, S32(-128)},
		{"cvt.sat.u8.s32 %r0, %ra;", 'r', S32(-1000), 0, 0, 0},
		{"cvt.sat.u8.s32 %r0, %ra;", 'r', 300, 0, 0, 255},
		{"cvt.sat.u16.s64 %h0, %qa;", 'h', 1ull << 40, 0, 0, 0xffff},
		{"cvt.sat.s32.u32 %r0, %ra;", 'r', UINT32_MAX, 0, 0, INT32_MAX},
		{"cvt.sat.u32.s64 %r0, %qa;", 'r', S64(-1), 0, 0, 0},
		{"cvt.sat.s64.u64 %q0, %qa;", 'q', UINT64_MAX, 0, 0, INT64_MAX},
		{"cvt.sat.u64.s32 %q0, %ra;", 'q', S32(-1), 0, 0, 0},
		{"cvt.rn.f32.s32 %f0, %ra;", 'f', S32(-7), 0, 0, f32(-7)},
		{"cvt.rn.f32.u32 %f0, %ra;", 'f', UINT32_MAX, 0, 0, f32(0x1p32f)},
		{"cvt.rz.f32.u32 %f0, %ra;", 'f', UINT32_MAX, 0, 0, f32(0x1.fffffep31f)},
		{"cvt.rp.f32.s32 %f0, %ra;", 'f', 0x1000001, 0, 0, f32(0x1000002)},
		{"cvt.rn.f32.s64 %f0, %qa;", 'f', S64(-7), 0, 0, f32(-7)},
		{"cvt.rn.f32.u64 %f0, %qa;", 'f', UINT64_MAX, 0, 0, f32(0x1p64f)},
		{"cvt.rz.f32.u64 %f0, %qa;", 'f', UINT64_MAX, 0, 0, f32(0x1.fffffep63f)},
		{"cvt.rn.f64.s32 %g0, %ra;", 'g', S32(-7), 0, 0, f64(-7)},
		{"cvt.rn.f64.u32 %g0, %ra;", 'g', UINT32_MAX, 0, 0, f64(UINT32_MAX)},
		{"cvt.rn.f64.u64 %g0, %qa;", 'g', UINT64_MAX, 0, 0, f64(0x1p64)},
		{"cvt.rn.f64.s64 %g0, %qa;", 'g', S64(-7), 0, 0, f64(-7)},
		{"cvt.rn.f32.u8 %f0, %ra;", 'f', 0x1fb, 0, 0, f32(0xfb)},
		{"cvt.rn.f32.s8 %f0, %ra;", 'f', 0x1fb, 0, 0, f32(-5)},
		{"cvt.rn.f32.s16 %f0, %ha;", 'f', 0xfffb, 0, 0, f32(-5)},
		{"cvt.rzi.s32.f32 %r0, %fa;", 'r', f32(-7.9f), 0, 0, S32(-7)},
		{"cvt.rni.s32.f32 %r0, %fa;", 'r', f32(2.5f), 0, 0, 2},
		{"cvt.rmi.s32.f32 %r0, %fa;", 'r', f32(-2.1f), 0, 0, S32(-3)},
		{"cvt.rpi.s32.f32 %r0, %fa;", 'r', f32(2.1f), 0, 0, 3},
		{"cvt.rzi.s32.f32 %r0, %fa;", 'r', f32(1e20f), 0, 0, INT32_MAX},
		{"cvt.rzi.s32.f32 %r0, %fa;", 'r', f32(-1e20f), 0, 0, S32(INT32_MIN)},
		{"cvt.rzi.s32.f32 %r0, %fa;", 'r', f32(NAN), 0, 0, 0},
		{"cvt.rzi.u32.f32 %r0, %fa;", 'r', f32(-1), 0, 0, 0},
		{"cvt.rzi.u32.f32 %r0, %fa;", 'r', f32(4e9f), 0, 0, 4000000000u},
		{"cvt.rzi.u32.f32 %r0, %fa;", 'r', f32(1e20f), 0, 0, UINT32_MAX},
		{"cvt.rni.u32.f32 %r0, %fa;", 'r', f32(-0.4f), 0, 0, 0},
		{"cvt.rzi.s64.f32 %q0, %fa;", 'q', f32(-1e10f), 0, 0, S64(-10000000000)},
		{"cvt.rzi.u64.f32 %q0, %fa;", 'q', f32(1e30f), 0, 0, UINT64_MAX},
		{"cvt.rzi.u64.f64 %q0, %ga;", 'q', f64(1e19), 0, 0, 10000000000000000000ull},
		{"cvt.rzi.s32.f64 %r0, %ga;", 'r', f64(-7.9), 0, 0, S32(-7)},
		{"cvt.rni.s64.f64 %q0, %ga;", 'q', f64(3.5), 0, 0, 4},
		{"cvt.rzi.u8.f32 %h0, %fa;", 'h', f32(300), 0, 0, 255},
		{"cvt.rzi.s8.f32 %r0, %fa;", 'r', f32(-300), 0, 0, S32(-128)},
		{"cvt.rzi.s16.f32 %h0, %fa;", 'h', f32(-3.5f), 0, 0, 0xfffd},
		{"cvt.rzi.u16.f64 %h0, %ga;", 'h', f64(70000), 0, 0, 0xffff},
		{"cvt.rzi.ftz.u32.f32 %r0, %fa;", 'r', f32(9.9f), 0, 0, 9},
		{"cvt.f64.f32 %g0, %fa;", 'g', f32(0.5f), 0, 0, f64(0.5)},
		{"cvt.rn.f32.f64 %f0, %ga;", 'f', f64(1.0 / 3), 0, 0, f32(1.0f / 3)},
		{"cvt.rz.f32.f64 %f0, %ga;", 'f', f64(2.0 / 3), 0, 0, f32(0.66666662693f)},
		{"cvt.rni.f32.f32 %f0, %fa;", 'f', f32(2.5f), 0, 0, f32(2)},
		{"cvt.rmi.f32.f32 %f0, %fa;", 'f', f32(-2.5f), 0, 0, f32(-3)},
		{"cvt.rpi.f64.f64 %g0, %ga;", 'g', f64(2.1), 0, 0, f64(3)},
		{"cvt.rzi.f64.f64 %g0, %ga;", 'g', f64(-2.9), 0, 0, f64(-2)},
		{"cvt.sat.f32.f32 %f0, %fa;", 'f', f32(1.5f), 0, 0, f32(1)},
		{"cvt.ftz.f32.f32 %f0, %fa;", 'f', 1, 0, 0, 0},
		{"cvt.rn.sat.f32.s32 %f0, %ra;", 'f', 7, 0, 0, f32(1)},
		{"cvt.u64.u32 %q0, %ntid.x;", 'q', 0, 0, 0, 32},
	};

	RUN(rows);
}
END_TEST

START_TEST(carries)
{
	const struct row rows[] = {
		{"add.cc.u32 %r0, %ra, %rb; addc.u32 %r0, 0, 0;", 'r', UINT32_MAX, 1, 0, 1},
		{"add.cc.u32 %r0, %ra, %rb; addc.u32 %r0, 0, 0;", 'r', UINT32_MAX, 0, 0, 0},
		{"add.cc.u64 %q0, %qa, %qb; addc.u64 %q0, %qa, 0;", 'q', UINT64_MAX, UINT64_MAX, 0,
		 0},
		{"sub.cc.u32 %r0, %ra, %rb; subc.u32 %r0, 10, 0;", 'r', 1, 2, 0, 9},
		{"sub.cc.u64 %q0, %qa, %qb; subc.u64 %q0, 10, 0;", 'q', 2, 1, 0, 10},
		{"add.cc.s32 %r0, %ra, 1; addc.cc.s32 %r0, %ra, 0; addc.s32 %r0, 0, 0;", 'r',
		 UINT32_MAX, 0, 0, 1},
		{"sub.cc.s32 %r0, 0, 1; subc.cc.s32 %r0, 0, 0; subc.s32 %r0, 0, 0;", 'r', 0, 0, 0,
		 UINT32_MAX},
		{"mad.lo.cc.u32 %r1, %ra, %rb, %rc; madc.hi.u32 %r0, %ra, %rb, 0;", 'r', UINT32_MAX,
		 UINT32_MAX, UINT32_MAX, UINT32_MAX},
		{"mad.lo.cc.u32 %r0, %ra, %rb, %rc;", 'r', 0x10000, 0x10001, 5, 0x10005},
		{"mad.hi.cc.s32 %r0, %ra, %rb, %rc;", 'r', S32(-1), 1, 1, 0},
		{"mad.lo.cc.u64 %q0, %qa, %qb, %qc; madc.hi.u64 %q0, %qa, %qb, 0;", 'q', UINT64_MAX,
		 UINT64_MAX, UINT64_MAX, UINT64_MAX},
		{"add.cc.u32 %r1, %ra, 1; madc.lo.u32 %r0, 2, 3, 4;", 'r', UINT32_MAX, 0, 0, 11},
	};

	RUN(rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptx_alu");
	TCase *tcase = tcase_create("lanes");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, integer_arithmetic, 0, 2);
	tcase_add_loop_test(tcase, bits, 0, 2);
	tcase_add_loop_test(tcase, selection, 0, 2);
	tcase_add_loop_test(tcase, comparisons, 0, 2);
	tcase_add_loop_test(tcase, floats, 0, 2);
	tcase_add_loop_test(tcase, halves, 0, 2);
	tcase_add_loop_test(tcase, conversions, 0, 2);
	tcase_add_loop_test(tcase, carries, 0, 2);
	suite_add_tcase(suite, tcase);
	return bench_main(suite);
}
