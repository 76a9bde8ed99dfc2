/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration: what is read, every class of error with its line and remedy, the way back. */

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/config_keys.h"

static struct config config;
static struct config_error error;
static char path[] = "/tmp/sluice-config-XXXXXX";

static int load_bytes(const char *text, size_t size, uint64_t device_bytes)
{
	int fd, r;

	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, size), (ssize_t)size);
	close(fd);
	memset(&error, 0, sizeof(error));
	r = config_load(&config, path, device_bytes, &error);
	unlink(path);
	return r;
}

static int load_with(const char *text, uint64_t device_bytes)
{
	return load_bytes(text, strlen(text), device_bytes);
}

static int load(const char *text)
{
	return load_with(text, 0);
}

static const char design[] =
	"default = { class = \"best-effort\"; memory = { max = \"8 GiB\"; }; };\n"
	"tenants = (\n"
	"  { name = \"chat\"; class = \"latency-critical\"; match = { uid = \"root\"; };\n"
	"    target = { p99 = \"20 ms\"; of = \"service\"; };\n"
	"    gpu = { min = \"30 %\"; max = \"90 %\"; }; memory = { min = \"20 GiB\"; max = \"40 "
	"GiB\"; }; },\n"
	"  { name = \"train\"; match = { cgroup = \"/batch/*\"; }; gpu = { weight = 300; };\n"
	"    memory = { max = \"60 GiB\"; }; }\n"
	");\n";

START_TEST(test_design_example)
{
	const struct config_tenant *chat, *train;

	ck_assert_msg(!load(design), "%u: %s", error.line, error.message);
	ck_assert_uint_eq(config.tenants, 3);
	ck_assert_uint_eq(config.tenant[0].memory_max_bytes, 8ull << 30);
	ck_assert_str_eq(config_policy_name(&config), "slo");
	chat = config_find(&config, "chat");
	ck_assert_uint_eq(chat->tenant_class, SLUICE_LATENCY_CRITICAL);
	ck_assert_uint_eq(chat->match.uid, 0);
	ck_assert_uint_eq(chat->match.gid, CONFIG_NO_ID);
	ck_assert_uint_eq(chat->target.p99_ns, 20000000);
	ck_assert_str_eq(chat->target.of, "service");
	ck_assert_uint_eq(chat->gpu_min_permille, 300);
	ck_assert_uint_eq(chat->gpu_max_permille, 900);
	ck_assert_uint_eq(chat->memory_min_bytes, 20ull << 30);
	train = config_find(&config, "train");
	ck_assert_str_eq(train->match.cgroup, "/batch/*");
	ck_assert_uint_eq(train->weight, 300);
	ck_assert_uint_eq(train->gpu_period_ns, 100000000);
	ck_assert(train->managed);
	ck_assert_ptr_null(config_find(&config, "batch"));
}
END_TEST

START_TEST(test_all_default)
{
	ck_assert_int_eq(load(""), 0);
	ck_assert_uint_eq(config.tenants, 1);
	ck_assert_str_eq(config.tenant[0].name, "default");
	ck_assert_uint_eq(config.tenant[0].weight, 100);
	ck_assert_uint_eq(config.tenant[0].gpu_max_permille, 1000);
	ck_assert_uint_eq(config.tenant[0].memory_max_bytes, UINT64_MAX);
	ck_assert_uint_eq(config.fail, SLUICE_FAIL_OPEN);
	ck_assert_uint_eq(config.progress_ns, 20000000);
	ck_assert_uint_eq(config.lease_ns, 10000000000ull);
	ck_assert_uint_eq(config.admin_gid, CONFIG_NO_ID);
	ck_assert_str_eq(config_policy_name(&config), "share");
}
END_TEST

START_TEST(test_arbiter_keys)
{
	ck_assert_int_eq(
		load("policy = \"share\"; fail = { mode = \"closed\"; deadline = \"500 ms\"; "
		     "memory_deadline = \"1 min\"; }; progress = \"7.5 ms\"; lease = \"3 s\"; "
		     "connections = 5; admin_group = 12;"),
		0);
	ck_assert_str_eq(config_policy_name(&config), "share");
	ck_assert_uint_eq(config.fail, SLUICE_FAIL_CLOSED);
	ck_assert_uint_eq(config.fail_deadline_ns, 500000000);
	ck_assert_uint_eq(config.memory_deadline_ns, 60000000000ull);
	ck_assert_uint_eq(config.progress_ns, 7500000);
	ck_assert_uint_eq(config.connections, 5);
	ck_assert_uint_eq(config.admin_gid, 12);
}
END_TEST

/* With quotes or without, as a plan's scenario has it. */
START_TEST(test_level)
{
	static const struct {
		const char *text;
		int32_t level;
	} cases[] = {
		{"level = \"auto\";", CONFIG_LEVEL_AUTO},
		{"", CONFIG_LEVEL_AUTO},
		{"level = 1;", 1000},
		{"level = 1.5;", 1500},
		{"level = -0.25;", -250},
		{"level = \"-0.25\";", -250},
		{"level = 5L;", 5000},
	};
	static const char *const wrong[] = {"level = 5.001;", "level = -2;", "level = true;",
					    "level = \"high\";", "level = 1e400;"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(!load(cases[i].text), "%s: %s", cases[i].text, error.message);
		ck_assert_int_eq(config.level, cases[i].level);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_int_eq(load(wrong[i]), -EINVAL);
		ck_assert_ptr_nonnull(strstr(error.message, "level"));
	}
}
END_TEST

START_TEST(test_no_quota)
{
	static const char *const words[] = {"none", "max"};
	char text[128];

	for (size_t i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "default = { memory = { max = \"%s\"; }; };",
			 words[i]);
		ck_assert_int_eq(load(text), 0);
		ck_assert_uint_eq(config.tenant[0].memory_max_bytes, UINT64_MAX);
	}
}
END_TEST

START_TEST(test_relative_target)
{
	ck_assert_int_eq(
		load("tenants = ( { name = \"a\"; class = \"latency-critical\"; match = { gid "
		     "= 3; }; target = { p99 = \"+12.5 %\"; of = \"range:infer\"; }; } );"),
		0);
	ck_assert_uint_eq(config.tenant[1].target.over_permille, 125);
	ck_assert_uint_eq(config.tenant[1].target.p99_ns, 0);
}
END_TEST

/* A tenant in three lines, with something on the second. */
#define TENANT(second) "tenants = ( {\n" second "\nname = \"a\"; } );"

static const struct {
	const char *text;
	unsigned int line;
	const char *says;
} mistakes[] = {
	/* the syntax */
	{"tenants = (\n\n{ name = ; } );", 3, "syntax error"},
	{"\ngpu.weight = 5;", 2, "no dot in a name"},
	{"tenants = ( { name = \"a\"; },\n);", 2, "no comma at the end of a list"},
	{"policy = \"slo\"\npolicy = \"slo\";", 2,
	 "duplicate setting name: one group has a name twice; remove or rename one: policy = "
	 "\"slo\";"},
	{"\n  @include \"/nonexistent/x.conf\"  \n", 2,
	 "cannot open include file: @include \"/nonexistent/x.conf\""},
	/* unknown keys, anywhere, with the near one named */
	{"\nfrobnicate = 1;", 2, "frobnicate: unknown key; see sluice.conf(5)"},
	{"\npolisy = \"slo\";", 2, "did you mean policy?"},
	{"\n\nfail = { mood = \"open\"; };", 3, "did you mean fail.mode?"},
	{TENANT("gpu = { wieght = 5; };"), 2,
	 "tenant a gpu.wieght: unknown key; did you mean gpu.weight?"},
	{TENANT("gpu = { sms = 5; };"), 2, "tenant a gpu.sms: unknown key; see sluice.conf(5)"},
	{TENANT("gpu = { weight = { of = 5; }; };"), 2, "a number without quotes is wanted"},
	{TENANT("memory = { swap = { max = \"64 GiB\"; }; };"), 2,
	 "swap is not part of this version; remove"},
	{"default = { match = { uid = 5; }; };", 1, "only a tenant of the list"},
	{"default = {\nname = \"x\"; };", 2, "only a tenant of the list"},
	/* kinds */
	{TENANT("gpu = 5;"), 2, "a group { ... } is wanted"},
	{TENANT("gpu = { weight = \"5\"; };"), 2, "a number without quotes is wanted"},
	{TENANT("gpu = { max = 0.5; };"), 2, "a share in quotes is wanted, like \"30 %\""},
	{TENANT("gpu = { period = 100; };"), 2, "a time in quotes is wanted, like \"20 ms\""},
	{TENANT("memory = { max = 8; };"), 2, "a size in quotes is wanted, like \"8 GiB\""},
	{TENANT("managed = \"no\";"), 2, "true or false is wanted"},
	{TENANT("match = { program = 7; };"), 2, "a text in quotes is wanted"},
	{"default = 5;", 1, "a group { ... } is wanted"},
	{"tenants = { };", 1, "a list ( { ... }, { ... } ) is wanted"},
	{"tenants = ( {name = \"a\";},\n5 );", 2, "tenants[1]: a group"},
	/* values */
	{TENANT("memory = { max = \"8 gigs\"; };"), 2,
	 "\"8 gigs\" is no size; write it like \"8 GiB\""},
	{TENANT("memory = { max = \"8\"; };"), 2, "is no size"},
	{TENANT("memory = { max = \"99999999999999 TiB\"; };"), 2, "is no size"},
	{TENANT("memory = { max = \"5 KiB\"; };"), 2, "too small; at least \"1 MiB\""},
	{TENANT("memory = { min = \"none\"; };"), 2, "is no size"},
	{TENANT("gpu = { max = \"101 %\"; };"), 2, "is more than there is; at most \"100 %\""},
	{TENANT("gpu = { max = \"0 %\"; };"), 2, "would be none at all; at least \"0.1 %\""},
	{TENANT("match = { uid = -4; };"), 2, "\"-4\" is no user's number; they go from 0 to"},
	{TENANT("match = { gid = 4294967295L; };"), 2, "\"4294967295\" is no group's number"},
	{"tenants = ( { class = \"x\"; } );", 1, "tenants[0] class: \"x\" is none of"},
	{"tenants = ( { name = 5; } );", 1, "tenants[0] name: a text in quotes is wanted"},
	{TENANT("memory = { min = \"max\"; };"), 2, "is no size"},
	{TENANT("gpu = { max = \"half\"; };"), 2, "is no share"},
	{TENANT("gpu = { weight = 0; };"), 2, "no whole number from 1 to 10000"},
	{TENANT("gpu = { weight = 10001; };"), 2, "no whole number from 1 to 10000"},
	{TENANT("gpu = { period = \"11 s\"; };"), 2, "out of range; from \"1 ms\" to \"10 s\""},
	{TENANT("gpu = { period = \"-1 s\"; };"), 2, "is no time"},
	{TENANT("class = \"vip\";"), 2, "none of \"best-effort\", \"latency-critical\""},
	{TENANT("match = { uid = \"no-such-user\"; };"), 2,
	 "this system has no user \"no-such-user\""},
	{TENANT("match = { gid = \"no-such-group\"; };"), 2, "this system has no group"},
	{TENANT("match = { cgroup = \"\"; };"), 2, "it is empty"},
	{TENANT("target = { p99 = \"+x %\"; };"), 2, "no relative target; write it like \"+10 %\""},
	{"policy = \"fifo\";", 1, "none of \"auto\", \"share\", \"slo\""},
	/* names */
	{"tenants = (\n{ class = \"best-effort\"; } );", 2, "it has no name; add name"},
	{"tenants = (\n{ name = \"a b\"; } );", 2, "letters, digits, dot, dash"},
	{"tenants = ( { name = \"a\"; },\n{ name = \"b\"; },\n{ name = \"a\"; } );", 3,
	 "tenant a: there is one of that name at line 1; rename one"},
	{"tenants = (\n{ name = \"default\"; } );", 2, "write default = { ... } outside the list"},
	/* classes and targets */
	{"tenants = (\n{ name = \"a\"; class = \"latency-critical\"; } );", 2,
	 "latency-critical without a match"},
	{"default = {\nclass = \"latency-critical\"; };", 2,
	 "default: it cannot be latency-critical"},
	{TENANT("target = { p99 = \"5 ms\"; };"), 2, "only a latency-critical tenant has a target"},
	{TENANT("target = { of = \"arrival\"; };"), 2, "it is \"service\" or \"range:NAME\""},
	{TENANT("target = { of = \"range:\"; };"), 2, "it is \"service\" or \"range:NAME\""},
	/* sums */
	{TENANT("gpu = { min = \"30 %\"; max = \"20 %\"; };"), 2,
	 "gpu.min 30.0 % is above gpu.max 20.0 %"},
	{TENANT("memory = { min = \"3 GiB\"; max = \"2 GiB\"; };"), 2,
	 "memory.min is above memory.max"},
	{"default = { gpu = { min = \"50 %\"; }; };\ntenants = ( { name = \"a\"; gpu = { min = "
	 "\"40 %\"; "
	 "}; },\n{ name = \"b\"; gpu = { min = \"20 %\"; }; } );",
	 3, "sum to 110.0 %, more than there is; lower some"},
};

START_TEST(test_mistakes)
{
	ck_assert_int_eq(load(mistakes[_i].text), -EINVAL);
	ck_assert_msg(error.line == mistakes[_i].line && strstr(error.message, mistakes[_i].says),
		      "%s\nsays %u: %s\nnot  %u: %s", mistakes[_i].text, error.line, error.message,
		      mistakes[_i].line, mistakes[_i].says);
	ck_assert_str_eq(error.file, path);
}
END_TEST

#define CHAT \
	"tenants = (\n{ name = \"chat\"; class = \"latency-critical\"; match = { uid = 5; };\n" \
	"target = { p99 = \"20 ms\"; }; } );"

/* In order, and of no effect: said, and read all the same. */
START_TEST(test_warnings)
{
	static const struct {
		const char *text;
		unsigned int warnings, line; /* of the last */
		const char *says;
	} cases[] = {
		{CHAT, 0, 0, ""},
		{"policy = \"share\";", 0, 0, ""},
		{"level = 2;", 0, 0, ""},
		{"policy = \"share\"; " CHAT, 1, 3,
		 "tenant chat: policy share does not look at latency and keeps no target; set"},
		{"level = 1; " CHAT, 1, 3, "tenant chat: the level is fixed"},
		{"level = 2.001;", 1, 0, "level: above 2 work runs beside requests"},
		{"level = \"3\"; " CHAT, 2, 3, "tenant chat: the level is fixed"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t count = 0;

		ck_assert_msg(!load(cases[i].text), "%s: %s", cases[i].text, error.message);
		while (config_warning(&config, count, &error))
			count++;
		ck_assert_uint_eq(count, cases[i].warnings);
		if (!count)
			continue;
		ck_assert(config_warning(&config, count - 1, &error));
		ck_assert_uint_eq(error.line, cases[i].line);
		ck_assert_ptr_nonnull(strstr(error.message, cases[i].says));
	}
}
END_TEST

START_TEST(test_minimums_over_the_device)
{
	static const char text[] =
		"tenants = (\n{ name = \"a\"; memory = { min = \"50 GiB\"; }; },\n"
		"{ name = \"b\"; memory = { min = \"40 GiB\"; }; } );";

	ck_assert_int_eq(load_with(text, 0), 0);
	ck_assert_int_eq(load_with(text, 96ull << 30), 0);
	ck_assert_int_eq(load_with(text, 80ull << 30), -EINVAL);
	ck_assert_uint_eq(error.line, 3);
	ck_assert_ptr_nonnull(strstr(error.message, "more than a GPU has (81920 MiB)"));
}
END_TEST

START_TEST(test_missing_file)
{
	ck_assert_int_eq(config_load(&config, "/nonexistent/sluice.conf", 0, &error), -EINVAL);
	ck_assert_str_eq(error.file, "/nonexistent/sluice.conf");
	ck_assert_uint_eq(error.line, 0);
	ck_assert_ptr_nonnull(strstr(error.message, "cannot be read: No such file"));
}
END_TEST

START_TEST(test_what_is_no_file)
{
	static const char zero[] = "policy = \"slo\";\0policy = 5;";

	ck_assert_int_eq(config_load(&config, "/", 0, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "cannot be read: Is a directory"));
	ck_assert_int_eq(config_load(&config, "/dev/null", 0, &error), 0);
	ck_assert_uint_eq(config.tenants, 1);
	/* What stands behind a zero byte is not passed over. */
	ck_assert_int_eq(load_bytes(zero, sizeof(zero) - 1, 0), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "a zero byte"));
}
END_TEST

START_TEST(test_too_many_tenants)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	fputs("tenants = (", out);
	for (int i = 0; i < 256; i++)
		fprintf(out, "%s{ name = \"t%d\"; }", i ? "," : "", i);
	fputs(");", out);
	fclose(out);
	ck_assert_int_eq(load(text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.message, "at most 255"));
	free(text);
}
END_TEST

/* What is printed reads back to the same. */
START_TEST(test_print_reads_back)
{
	static struct config again;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(load(design), 0);
	again = config;
	config_print(&config, out);
	fclose(out);
	ck_assert_msg(!load(text), "%u: %s\n%s", error.line, error.message, text);
	ck_assert_uint_eq(config.tenants, again.tenants);
	for (uint32_t i = 0; i < config.tenants; i++) {
		memset(config.tenant[i].key_line, 0, sizeof(config.tenant[i].key_line));
		memset(again.tenant[i].key_line, 0, sizeof(again.tenant[i].key_line));
		config.tenant[i].line = again.tenant[i].line = 0;
		ck_assert_int_eq(
			memcmp(&config.tenant[i], &again.tenant[i], sizeof(again.tenant[i])), 0);
	}
	free(text);
}
END_TEST

START_TEST(test_set)
{
	ck_assert_int_eq(load(design), 0);
	ck_assert_int_eq(config_set(&config, "train", "gpu.weight", "77", 0, &error), 0);
	ck_assert_uint_eq(config_find(&config, "train")->weight, 77);
	ck_assert(config_find(&config, "train")->changed);
	ck_assert(!config_find(&config, "chat")->changed);
	ck_assert_int_eq(config_set(&config, "default", "memory.max", "none", 0, &error), 0);
	ck_assert_int_eq(config_set(&config, "chat", "target.p99", "+5 %", 0, &error), 0);
}
END_TEST

static const struct {
	const char *tenant, *key, *value, *says;
} refused_sets[] = {
	{"nobody", "gpu.weight", "5", "there is no tenant nobody"},
	{"train", "gpu.wait", "5", "did you mean gpu.weight?"},
	{"train", "frobnicate-all", "5", "unknown key; see"},
	{"train", "class", "latency-critical", "only the file can change it; edit it and reload"},
	{"train", "gpu.weight", "many", "no whole number"},
	{"train", "gpu.min", "95 %", "is above"},
	{"chat", "gpu.max", "20 %", "is above"},
	{"train", "gpu.min", "71 %", "sum to 101.0 %"},
	{"train", "target.p99", "5 ms", "only a latency-critical"},
	{"default", "target.p99", "5 ms", "the default tenant has none"},
	{"chat", "memory.max", "10 GiB", "memory.min is above"},
};

START_TEST(test_set_refused)
{
	static struct config before;

	ck_assert_int_eq(load(design), 0);
	ck_assert_int_eq(config_set(&config, "train", "gpu.max", "90 %", 0, &error), 0);
	before = config;
	ck_assert_int_eq(config_set(&config, refused_sets[_i].tenant, refused_sets[_i].key,
				    refused_sets[_i].value, 0, &error),
			 -EINVAL);
	ck_assert_msg(strstr(error.message, refused_sets[_i].says) != NULL, "%s: %s",
		      refused_sets[_i].says, error.message);
	ck_assert_int_eq(memcmp(&before, &config, sizeof(config)), 0);
}
END_TEST

/* The manual page's list of keys is this table's, word for word. */
START_TEST(test_manual_lists_every_key)
{
	char *keys = NULL, *page = calloc(1, 1 << 17);
	size_t size = 0, length;
	FILE *out = open_memstream(&keys, &size), *in = fopen("man/sluice.conf.5", "re");

	if (!in)
		in = fopen("../../../man/sluice.conf.5", "re");
	ck_assert_msg(in != NULL, "run from the repository's root");
	length = fread(page, 1, (1 << 17) - 1, in);
	fclose(in);
	config_print_manual(out);
	fclose(out);
	ck_assert_uint_gt(length, size);
	ck_assert_msg(strstr(page, keys) != NULL,
		      "man/sluice.conf.5 is behind the table of keys: put the output of `sluiced "
		      "--print-keys` in its place");
	free(keys);
	free(page);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon config");
	TCase *tcase = tcase_create("config");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, test_design_example);
	tcase_add_test(tcase, test_all_default);
	tcase_add_test(tcase, test_arbiter_keys);
	tcase_add_test(tcase, test_level);
	tcase_add_test(tcase, test_warnings);
	tcase_add_test(tcase, test_no_quota);
	tcase_add_test(tcase, test_relative_target);
	tcase_add_loop_test(tcase, test_mistakes, 0, sizeof(mistakes) / sizeof(mistakes[0]));
	tcase_add_test(tcase, test_minimums_over_the_device);
	tcase_add_test(tcase, test_missing_file);
	tcase_add_test(tcase, test_what_is_no_file);
	tcase_add_test(tcase, test_too_many_tenants);
	tcase_add_test(tcase, test_print_reads_back);
	tcase_add_test(tcase, test_set);
	tcase_add_loop_test(tcase, test_set_refused, 0,
			    sizeof(refused_sets) / sizeof(refused_sets[0]));
	tcase_add_test(tcase, test_manual_lists_every_key);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
