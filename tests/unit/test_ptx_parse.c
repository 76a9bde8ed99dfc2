/* SPDX-License-Identifier: Apache-2.0 */
/* Texts: what a module says about itself, errors with their lines, and that no text whatever
 * does harm. */
#include "unit/ptx/harness.h"

#include <errno.h>

static const char head[] = ".version 8.0\n.target sm_75\n.address_size 64\n";

static const char sample[] =
	".version 8.4\n.target sm_75, debug\n.address_size 64\n"
	"// a comment\n/* another\none */\n.file 1 \"a.cu\", 12, 34\n"
	".visible .const .align 16 .b8 table[8] = {1, 2, 0x3, 04, 0b101};\n"
	".visible .global .align 4 .f32 scale = 0f3F800000;\n"
	".global .f64 pi[2][2] = {{3.25, -1.0}, {0d4000000000000000, 7}};\n"
	".global .attribute(.managed) .u32 shared_with_host;\n"
	".global .u64 chain[2] = {generic(scale) + 4, table};\n"
	".global .b8 open[] = {5, 6, 7};\n"
	".global .s16 size = (2 + 3) * -4 << 1;\n"
	".extern .global .u32 scale2;\n"
	".extern .shared .align 16 .b8 dynamic[];\n"
	".shared .u32 common[4];\n"
	".section .debug_info { .b8 1, 2, 3 }\n"
	".func (.param .b32 r) add_one (.param .b32 a)\n{\n"
	".reg .b32 %r<3>;\nld.param.b32 %r1, [a]; add.s32 %r1, %r1, 1; st.param.b32 [r], %r1; "
	"ret;\n"
	"}\n"
	".func (.reg .b32 r) by_register (.reg .b32 a, .reg .f64 g)\n"
	"{ mul.lo.s32 r, a, 3; ret; }\n"
	".visible .entry first(.param .u64 .ptr .global .align 4 p, .param .u8 c,\n"
	"  .param .align 8 .b8 s[12], .param .f32 f) .maxntid 64, 2, 1 .minnctapersm 2\n{\n"
	".reg .b32 %r<9>; .reg .b64 %q<3>; .reg .pred %p<2>; .reg .f64 %d;\n"
	".loc 1 3 5\n.pragma \"nounroll\";\n"
	".shared .align 8 .b8 own[24];\n"
	"ld.param.u64 %q1, [p]; ld.param.u8 %r1, [c]; ld.param.u32 %r2, [s+8];\n"
	"{ .param .b32 x; .param .b32 y; st.param.b32 [x+0], %r1;\n"
	"  call.uni (y), add_one, (x); ld.param.b32 %r3, [y+0]; }\n"
	"mov.f64 %d, 0d0000000000000000; call (%r4), by_register, (%r3, %d);\n"
	"setp.gt.u32 %p1, %r4, 10; @!%p1 bra $done;\n"
	"$again: add.s32 %r4, %r4, -1; setp.ne.s32 %p1, %r4, 10; @%p1 bra $again;\n"
	"$done: add.s32 %r4, %r4, %r2; st.global.u32 [%q1], %r4; ret;\n}\n"
	".visible .entry second() .reqntid 32 { .reg .b32 %r; mov.u32 %r, %envreg2;"
	" st.shared.u32 [common], %r; ret; }\n"
	".entry third();\n";

START_TEST(module_facts)
{
	const struct ptx_function_info *info;
	struct ptx_error error;
	struct ptx_module *module = ptx_module_create(sample, 80, &error);

	ck_assert_msg(module != NULL, "line %u: %s", error.line, error.text);
	/* A kernel that is declared only is none. */
	ck_assert_uint_eq(ptx_module_functions(module), 2);
	info = ptx_function_get_info(ptx_module_function(module, 0));
	ck_assert_str_eq(info->name, "first");
	ck_assert_uint_eq(info->params, 4);
	ck_assert_uint_eq(info->param[1].offset_bytes, 8);
	ck_assert_uint_eq(info->param[1].size_bytes, 1);
	ck_assert_uint_eq(info->param[2].offset_bytes, 16);
	ck_assert_uint_eq(info->param[2].size_bytes, 12);
	ck_assert_uint_eq(info->param[2].align_bytes, 8);
	ck_assert_uint_eq(info->param[3].offset_bytes, 28);
	ck_assert_uint_eq(info->param_bytes, 32);
	ck_assert_uint_eq(info->shared_bytes, 24);
	ck_assert_uint_eq(info->max_threads, 128);
	ck_assert_uint_eq(info->reqd[0], 0);
	ck_assert_uint_eq(info->const_bytes, 8);
	ck_assert(!info->uses_grid_sync);
	ck_assert(info->regs > 0 && info->regs <= 255);
	info = ptx_function_get_info(ptx_module_find(module, "second"));
	ck_assert_uint_eq(info->reqd[0], 32);
	ck_assert_uint_eq(info->reqd[2], 1);
	ck_assert_uint_eq(info->shared_bytes, 16);
	ck_assert(info->uses_grid_sync);
	ck_assert_ptr_null(ptx_module_find(module, "third"));
	ck_assert_ptr_null(ptx_module_find(module, "add_one"));
	ck_assert_ptr_null(ptx_module_function(module, 2));
	ptx_module_destroy(module);
}
END_TEST

static uint32_t global_index(const char *name)
{
	for (uint32_t i = 0; i < ptx_module_globals(bench.module); i++) {
		if (!strcmp(ptx_module_global(bench.module, i)->name, name))
			return i;
	}
	ck_abort_msg("no global %s", name);
	return 0;
}

START_TEST(global_values)
{
	static const uint8_t table[8] = {1, 2, 3, 4, 5};
	static const double pi[4] = {3.25, -1, 2, 7};
	static const uint8_t open[3] = {5, 6, 7};
	const float one = 1;
	const int16_t size = -40;
	uint64_t chain[2];

	bench_start();
	bench_load(sample, 75);
	/* bench_load places globals in their order, each in a buffer of its own. */
	ck_assert_uint_eq(ptx_module_globals(bench.module), 7);
	ck_assert_mem_eq(bench.buffer[global_index("table")].data, table, 8);
	ck_assert_mem_eq(bench.buffer[global_index("scale")].data, &one, 4);
	ck_assert_mem_eq(bench.buffer[global_index("pi")].data, pi, sizeof(pi));
	ck_assert_mem_eq(bench.buffer[global_index("open")].data, open, 3);
	ck_assert_mem_eq(bench.buffer[global_index("size")].data, &size, 2);
	memcpy(chain, bench.buffer[global_index("chain")].data, sizeof(chain));
	ck_assert_ptr_eq((void *)(uintptr_t)chain[0], bench.buffer[global_index("scale")].data + 4);
	ck_assert_ptr_eq((void *)(uintptr_t)chain[1], bench.buffer[global_index("table")].data);
	ck_assert(ptx_module_global(bench.module, global_index("table"))->is_const);
	ck_assert_uint_eq(ptx_module_global(bench.module, global_index("table"))->align_bytes, 16);
	ck_assert(ptx_module_global(bench.module, global_index("shared_with_host"))->is_managed);
	ck_assert(!ptx_module_global(bench.module, global_index("scale"))->is_managed);
	ck_assert_uint_eq(ptx_module_global(bench.module, global_index("open"))->size_bytes, 3);
	ck_assert_ptr_null(ptx_module_global(bench.module, 7));
	bench_end();
}
END_TEST

START_TEST(runs_the_sample)
{
	const struct {
		uint32_t a[3];
	} s = {{0, 0, 1000}};
	uint32_t *out;

	bench_start();
	bench_load(sample, 75);
	out = bench_buffer(4);
	BENCH_PARAM(out);
	BENCH_PARAM((uint8_t)41);
	bench.next_param = 16;
	BENCH_PARAM(s);
	BENCH_PARAM(1.0f);
	bench_run("first", 1, 1);
	ck_assert_uint_eq(*out, 1010);
	bench_end();
}
END_TEST

static void assert_error(const char *text, uint32_t line, const char *says)
{
	struct ptx_error error;
	struct ptx_module *module = ptx_module_create(text, 75, &error);

	ck_assert_msg(module == NULL, "accepted: %s", text);
	ck_assert_msg(strstr(error.text, says) != NULL, "\"%s\" is not in \"%s\"", says,
		      error.text);
	ck_assert_msg(error.line == line, "line %u, not %u: %s", error.line, line, error.text);
}

START_TEST(errors_of_modules)
{
	assert_error("", 1, "empty");
	assert_error("hello", 1, "\"hello\" where");
	assert_error(".target sm_75\n.entry k() { ret; }", 2, "\".version\"");
	assert_error(".version 8.0\n.target sm_90\n", 2, "newer than the device's 7.5");
	assert_error(".version 8.0\n.target sm_70a\n", 2, "runs on 7.0 only");
	assert_error(".version 8.0\n.target sm_75\n.address_size 32\n", 3, "64");
	assert_error(".version 8.0\n.target sm_75\n\n.frob x;", 4, ".frob");
	assert_error(".version 8.0\n.target sm_75\n.global .u32 a;\n.global .u32 a;", 4,
		     "twice, first in line 3");
	assert_error(".version 8.0\n.target sm_75\n.global .u32 a = {1, 2};", 3, "more initial");
	assert_error(".version 8.0\n.target sm_75\n.global .u32 a = 1 / 0;", 3, "by zero");
	assert_error(".version 8.0\n.target sm_75\n.global .u64 a = b;", 3, "address of b");
	assert_error(".version 8.0\n.target sm_75\n.global .u32 a[99999999999];", 3, "1 GiB");
	assert_error(".version 8.0\n.target sm_75\n.global .align 3 .u32 a;", 3, "power of two");
	assert_error(".version 8.0\n.target sm_75\n.entry k() {\nret;\n", 5, "text ends");
	assert_error(".version 8.0\n.target sm_75\n.entry k() { ret; }\n.entry k() { ret; }", 4,
		     "defined twice, first in line 3");
	assert_error(".version 8.0\n.target sm_75\n.section .debug {\n", 4, "text ends");
}
END_TEST

START_TEST(errors_of_statements)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{"add.u32 %r, %r, %x;", "%x is not declared"},
		{"add.u32 %r, %r;", "add.u32 has 2 operands"},
		{"add.u32 %r, %r, %q;", "wrong type or size"},
		{"add.u32 7, %r, %r;", "wrong type or size"},
		{"mov.u64 %r, %q;", "wrong type or size"},
		{"bra nowhere;", "label nowhere is not defined"},
		{"brx.idx %r, L;", "L is no list"},
		{"L: ret;", "twice"},
		{"@%r bra L;", "a predicate register"},
		{"add.u32 %r, %r, 1", "\";\""},
		{"ld.global.u32 %r, %q;", "wants an address"},
		{"ld.global.u32 %r, [%q;", "\"]\""},
		{"ld.param.u32 %r, [p+8];", "past the end of p"},
		{"ld.param.u32 %r, [p-4];", "past the end of p"},
		{"st.param.u32 [p], %r;", "cannot be written"},
		{"ld.shared.u32 %r, [g];", "not in the space"},
		{"ld.global.u32 %r, [s];", "not in the space"},
		{"ld.global.v2.u32 %r, [%q];", "wrong type or size"},
		{"st.global.v2.u32 [%q], {%r, %r, %r};", "another number of elements"},
		{"call k;", "k is a kernel"},
		{"call f, (%p);", "a parameter"},
		{"lop3.b32 %r, %r, %r, %r, %r;", "no constant"},
		{".reg .b32 %r;", "declared twice"},
		{".reg .b32 %big<2000000>;", "count of registers"},
		{".local .b8 big[100000000];", "16 MiB"},
		{".frob;", ".frob"},
		{"mov.u32 %r, 08;", "\"0"},
		{"mov.u32 %r, 0x;", "\"0x"},
		{"mov.f32 %f, 0f3F80;", "\"0f3F80"},
		{"mov.u32 %r, \"text\";", "\"text"},
		{"mov.u32 %r, ((((1);", "\")\""},
		{"$;", "\"$\""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[1024];

		snprintf(text, sizeof(text),
			 "%s.global .u32 g;\n.func f(.param .b32 a) { ret; }\n"
			 ".entry k(.param .u64 p) { .reg .b32 %%r; .reg .b64 %%q; .reg .pred %%p;"
			 " .reg .f32 %%f; .shared .u32 s; L:\n%s\nret; }\n",
			 head, rows[i].line);
		/* A missing semicolon shows at the next token. */
		assert_error(text, strstr(rows[i].says, "\";\"") ? 8 : 7, rows[i].says);
	}
}
END_TEST

START_TEST(deep_nesting)
{
	char *text = malloc(200000);
	size_t used;

	ck_assert_ptr_nonnull(text);
	used = (size_t)snprintf(text, 1000, "%s.global .u32 a = ", head);
	memset(text + used, '(', 100000);
	text[used + 100000] = 0;
	assert_error(text, 4, "too deep");
	memset(text + used, '-', 100000);
	assert_error(text, 4, "too deep");
	used = (size_t)snprintf(text, 1000, "%s.global .u32 a = ", head);
	memset(text + used, '{', 100000);
	assert_error(text, 4, "too deep");
	used = (size_t)snprintf(text, 1000, "%s.entry k() ", head);
	memset(text + used, '{', 100000);
	assert_error(text, 4, "too deep");
	free(text);
}
END_TEST

static bool no_memory(void *arg, uint64_t address, uint32_t size, bool write, uint64_t *ret_low,
		      uint64_t *ret_high)
{
	return false;
}

/* A turn of every kernel, without memory: it stops if it does not end or fault by itself. */
static void run_all(const struct ptx_module *module)
{
	static const uint64_t params[8192];
	const struct ptx_memory memory = {.check = no_memory};
	const _Atomic bool stop = true;

	for (uint32_t i = 0; i < ptx_module_functions(module); i++) {
		struct ptx_result result = {0};
		struct ptx_launch launch = {
			.function = ptx_module_function(module, i),
			.grid = {2, 1, 1},
			.block = {40, 1, 1},
			.params = params,
			.memory = &memory,
			.stop = &stop,
			.print = bench_print,
		};
		const struct ptx_function_info *info = ptx_function_get_info(launch.function);

		if (info->shared_bytes < 1 << 20 && info->local_bytes < 1 << 16)
			ptx_run(&launch, 0, 2, &result);
		ck_assert(result.fault == PTX_OK || result.text[0]);
	}
}

/* Whatever comes of a text, it comes without harm. */
static void try_text(const char *text, bool *ret_accepted)
{
	struct ptx_error error;
	struct ptx_module *module = ptx_module_create(text, 75, &error);

	*ret_accepted = module != NULL;
	if (!module) {
		ck_assert(error.text[0]);
		return;
	}
	run_all(module);
	ptx_module_destroy(module);
}

START_TEST(truncated_anywhere)
{
	char *text = malloc(sizeof(sample));
	size_t complete = strlen(sample) - strlen(".entry third();\n");
	bool accepted;

	ck_assert_ptr_nonnull(text);
	for (size_t length = 0; length < sizeof(sample); length++) {
		/* A buffer of exactly this size, so that reading on is seen. */
		char *cut = strndup(sample, length);

		ck_assert_ptr_nonnull(cut);
		try_text(cut, &accepted);
		if (length == complete || length == strlen(sample))
			ck_assert(accepted);
		free(cut);
	}
	free(text);
}
END_TEST

START_TEST(flipped_bytes)
{
	static const char letters[] = "{}()[]<>;,.:@!%+-*/\"'0xfd19abr_$= \n";
	uint64_t seed = 4711;
	unsigned rejected = 0;

	for (unsigned round = 0; round < 3000; round++) {
		char *text = strdup(sample);
		unsigned flips = 1 + bench_random(&seed) % 4;
		bool accepted;

		ck_assert_ptr_nonnull(text);
		while (flips--) {
			uint32_t at = bench_random(&seed) % (uint32_t)(sizeof(sample) - 1);

			if (bench_random(&seed) % 2)
				text[at] = letters[bench_random(&seed) % (sizeof(letters) - 1)];
			else
				text[at] = (char)(1 + bench_random(&seed) % 255);
		}
		try_text(text, &accepted);
		rejected += !accepted;
		free(text);
	}
	ck_assert_uint_gt(rejected, 1000);
}
END_TEST

/* The same with what nvcc makes of real kernels. */
START_TEST(flipped_kernels)
{
	static const char letters[] = "[]{},;%0123456789prfusb.";
	char *original = bench_read_file("basic");
	size_t size = strlen(original);
	uint64_t seed = 1234;
	unsigned accepted_count = 0;

	for (unsigned round = 0; round < 400; round++) {
		char *text = strdup(original);
		bool accepted;

		ck_assert_ptr_nonnull(text);
		for (unsigned flips = 1 + round % 3; flips; flips--)
			text[bench_random(&seed) % size] =
				letters[bench_random(&seed) % (sizeof(letters) - 1)];
		try_text(text, &accepted);
		accepted_count += accepted;
		free(text);
	}
	ck_assert_uint_gt(accepted_count, 10);
	free(original);
}
END_TEST

/* Words of PTX in any order. */
START_TEST(shuffled_words)
{
	static const char *const words[] = {
		".entry",
		"k",
		"(",
		")",
		"{",
		"}",
		"[",
		"]",
		";",
		",",
		".param",
		".u32",
		".b8",
		".reg",
		"%r<4>",
		"%r1",
		"add.u32",
		"%r2",
		"ld.param.u32",
		"bra",
		"L",
		":",
		"@",
		"%p",
		".pred",
		"call",
		"(r)",
		"mov.b64",
		"1",
		"0f3F800000",
		"ret",
		".func",
		"setp.eq.s32",
		"|",
		"!",
		".global",
		".align",
		"4",
		"=",
		"+",
		"-",
		"st.global.v2.u32",
		".shared",
		".extern",
		"x",
		".branchtargets",
		"brx.idx",
		"cvt.rn.f32.s32",
		"%tid.x",
		"shfl.sync.up.b32",
		"vprintf",
		".const",
	};
	uint64_t seed = 99;

	for (unsigned round = 0; round < 3000; round++) {
		char text[2048];
		size_t used =
			(size_t)snprintf(text, sizeof(text),
					 "%s.entry k(.param .u32 x) { .reg .b32 %%r<4>;\n", head);
		bool accepted;

		for (unsigned i = 0; i < 40; i++)
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s ",
				words[bench_random(&seed) % (sizeof(words) / sizeof(words[0]))]);
		try_text(text, &accepted);
	}
}
END_TEST

START_TEST(aliases)
{
	uint32_t *out;

	bench_start();
	bench_load(".version 8.0\n.target sm_75\n.address_size 64\n"
		   ".func (.param .b32 r) other ();\n.func (.param .b32 r) real ();\n"
		   ".visible .entry k(.param .u64 p) { .reg .b32 %r; .reg .b64 %q; .param .b32 x;\n"
		   "ld.param.u64 %q, [p]; call (x), other; ld.param.b32 %r, [x];\n"
		   "st.global.u32 [%q], %r; ret; }\n"
		   ".func (.param .b32 r) real () { st.param.b32 [r], 77; ret; }\n"
		   ".alias other, real;\n",
		   75);
	out = bench_buffer(4);
	BENCH_PARAM(out);
	bench_run("k", 1, 1);
	ck_assert_uint_eq(*out, 77);
	bench_end();
}
END_TEST

START_TEST(scopes)
{
	uint32_t *out;

	bench_start();
	bench_load(".version 8.0\n.target sm_75\n.address_size 64\n"
		   ".visible .entry k(.param .u64 p) { .reg .b32 %r, %t<2>; .reg .b64 %q;\n"
		   "ld.param.u64 %q, [p]; mov.u32 %r, 1; mov.u32 %t1, 5;\n"
		   "{ .reg .b32 %r; .reg .pred %p; mov.u32 %r, 10;\n"
		   "AGAIN: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 20; @%p bra AGAIN;\n"
		   "st.global.u32 [%q], %r; }\n"
		   "{ .reg .pred %p; .reg .b32 %t1; mov.u32 %t1, 100;\n"
		   "AGAIN: add.u32 %t1, %t1, 1; setp.lt.u32 %p, %t1, 200; @%p bra AGAIN;\n"
		   "st.global.u32 [%q+4], %t1; }\n"
		   "st.global.u32 [%q+8], %r; st.global.u32 [%q+12], %t1; ret; }",
		   75);
	out = bench_buffer(16);
	BENCH_PARAM(out);
	bench_run("k", 1, 1);
	ck_assert_uint_eq(out[0], 20);
	ck_assert_uint_eq(out[1], 200);
	ck_assert_uint_eq(out[2], 1);
	ck_assert_uint_eq(out[3], 5);
	bench_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptx_parse");
	TCase *tcase = tcase_create("text");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, module_facts);
	tcase_add_test(tcase, global_values);
	tcase_add_test(tcase, runs_the_sample);
	tcase_add_test(tcase, errors_of_modules);
	tcase_add_test(tcase, errors_of_statements);
	tcase_add_test(tcase, deep_nesting);
	tcase_add_test(tcase, truncated_anywhere);
	tcase_add_test(tcase, flipped_bytes);
	tcase_add_test(tcase, flipped_kernels);
	tcase_add_test(tcase, shuffled_words);
	tcase_add_test(tcase, aliases);
	tcase_add_test(tcase, scopes);
	suite_add_tcase(suite, tcase);
	return bench_main(suite);
}
