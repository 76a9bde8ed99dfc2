/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that look across lanes and blocks, and control flow, as text. */
#include "unit/ptx/harness.h"

#define LANES 32u

/* A kernel that stores 32-bit %d, one per thread, after `body`; %in is the input of the thread,
 * %t its number, %n a parameter. */
static void load(const char *body)
{
	char text[4096];

	bench_start();
	snprintf(text, sizeof(text),
		 ".version 8.0\n.target sm_80\n.address_size 64\n"
		 ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {\n"
		 ".reg .b64 %%i, %%o, %%off, %%q; .reg .b32 %%in, %%d, %%t, %%n, %%x, %%y, %%z;\n"
		 ".reg .pred %%p, %%r;\n"
		 "ld.param.u64 %%i, [in]; ld.param.u64 %%o, [out]; ld.param.u32 %%n, [n];\n"
		 "mov.u32 %%t, %%tid.x; mov.u32 %%x, %%ctaid.x; mov.u32 %%y, %%ntid.x;\n"
		 "mad.lo.u32 %%z, %%x, %%y, %%t; mul.wide.u32 %%off, %%z, 4;\n"
		 "add.u64 %%i, %%i, %%off; add.u64 %%o, %%o, %%off; ld.global.u32 %%in, [%%i];\n"
		 "mov.u32 %%d, 0x77777777;\n%s\nst.global.u32 [%%o], %%d; ret; }\n",
		 body);
	bench_load(text, 80);
}

static uint32_t *input;

static uint32_t *run(const char *body, uint32_t blocks, uint32_t threads, uint32_t n)
{
	uint32_t count = blocks * threads;
	uint64_t seed = 5;
	uint32_t *out;

	load(body);
	input = bench_buffer(count * sizeof(*input));
	out = bench_buffer(count * sizeof(*out));
	for (uint32_t i = 0; i < count; i++)
		input[i] = bench_random(&seed) % 7;
	BENCH_PARAM(input);
	BENCH_PARAM(out);
	BENCH_PARAM(n);
	ck_assert_msg(bench_try("k", blocks, 1, threads, 1) == PTX_OK, "%s: %s", body,
		      bench.result.text);
	return out;
}

/* ---- shuffle ---- */

static uint32_t shuffle(const char *mode, uint32_t lane, uint32_t b, uint32_t c, bool *ret_valid)
{
	uint32_t segment = c >> 8 & 31;
	uint32_t least = lane & segment;
	uint32_t most = least | (c & 31 & ~segment);
	int from;

	if (!strcmp(mode, "up")) {
		from = (int)lane - (int)b;
		*ret_valid = from >= (int)most;
	} else {
		from = (int)(!strcmp(mode, "down")   ? lane + b
			     : !strcmp(mode, "bfly") ? (lane ^ b)
						     : (least | (b & ~segment)));
		*ret_valid = from <= (int)most;
	}
	return *ret_valid ? (uint32_t)from : lane;
}

static void check_shuffle(const char *mode, uint32_t b, uint32_t width)
{
	uint32_t c = (LANES - width) << 8 | (!strcmp(mode, "up") ? 0 : 31);
	char body[256];
	uint32_t *out;

	snprintf(body, sizeof(body),
		 "shfl.sync.%s.b32 %%d|%%p, %%in, %u, %u, -1; @%%p add.u32 %%d, %%d, 1000;", mode,
		 b, c);
	out = run(body, 1, LANES, 0);
	for (uint32_t lane = 0; lane < LANES; lane++) {
		bool valid;
		uint32_t from = shuffle(mode, lane, b, c, &valid);

		ck_assert_msg(out[lane] == input[from] + (valid ? 1000 : 0),
			      "%s %u width %u lane %u: %u", mode, b, width, lane, out[lane]);
	}
	bench_end();
}

START_TEST(shuffles)
{
	static const char *const modes[] = {"up", "down", "bfly", "idx"};

	for (unsigned mode = 0; mode < 4; mode++) {
		for (uint32_t b = 0; b < LANES; b += 3) {
			check_shuffle(modes[mode], b, 32);
			check_shuffle(modes[mode], b, 8);
		}
	}
}
END_TEST

START_TEST(shuffle_from_idle_lane)
{
	/* Lanes 16 and up do not take part: they give 0. */
	uint32_t *out = run("setp.lt.u32 %p, %t, 16; @!%p bra S;\n"
			    "shfl.sync.bfly.b32 %d, 5, 16, 31, 0xffff; S:",
			    1, LANES, 0);

	for (uint32_t lane = 0; lane < LANES; lane++)
		ck_assert_uint_eq(out[lane], lane < 16 ? 0 : 0x77777777);
	bench_end();
}
END_TEST

START_TEST(shuffle_waits_for_lanes)
{
	/* Odd lanes take a longer way to the same shuffle. */
	uint32_t *out = run("and.b32 %x, %t, 1; setp.eq.u32 %p, %x, 0; mov.u32 %y, 0;\n"
			    "@%p bra S; W: add.u32 %y, %y, 1; setp.lt.u32 %r, %y, %t; @%r bra W;\n"
			    "S: shfl.sync.down.b32 %d, %t, 1, 31, -1;",
			    1, LANES, 0);

	for (uint32_t lane = 0; lane < LANES; lane++)
		ck_assert_uint_eq(out[lane], lane < 31 ? lane + 1 : 31);
	bench_end();
}
END_TEST

/* ---- vote, match, redux ---- */

START_TEST(whole_warp_votes)
{
	static const struct {
		const char *mode;
		bool none, some, all;
	} rows[] = {{"all", false, false, true},
		    {"any", false, true, true},
		    {"uni", true, false, true}};

	for (unsigned i = 0; i < 3; i++) {
		for (uint32_t n = 0; n <= 40; n += 20) {
			char body[256];
			uint32_t *out;
			bool want = n == 0 ? rows[i].none : n == 20 ? rows[i].some : rows[i].all;

			snprintf(body, sizeof(body),
				 "setp.lt.u32 %%p, %%t, %%n; vote.sync.%s.pred %%r, %%p, -1;\n"
				 "selp.u32 %%d, 1, 0, %%r;",
				 rows[i].mode);
			out = run(body, 1, LANES, n);
			for (uint32_t lane = 0; lane < LANES; lane++)
				ck_assert_uint_eq(out[lane], want);
			bench_end();
		}
	}
}
END_TEST

START_TEST(votes_of_parts)
{
	/* Two halves of the warp vote by themselves, in one instruction. */
	uint32_t *out =
		run("setp.gt.u32 %p, %in, 3; setp.lt.u32 %r, %t, 16;\n"
		    "selp.b32 %x, 0xffff, 0xffff0000, %r; vote.sync.ballot.b32 %d, !%p, %x;",
		    1, LANES, 0);
	uint32_t votes = 0;

	for (uint32_t lane = 0; lane < LANES; lane++)
		votes |= (uint32_t)(input[lane] <= 3) << lane;
	for (uint32_t lane = 0; lane < LANES; lane++)
		ck_assert_uint_eq(out[lane], votes & (lane < 16 ? 0xffff : 0xffff0000));
	bench_end();
}
END_TEST

START_TEST(matches)
{
	uint32_t *out = run("match.any.sync.b32 %d, %in, -1;", 1, LANES, 0);

	for (uint32_t lane = 0; lane < LANES; lane++) {
		uint32_t same = 0;

		for (uint32_t other = 0; other < LANES; other++)
			same |= (uint32_t)(input[other] == input[lane]) << other;
		ck_assert_uint_eq(out[lane], same);
	}
	bench_end();
	out = run("cvt.u64.u32 %q, %n; match.all.sync.b64 %d|%p, %q, -1; @%p add.u32 %d, %d, 5;", 1,
		  LANES, 9);
	for (uint32_t lane = 0; lane < LANES; lane++)
		ck_assert_uint_eq(out[lane], 4);
	bench_end();
	out = run("match.all.sync.b32 %d|%p, %t, -1; @!%p add.u32 %d, %d, 5;", 1, LANES, 9);
	for (uint32_t lane = 0; lane < LANES; lane++)
		ck_assert_uint_eq(out[lane], 5);
	bench_end();
}
END_TEST

static uint32_t reduce(const char *op, uint32_t x, uint32_t y)
{
	if (!strcmp(op, "add.u32"))
		return x + y;
	if (!strcmp(op, "min.u32"))
		return x < y ? x : y;
	if (!strcmp(op, "max.s32"))
		return (int32_t)x > (int32_t)y ? x : y;
	if (!strcmp(op, "min.s32"))
		return (int32_t)x < (int32_t)y ? x : y;
	if (!strcmp(op, "and.b32"))
		return x & y;
	return !strcmp(op, "or.b32") ? (x | y) : (x ^ y);
}

START_TEST(reductions)
{
	static const char *const ops[] = {"add.u32", "min.u32", "max.s32", "min.s32",
					  "and.b32", "or.b32",	"xor.b32"};

	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		char body[128];
		uint32_t want;
		uint32_t *out;

		snprintf(body, sizeof(body), "sub.u32 %%x, %%in, 3; redux.sync.%s %%d, %%x, -1;",
			 ops[i]);
		out = run(body, 1, LANES, 0);
		want = input[0] - 3;
		for (uint32_t lane = 1; lane < LANES; lane++)
			want = reduce(ops[i], want, input[lane] - 3);
		for (uint32_t lane = 0; lane < LANES; lane++)
			ck_assert_uint_eq(out[lane], want);
		bench_end();
	}
}
END_TEST

START_TEST(active_lanes)
{
	uint32_t *out = run("setp.ge.u32 %p, %t, 5; @%p activemask.b32 %d;", 2, 29, 0);

	for (uint32_t i = 0; i < 58; i++)
		ck_assert_uint_eq(out[i], i % 29 < 5 ? 0x77777777 : 0x1fffffe0);
	bench_end();
}
END_TEST

START_TEST(lane_masks)
{
	static const char *const names[] = {"eq", "lt", "le", "gt", "ge"};

	for (unsigned i = 0; i < 5; i++) {
		char body[64];
		uint32_t *out;

		snprintf(body, sizeof(body), "mov.u32 %%d, %%lanemask_%s;", names[i]);
		out = run(body, 1, LANES, 0);
		for (uint32_t lane = 0; lane < LANES; lane++) {
			uint32_t below = (1u << lane) - 1;
			const uint32_t want[] = {1u << lane, below, below | 1u << lane,
						 ~below & ~(1u << lane), ~below};

			ck_assert_uint_eq(out[lane], want[i]);
		}
		bench_end();
	}
}
END_TEST

START_TEST(special_registers)
{
	static const char *const bodies[] = {
		"mov.u32 %d, %ntid.x;",	  "mov.u32 %d, %nctaid.x;",
		"mov.u32 %d, %nwarpid;",  "mov.u32 %d, %ctaid.y;",
		"mov.u32 %d, %nctaid.z;", "mov.u32 %d, %dynamic_smem_size;",
		"mov.u32 %d, %envreg7;",  "mov.u32 %d, %tid.z;",
		"mov.u32 %d, %ctaid.x;",  "mov.u32 %d, %warpid;",
		"mov.u32 %d, %laneid;",
	};
	static const uint32_t uniform[] = {48, 3, 2, 0, 1, 64, 0, 0};

	for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		uint32_t *out;

		bench.dynamic_shared = 0;
		load(bodies[i]);
		bench.dynamic_shared = 64;
		input = bench_buffer(144 * 4);
		out = bench_buffer(144 * 4);
		BENCH_PARAM(input);
		BENCH_PARAM(out);
		BENCH_PARAM(0);
		bench_run("k", 3, 48);
		for (uint32_t t = 0; t < 144; t++) {
			uint32_t want = i < 8	 ? uniform[i]
					: i == 8 ? t / 48
					: i == 9 ? t % 48 / 32
						 : t % 48 % 32;

			ck_assert_msg(out[t] == want, "%s: %u, not %u", bodies[i], out[t], want);
		}
		bench_end();
	}
}
END_TEST

/* ---- barriers ---- */

START_TEST(warp_barriers_at_two_places)
{
	uint32_t *out = run(".shared .align 4 .b8 s[128]; mov.u32 %x, s; shl.b32 %y, %t, 2;\n"
			    "add.u32 %x, %x, %y; setp.lt.u32 %p, %t, 16; @%p bra A;\n"
			    "st.shared.u32 [%x], %t; bar.warp.sync -1; bra E;\n"
			    "A: bar.warp.sync -1; ld.shared.u32 %d, [%x+64]; E:",
			    1, LANES, 0);

	for (uint32_t lane = 0; lane < 16; lane++)
		ck_assert_uint_eq(out[lane], lane + 16);
	bench_end();
}
END_TEST

START_TEST(named_barriers)
{
	/* Warp 0 produces for warp 1: it arrives and goes on; warp 2 has a barrier of its own. */
	uint32_t *out = run(".shared .u32 s; setp.ge.u32 %p, %t, 64; @%p bra C;\n"
			    "setp.ge.u32 %p, %t, 32; @%p bra B;\n"
			    "st.shared.u32 [s], 17; membar.cta; bar.arrive 3, 64; mov.u32 %d, 1;\n"
			    "bra E; B: bar.sync 3, 64; ld.shared.u32 %d, [s]; bra E;\n"
			    "C: bar.sync 4, 32; mov.u32 %d, 2; E:",
			    1, 96, 0);

	for (uint32_t t = 0; t < 96; t++)
		ck_assert_uint_eq(out[t], t < 32 ? 1 : t < 64 ? 17 : 2);
	bench_end();
}
END_TEST

START_TEST(barrier_reductions)
{
	uint32_t *out = run("setp.gt.u32 %p, %in, 2; bar.red.popc.u32 %d, 0, %p;\n"
			    "bar.red.or.pred %r, 0, %p; @%r add.u32 %d, %d, 1000;\n"
			    "barrier.red.and.pred %r, 1, !%p; @%r add.u32 %d, %d, 2000;",
			    2, 80, 0);

	for (uint32_t block = 0; block < 2; block++) {
		uint32_t count = 0;

		for (uint32_t t = 0; t < 80; t++)
			count += input[block * 80 + t] > 2;
		for (uint32_t t = 0; t < 80; t++)
			ck_assert_uint_eq(out[block * 80 + t], count + 1000);
	}
	bench_end();
}
END_TEST

START_TEST(barrier_in_both_branches)
{
	/* Lanes of one warp meet at barrier 0 from two places. */
	uint32_t *out = run("and.b32 %x, %t, 1; setp.eq.u32 %p, %x, 0; @%p bra A;\n"
			    "mov.u32 %d, 1; bar.sync 0; bra E; A: mov.u32 %d, 2; bar.sync 0; E:",
			    1, 64, 0);

	for (uint32_t t = 0; t < 64; t++)
		ck_assert_uint_eq(out[t], t % 2 ? 1 : 2);
	bench_end();
}
END_TEST

/* ---- control flow ---- */

START_TEST(indexed_branches)
{
	uint32_t *out = run("min.u32 %x, %in, 3; L: .branchtargets A, B, C, B;\n"
			    "brx.idx %x, L; A: mov.u32 %d, 10; bra E; B: mov.u32 %d, 20; bra E;\n"
			    "C: mov.u32 %d, 30; E: add.u32 %d, %d, 1;",
			    1, 64, 0);

	for (uint32_t t = 0; t < 64; t++)
		ck_assert_uint_eq(out[t], input[t] == 0 ? 11 : input[t] == 2 ? 31 : 21);
	bench_end();
}
END_TEST

START_TEST(nested_divergence)
{
	/* Loops of different lengths inside branches inside a loop. */
	uint32_t *out =
		run("mov.u32 %d, 0; mov.u32 %x, 0;\n"
		    "O: and.b32 %z, %x, 1; setp.eq.u32 %p, %z, 0; @%p bra A;\n"
		    "mov.u32 %y, %in; I: setp.eq.u32 %r, %y, 0; @%r bra N;\n"
		    "add.u32 %d, %d, %y; sub.u32 %y, %y, 1; bra I;\n"
		    "A: add.u32 %d, %d, 100; setp.gt.u32 %r, %in, 4; @%r add.u32 %d, %d, 7;\n"
		    "N: add.u32 %x, %x, 1; setp.lt.u32 %p, %x, %t; @%p bra O;",
		    1, 40, 0);

	for (uint32_t t = 0; t < 40; t++) {
		uint32_t want = 0;
		uint32_t x = 0;

		do {
			if (x & 1)
				want += input[t] * (input[t] + 1) / 2;
			else
				want += 100 + (input[t] > 4 ? 7 : 0);
		} while (++x < t);
		ck_assert_uint_eq(out[t], want);
	}
	bench_end();
}
END_TEST

START_TEST(predicated_exit)
{
	uint32_t *out = run("setp.gt.u32 %p, %in, 3; mov.u32 %d, 5; st.global.u32 [%o], %d;\n"
			    "@%p exit; mov.u32 %d, 6;",
			    3, 50, 0);

	for (uint32_t t = 0; t < 150; t++)
		ck_assert_uint_eq(out[t], input[t] > 3 ? 5 : 6);
	bench_end();
}
END_TEST

START_TEST(spins_on_what_comes_later)
{
	static const char *const loads[] = {"ld.volatile.shared.u32", "ld.shared.u32",
					    "atom.shared.or.b32", "ld.volatile.global.u32"};

	for (unsigned i = 0; i < 4; i++) {
		char body[512];
		uint32_t *out;

		/* The upper half waits, first in the program, for the lower one. */
		snprintf(body, sizeof(body),
			 ".shared .u32 s; setp.lt.u32 %%p, %%t, 16; @%%p bra B;\n"
			 "A: %s %%x, [%s]%s; setp.lt.u32 %%r, %%x, 9; @%%r bra A; mov.u32 %%d, 1;\n"
			 "bra E; B: st.shared.u32 [s], 9; st.volatile.global.u32 [%%i+64], 9;\n"
			 "mov.u32 %%d, 2; E:",
			 loads[i], i == 3 ? "%i" : "s", i == 2 ? ", 0" : "");
		out = run(body, 1, LANES, 0);
		for (uint32_t t = 0; t < LANES; t++)
			ck_assert_uint_eq(out[t], t < 16 ? 2 : 1);
		bench_end();
	}
}
END_TEST

START_TEST(instruction_counts)
{
	/* Exact, whatever the host: 32 lanes do 10 rounds of 3, half of them one more. */
	run("mov.u32 %x, 0; A: add.u32 %x, %x, 1; setp.lt.u32 %p, %x, %n; @%p bra A;", 1, LANES,
	    10);
	ck_assert_uint_eq(bench.result.thread_instructions, 32 * bench.result.warp_instructions);
	{
		uint64_t once = bench.result.warp_instructions;

		bench_end();
		run("mov.u32 %x, 0; A: add.u32 %x, %x, 1; setp.lt.u32 %p, %x, %n; @%p bra A;", 1,
		    LANES, 11);
		ck_assert_uint_eq(bench.result.warp_instructions, once + 3);
		bench_end();
		run("shr.u32 %x, %t, 4; A: add.u32 %x, %x, 1; setp.lt.u32 %p, %x, %n; @%p bra A;",
		    1, LANES, 10);
		/* The upper half leaves the loop one round early. */
		ck_assert_uint_eq(bench.result.thread_instructions, 32 * once - 16 * 3);
		bench_end();
	}
}
END_TEST

START_TEST(sleep_goes_by)
{
	uint32_t *out = run("mov.u64 %q, %globaltimer; cvt.u32.u64 %x, %q; nanosleep.u32 100000;\n"
			    "mov.u64 %q, %globaltimer; cvt.u32.u64 %y, %q; sub.u32 %d, %y, %x;",
			    1, LANES, 0);

	ck_assert_uint_ge(out[0], 100000);
	ck_assert_uint_lt(out[0], 101000);
	bench_end();
}
END_TEST

START_TEST(spaces)
{
	uint32_t *out =
		run(".shared .u32 s; .local .u32 l; .reg .b64 %a; mov.u32 %d, 0;\n"
		    "isspacep.global %p, %i; @%p add.u32 %d, %d, 1;\n"
		    "cvta.shared.u64 %a, s; isspacep.shared %p, %a; @%p add.u32 %d, %d, 2;\n"
		    "isspacep.global %p, %a; @%p add.u32 %d, %d, 100;\n"
		    "mov.u64 %a, l; isspacep.local %p, %a; @%p add.u32 %d, %d, 4;\n"
		    "mov.u64 %a, n; isspacep.param %p, %a; @%p add.u32 %d, %d, 8;\n"
		    "ld.u32 %x, [%a]; add.u32 %d, %d, %x;\n"
		    "cvta.shared.u64 %a, s; cvta.to.shared.u64 %a, %a; st.shared.u32 [%a], 16;\n"
		    "ld.shared.u32 %x, [s]; add.u32 %d, %d, %x;",
		    1, LANES, 1000);

	for (uint32_t t = 0; t < LANES; t++)
		ck_assert_uint_eq(out[t], 1 + 2 + 4 + 8 + 16 + 1000);
	bench_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptx_warp");
	TCase *tcase = tcase_create("warp");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, shuffles);
	tcase_add_test(tcase, shuffle_from_idle_lane);
	tcase_add_test(tcase, shuffle_waits_for_lanes);
	tcase_add_test(tcase, whole_warp_votes);
	tcase_add_test(tcase, votes_of_parts);
	tcase_add_test(tcase, matches);
	tcase_add_test(tcase, reductions);
	tcase_add_test(tcase, active_lanes);
	tcase_add_test(tcase, lane_masks);
	tcase_add_test(tcase, special_registers);
	tcase_add_test(tcase, warp_barriers_at_two_places);
	tcase_add_test(tcase, named_barriers);
	tcase_add_test(tcase, barrier_reductions);
	tcase_add_test(tcase, barrier_in_both_branches);
	tcase_add_test(tcase, indexed_branches);
	tcase_add_test(tcase, nested_divergence);
	tcase_add_test(tcase, predicated_exit);
	tcase_add_test(tcase, spins_on_what_comes_later);
	tcase_add_test(tcase, instruction_counts);
	tcase_add_test(tcase, sleep_goes_by);
	tcase_add_test(tcase, spaces);
	suite_add_tcase(suite, tcase);
	return bench_main(suite);
}
