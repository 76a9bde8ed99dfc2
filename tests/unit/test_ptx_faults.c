/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel must not do: bounds, alignment, barriers that never open, and instructions that
 * are not interpreted; each with the right class and a text that says where. */
#include "unit/ptx/harness.h"

#include <stdatomic.h>

static const char head[] = ".version 8.0\n.target sm_75\n.address_size 64\n";

static void load(const char *body)
{
	char text[4096];

	bench_start();
	snprintf(text, sizeof(text), "%s%s", head, body);
	bench_load(text, 90);
}

static void assert_fault(enum ptx_fault want, const char *part, uint32_t threads)
{
	enum ptx_fault fault = bench_try("k", 1, 1, threads, 1);

	ck_assert_msg(fault == want, "fault %d, not %d: %s", fault, want, bench.result.text);
	ck_assert_msg(strstr(bench.result.text, part) != NULL, "\"%s\" is not in \"%s\"", part,
		      bench.result.text);
}

/* One access of `bytes` per thread at base + offset + step * tid; exactly the last thread's is
 * outside when the buffer is one element short. */
static void check_bounds(const char *access, unsigned bytes, uint32_t threads)
{
	char body[1024];
	char *buffer;

	snprintf(body, sizeof(body),
		 ".visible .entry k(.param .u64 p, .param .u32 step) {\n"
		 ".reg .b64 %%p, %%o; .reg .b32 %%t, %%s, %%v; .reg .b16 %%h; .reg .b64 %%q;\n"
		 ".reg .b32 %%w<4>;\n"
		 "ld.param.u64 %%p, [p]; ld.param.u32 %%s, [step]; mov.u32 %%t, %%tid.x;\n"
		 "mul.wide.u32 %%o, %%t, %%s; add.u64 %%p, %%p, %%o;\n"
		 "mov.u32 %%v, 1; mov.u64 %%q, 1; mov.b16 %%h, 1;\n"
		 "mov.u32 %%w0, 1; mov.u32 %%w1, 1; mov.u32 %%w2, 1; mov.u32 %%w3, 1;\n"
		 "%s ret; }\n",
		 access);
	for (unsigned short_by = 0; short_by <= 1; short_by++) {
		char where[64];

		load(body);
		buffer = bench_buffer((size_t)bytes * threads - short_by);
		BENCH_PARAM(buffer);
		BENCH_PARAM(bytes);
		if (!short_by) {
			ck_assert_msg(bench_try("k", 1, 1, threads, 1) == PTX_OK, "%s: %s", access,
				      bench.result.text);
			ck_assert_uint_eq(bench.result.global_bytes, (uint64_t)bytes * threads);
		} else {
			snprintf(where, sizeof(where), "thread (%u,0,0)", threads - 1);
			assert_fault(PTX_ILLEGAL_ADDRESS, where, threads);
		}
		bench_end();
	}
}

START_TEST(one_past_the_end)
{
	static const struct {
		const char *access;
		unsigned bytes;
	} rows[] = {
		{"ld.global.u32 %v, [%p];", 4},
		{"ld.global.u8 %h, [%p];", 1},
		{"ld.global.s16 %v, [%p];", 2},
		{"ld.global.u64 %q, [%p];", 8},
		{"ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%p];", 16},
		{"ld.u32 %v, [%p];", 4},
		{"ld.volatile.global.u32 %v, [%p];", 4},
		{"ld.acquire.gpu.u64 %q, [%p];", 8},
		{"st.global.u32 [%p], %v;", 4},
		{"st.global.u8 [%p], %v;", 1},
		{"st.u64 [%p], %q;", 8},
		{"st.global.v2.u32 [%p], {%v, %w1};", 8},
		{"st.release.gpu.global.u16 [%p], %h;", 2},
		{"atom.global.add.u32 %v, [%p], 1;", 4},
		{"red.add.u64 [%p], %q;", 8},
		{"atom.cas.b16 %h, [%p], %h, %h;", 2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check_bounds(rows[i].access, rows[i].bytes, 32);
		check_bounds(rows[i].access, rows[i].bytes, 13);
		check_bounds(rows[i].access, rows[i].bytes, 48);
	}
}
END_TEST

START_TEST(far_strides)
{
	static const char body[] =
		".visible .entry k(.param .u64 p, .param .u64 step) { .reg .b64 %p, %s, %t;\n"
		".reg .b32 %v; ld.param.u64 %p, [p]; ld.param.u64 %s, [step];\n"
		"cvt.u64.u32 %t, %tid.x; mad.lo.u64 %p, %t, %s, %p; ld.global.u32 %v, [%p]; ret; }";
	static const uint64_t steps[] = {1ull << 59, 1ull << 62, (uint64_t)-4, 1ull << 40,
					 (uint64_t)-1 << 58};
	uint32_t *buffer;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		load(body);
		buffer = bench_buffer(128);
		BENCH_PARAM(buffer);
		BENCH_PARAM(steps[i]);
		assert_fault(PTX_ILLEGAL_ADDRESS, "thread (1,0,0)", 32);
		bench_end();
	}
}
END_TEST

START_TEST(null_and_wild)
{
	static const char body[] =
		".visible .entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %v;\n"
		"ld.param.u64 %p, [p];\nld.global.u32 %v, [%p]; ret; }";
	static const uint64_t addresses[] = {0, 4, UINT64_MAX - 3, 0x7fffffffffff0000};

	for (size_t i = 0; i < 4; i++) {
		load(body);
		BENCH_PARAM(addresses[i]);
		assert_fault(PTX_ILLEGAL_ADDRESS, "ld.global.u32 in line 6: 0x", 1);
		bench_end();
	}
}
END_TEST

START_TEST(misaligned)
{
	static const char *const accesses[] = {
		"ld.global.u32 %v, [%p+2];",	       "ld.global.u64 %q, [%p+4];",
		"st.global.u16 [%p+1], %v;",	       "ld.global.v2.u32 {%v, %w}, [%p+4];",
		"atom.add.u32 %v, [%p+2], %v;",	       "ld.volatile.u32 %v, [%p+1];",
		"st.shared.u32 [%v+2], %v;",	       "ld.shared.u64 %q, [%v+4];",
		"atom.shared.add.u32 %v, [%v+2], %v;",
	};

	for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]); i++) {
		for (uint32_t threads = 1; threads <= 32; threads += 31) {
			char body[512];
			void *buffer;

			snprintf(body, sizeof(body),
				 ".visible .entry k(.param .u64 p) { .reg .b64 %%p, %%q;\n"
				 ".reg .b32 %%v, %%w; .shared .align 8 .b8 s[64];\n"
				 "ld.param.u64 %%p, [p]; mov.u32 %%v, s; %s ret; }",
				 accesses[i]);
			load(body);
			buffer = bench_buffer(1024);
			BENCH_PARAM(buffer);
			assert_fault(PTX_MISALIGNED, "thread (0,0,0)", threads);
			bench_end();
		}
	}
}
END_TEST

START_TEST(shared_overflow)
{
	static const char body[] =
		".visible .entry k(.param .u32 n) { .reg .b32 %a, %t, %n;\n"
		".shared .align 4 .b8 s[128]; mov.u32 %t, %tid.x; mov.u32 %a, s;\n"
		"ld.param.u32 %n, [n]; shl.b32 %t, %t, 2; add.u32 %a, %a, %t; add.u32 %a, %a, %n;\n"
		"st.shared.u32 [%a], %t; ret; }";

	for (uint32_t beyond = 0; beyond <= 4; beyond += 4) {
		load(body);
		BENCH_PARAM(beyond);
		if (beyond)
			assert_fault(PTX_ILLEGAL_ADDRESS, "thread (31,0,0)", 32);
		else
			bench_run("k", 1, 32);
		bench_end();
		load(body);
		bench.dynamic_shared = 4;
		BENCH_PARAM(beyond);
		bench_run("k", 1, 32);
		bench_end();
	}
	load(body);
	BENCH_PARAM((uint32_t)-128);
	assert_fault(PTX_ILLEGAL_ADDRESS, "shared offset", 32);
	bench_end();
}
END_TEST

START_TEST(no_shared_memory_at_all)
{
	load(".visible .entry k() { .reg .b32 %v; mov.u32 %v, 0; ld.shared.u32 %v, [%v]; ret; }");
	assert_fault(PTX_ILLEGAL_ADDRESS, "the block has 0x0", 32);
	bench_end();
}
END_TEST

START_TEST(local_overflow)
{
	static const char body[] =
		".visible .entry k(.param .u64 n) { .reg .b64 %a, %n; .reg .b32 %v;\n"
		".local .align 8 .b8 depot[64]; mov.u64 %a, depot; ld.param.u64 %n, [n];\n"
		"add.u64 %a, %a, %n; mov.u32 %v, 1; st.local.u32 [%a], %v; st.u32 [%a], %v; ret; }";

	load(body);
	BENCH_PARAM(60ull);
	bench_run("k", 1, 64);
	bench_end();
	load(body);
	BENCH_PARAM(1ull << 20);
	assert_fault(PTX_ILLEGAL_ADDRESS, "local memory", 64);
	bench_end();
	load(body);
	BENCH_PARAM((uint64_t)-8);
	assert_fault(PTX_ILLEGAL_ADDRESS, "local memory", 64);
	bench_end();
}
END_TEST

START_TEST(constants_are_read_only)
{
	load(".const .align 4 .u32 c = 7;\n"
	     ".visible .entry k(.param .u32 w) { .reg .b64 %a; .reg .b32 %v, %w; .reg .pred %p;\n"
	     "ld.param.u32 %w, [w]; setp.eq.u32 %p, %w, 0; ld.const.u32 %v, [c];\n"
	     "cvta.const.u64 %a, c; @%p ret; st.u32 [%a], %v; ret; }");
	BENCH_PARAM(0);
	bench_run("k", 1, 32);
	BENCH_PARAM(1);
	assert_fault(PTX_ILLEGAL_ADDRESS, "st.u32", 32);
	bench_end();
}
END_TEST

START_TEST(endless_recursion)
{
	load(".func f(.param .b32 a) { .param .b32 b; .reg .b32 %v; ld.param.b32 %v, [a];\n"
	     "st.param.b32 [b], %v; call f, (b); ret; }\n"
	     ".visible .entry k() { .param .b32 b; st.param.b32 [b], 1; call f, (b); ret; }");
	assert_fault(PTX_ILLEGAL_ADDRESS, "the stack of", 32);
	bench_end();
}
END_TEST

START_TEST(deadlocks)
{
	static const char *const bodies[] = {
		/* Half the warp waits at barrier 0, the other half at 1. */
		".visible .entry k() { .reg .b32 %t; .reg .pred %p; mov.u32 %t, %tid.x;\n"
		"setp.lt.u32 %p, %t, 16; @%p bra A; bar.sync 1; bra B; A: bar.sync 0; B: ret; }",
		/* A barrier for more threads than there are. */
		".visible .entry k() { bar.sync 0, 64; ret; }",
		/* A shuffle that names lanes which wait elsewhere. */
		".visible .entry k() { .reg .b32 %t; .reg .pred %p; mov.u32 %t, %tid.x;\n"
		"setp.lt.u32 %p, %t, 16; @%p bra A; bar.sync 0; bra B;\n"
		"A: shfl.sync.bfly.b32 %t, %t, 1, 31, -1; B: ret; }",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		load(bodies[i]);
		assert_fault(PTX_TRAP, "deadlock: waits for ever at ", 32);
		bench_end();
	}
}
END_TEST

START_TEST(refused_instructions)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{"wgmma.fence.sync.aligned;",
		 "line 7: wgmma.fence.sync.aligned is not interpreted"},
		{"tex.2d.v4.f32.f32 {%f, %f, %f, %f}, [t, {%f, %f}];", "tex.2d.v4.f32.f32"},
		{"frobnicate.u32 %r, %r;", "frobnicate.u32 is not interpreted"},
		{"add.frob.u32 %r, %r, %r;", "add.frob.u32 is not interpreted"},
		{"ld.global.frob.u32 %r, [%q];", "ld.global.frob.u32 is not interpreted"},
		{"atom.global.frob.u32 %r, [%q], %r;", "atom.global.frob.u32 is not interpreted"},
		{"cvt.s32.f32 %r, %f;", "cvt.s32.f32 is not interpreted"},
		{"add.rn.u32 %r, %r, %r;", "add.rn.u32 is not interpreted"},
		{"mov.b128 %q, {%q, %q};", "mov.b128 is not interpreted"},
		{"barrier.cluster.arrive;", "barrier.cluster.arrive is not interpreted"},
		{"fence.proxy.async;", "fence.proxy.async is not interpreted"},
		{"mov.u32 %r, %cluster_ctaid.x;", "%cluster_ctaid"},
		{"call other;", "other is called and not defined"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char body[512];

		snprintf(body, sizeof(body),
			 ".extern .func other;\n"
			 ".visible .entry k() {\n.reg .b32 %%r; .reg .f32 %%f; .reg .b64 %%q;\n"
			 "%s\nret; }\n.visible .entry fine() { ret; }\n",
			 rows[i].line);
		load(body);
		/* The other kernel of the module runs. */
		bench_run("fine", 1, 32);
		assert_fault(PTX_ILLEGAL_INSTRUCTION, rows[i].says, 32);
		ck_assert_uint_eq(bench.result.thread_instructions, 0);
		bench_end();
	}
}
END_TEST

START_TEST(refused_by_callee)
{
	load(".func deep() {\nwgmma.fence.sync.aligned;\nret; }\n.func middle() { call deep; ret; "
	     "}\n"
	     ".visible .entry k() { call middle; ret; }");
	assert_fault(PTX_ILLEGAL_INSTRUCTION, "line 5: wgmma.fence.sync.aligned", 32);
	bench_end();
}
END_TEST

/* Each of the two calls the other, and one cannot run: whoever calls either hears so. */
START_TEST(refused_in_a_cycle)
{
	static const char *const kernels[] = {"a", "b"};

	for (unsigned i = 0; i < 2; i++) {
		char body[512];

		snprintf(body, sizeof(body),
			 ".func b();\n.func a() { call b; ret; }\n"
			 ".func b() { call a; wgmma.fence.sync.aligned; ret; }\n"
			 ".visible .entry k() { call %s; ret; }",
			 kernels[i]);
		load(body);
		assert_fault(PTX_ILLEGAL_INSTRUCTION, "wgmma.fence.sync.aligned", 32);
		bench_end();
		snprintf(body, sizeof(body),
			 ".func b();\n.func a() { call b; wgmma.fence.sync.aligned; ret; }\n"
			 ".func b() { call a; ret; }\n"
			 ".visible .entry k() { .reg .b64 %%f; mov.u64 %%f, %s;\n"
			 "P: .callprototype _ (); call %%f, P; ret; }",
			 kernels[i]);
		load(body);
		assert_fault(PTX_ILLEGAL_INSTRUCTION, "wgmma.fence.sync.aligned", 32);
		bench_end();
	}
}
END_TEST

START_TEST(external_variable)
{
	load(".extern .global .u32 elsewhere;\n"
	     ".visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [elsewhere]; ret; }");
	assert_fault(PTX_ILLEGAL_INSTRUCTION, "elsewhere", 32);
	bench_end();
}
END_TEST

START_TEST(bad_calls)
{
	load(".global .u64 f = 0;\n"
	     ".func g(.param .b32 a) { ret; }\n"
	     ".visible .entry k(.param .u64 x) { .reg .b64 %f; .param .b64 a; ld.param.u64 %f, "
	     "[x];\n"
	     "P: .callprototype _ (.param .b64 _); st.param.b64 [a], 1; call %f, (a), P; ret; }");
	BENCH_PARAM(0x1234ull);
	assert_fault(PTX_ILLEGAL_ADDRESS, "0x1234 is no function", 32);
	bench_end();
	load(".func g(.param .b32 a) { ret; }\n"
	     ".visible .entry k() { .reg .b64 %f; .param .b64 a; mov.u64 %f, g;\n"
	     "P: .callprototype _ (.param .b64 _); st.param.b64 [a], 1; call %f, (a), P; ret; }");
	assert_fault(PTX_ILLEGAL_INSTRUCTION, "takes other parameters", 32);
	bench_end();
}
END_TEST

START_TEST(too_many_threads)
{
	load(".visible .entry k() { ret; }");
	assert_fault(PTX_ILLEGAL_INSTRUCTION, "1025 threads", 1025);
	bench_end();
}
END_TEST

START_TEST(stop_flag_is_seen)
{
	static const char *const bodies[] = {
		".visible .entry k() { A: bra A; }",
		".visible .entry k() { .reg .b32 %t; .reg .pred %p; mov.u32 %t, %laneid;\n"
		"setp.lt.u32 %p, %t, 7; A: @%p bra A; B: bra B; }",
		".visible .entry k() { .reg .b32 %i; mov.u32 %i, 0; brx.idx %i, L; A: ret; B: "
		"ret;\n"
		"L: .branchtargets C, A; C: add.u32 %i, %i, 0; bra C; }",
	};
	_Atomic bool stop = true;

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		load(bodies[i]);
		bench.stop = &stop;
		assert_fault(PTX_STOPPED, "stopped", 64);
		/* Within a few turns of the warps. */
		ck_assert_uint_lt(bench.result.warp_instructions, 200000);
		bench_end();
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptx_faults");
	TCase *tcase = tcase_create("faults");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, one_past_the_end);
	tcase_add_test(tcase, far_strides);
	tcase_add_test(tcase, null_and_wild);
	tcase_add_test(tcase, misaligned);
	tcase_add_test(tcase, shared_overflow);
	tcase_add_test(tcase, no_shared_memory_at_all);
	tcase_add_test(tcase, local_overflow);
	tcase_add_test(tcase, constants_are_read_only);
	tcase_add_test(tcase, endless_recursion);
	tcase_add_test(tcase, deadlocks);
	tcase_add_test(tcase, refused_instructions);
	tcase_add_test(tcase, refused_by_callee);
	tcase_add_test(tcase, refused_in_a_cycle);
	tcase_add_test(tcase, external_variable);
	tcase_add_test(tcase, bad_calls);
	tcase_add_test(tcase, too_many_threads);
	tcase_add_test(tcase, stop_flag_is_seen);
	suite_add_tcase(suite, tcase);
	return bench_main(suite);
}
