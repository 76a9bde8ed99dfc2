/* SPDX-License-Identifier: Apache-2.0 */

/* Who belongs to which tenant, and what of a process that is judged by. */

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/identity.h"
#include "daemon/match.h"
#include "daemon/pages.h"

static const struct {
	const char *pattern, *text;
	bool matches;
} globs[] = {
	{"", "", true},
	{"", "a", false},
	{"*", "", true},
	{"*", "/a/b/c", true},
	{"/batch/*", "/batch/job/7", true},
	{"/batch/*", "/batch", false},
	{"/batch/*", "/batch2/x", false},
	{"*/svc-*.scope", "/user.slice/svc-12.scope", true},
	{"a?c", "abc", true},
	{"a?c", "ac", false},
	{"*a*b*c*", "xxaxxbxxcxx", true},
	{"*a*b*c*", "xxaxxcxxbxx", false},
	{"*aab", "aaaaaaaab", true},
	{"exact", "exact", true},
	{"exact", "exactly", false},
};

START_TEST(test_glob)
{
	ck_assert_msg(match_glob(globs[_i].pattern, globs[_i].text) == globs[_i].matches,
		      "%s and %s", globs[_i].pattern, globs[_i].text);
}
END_TEST

/* A hundred stars cost no more than their product, not their power. */
START_TEST(test_glob_is_not_exponential)
{
	char pattern[201], text[1001];

	for (int i = 0; i < 100; i++)
		memcpy(pattern + 2 * i, "*a", 2);
	pattern[199] = 'b';
	pattern[200] = 0;
	memset(text, 'a', 1000);
	text[1000] = 0;
	ck_assert(!match_glob(pattern, text));
}
END_TEST

/* Paths, as a list. */
static void assert_paths(const char *text, const char *wanted, size_t size)
{
	char paths[128];

	memset(paths, 'x', sizeof(paths));
	identity_parse_cgroups(text, paths, sizeof(paths));
	ck_assert_int_eq(memcmp(paths, wanted, size), 0);
}

START_TEST(test_cgroups)
{
	assert_paths("0::/user.slice/a.scope\n", "/user.slice/a.scope\0", 21);
	assert_paths("9:name=systemd:/\n4:memory:/batch/7\n0::/\n", "/\0/batch/7\0/\0", 14);
	assert_paths("1:cpu,cpuacct:/with:colon\n", "/with:colon\0", 13);
	assert_paths("", "", 1);
	assert_paths("garbage\n::\n0::/x", "/x\0", 4);
}
END_TEST

START_TEST(test_cgroups_fit)
{
	char text[4096], paths[32];

	memset(text, 'y', sizeof(text));
	memcpy(text, "0::/", 4);
	text[sizeof(text) - 1] = 0;
	identity_parse_cgroups(text, paths, sizeof(paths));
	ck_assert_str_eq(paths, "");
}
END_TEST

static struct config config;
static struct identity peer;
static char remark[SLUICE_TEXT_MAX];

static struct config_tenant *add(const char *name)
{
	struct config_tenant *tenant = &config.tenant[config.tenants++];

	*tenant = config.tenant[0];
	memset(tenant->name, 0, sizeof(tenant->name));
	memcpy(tenant->name, name, strlen(name));
	return tenant;
}

static void begin(void)
{
	config_defaults(&config);
	peer = (struct identity){.pid = 1, .uid = 1000, .gid = 100, .program = "python3"};
	memcpy(peer.cgroups, "/\0/batch/7\0", 12);
	remark[0] = 0;
}

START_TEST(test_rules_all_must_hold)
{
	struct config_tenant *tenant;

	begin();
	tenant = add("a");
	ck_assert(!match_admits(tenant, &peer));
	tenant->match.uid = 1000;
	ck_assert(match_admits(tenant, &peer));
	tenant->match.gid = 101;
	ck_assert(!match_admits(tenant, &peer));
	tenant->match.gid = 100;
	memcpy(tenant->match.cgroup, "/batch/*", 9);
	ck_assert(match_admits(tenant, &peer));
	memcpy(tenant->match.program, "java", 5);
	ck_assert(!match_admits(tenant, &peer));
	memcpy(tenant->match.program, "py*", 4);
	ck_assert(match_admits(tenant, &peer));
}
END_TEST

START_TEST(test_first_that_admits)
{
	begin();
	add("open");
	add("root")->match.uid = 0;
	add("mine")->match.uid = 1000;
	add("also")->match.gid = 100;
	ck_assert_uint_eq(match_tenant(&config, &peer, "", remark, sizeof(remark)), 3);
	peer.uid = 7;
	ck_assert_uint_eq(match_tenant(&config, &peer, "", remark, sizeof(remark)), 4);
	peer.gid = 7;
	ck_assert_uint_eq(match_tenant(&config, &peer, "", remark, sizeof(remark)), 0);
	ck_assert_str_eq(remark, "");
	/* One without a match is entered by name alone. */
	ck_assert_uint_eq(match_tenant(&config, &peer, "open", remark, sizeof(remark)), 1);
	ck_assert_uint_eq(match_tenant(&config, &peer, "default", remark, sizeof(remark)), 0);
	ck_assert_str_eq(remark, "");
	ck_assert_uint_eq(match_tenant(&config, &peer, "root", remark, sizeof(remark)), 0);
	ck_assert_str_eq(remark, "tenant root admits user 0 only (match.uid); this process runs as "
				 "user 7");
}
END_TEST

START_TEST(test_remarks)
{
	struct config_tenant *tenant;

	begin();
	tenant = add("a");
	memcpy(tenant->match.cgroup, "/svc/*", 7);
	ck_assert_uint_eq(match_tenant(&config, &peer, "a", remark, sizeof(remark)), 0);
	ck_assert_ptr_nonnull(strstr(remark, "admits cgroups /svc/* only (match.cgroup)"));
	memcpy(tenant->match.cgroup, "*", 2);
	memcpy(tenant->match.program, "serve", 6);
	ck_assert_uint_eq(match_tenant(&config, &peer, "a", remark, sizeof(remark)), 0);
	ck_assert_ptr_nonnull(strstr(remark, "this process runs python3"));
	ck_assert_uint_eq(match_tenant(&config, &peer, "b", remark, sizeof(remark)), 0);
	ck_assert_ptr_nonnull(strstr(remark, "there is no tenant b"));
}
END_TEST

/* The kernel's word about ourselves. */
START_TEST(test_identity_of_peer)
{
	struct identity self;
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	ck_assert_int_eq(identity_of_peer(fds[0], &self, remark, sizeof(remark)), 0);
	ck_assert_int_eq(self.pid, getpid());
	ck_assert_uint_eq(self.uid, getuid());
	ck_assert_uint_eq(self.gid, getgid());
	ck_assert_int_ge(self.pidfd, 0);
	ck_assert_str_eq(self.program, "test_daemon_match");
	ck_assert_str_ne(self.cgroups, "");
	identity_finish(&self);
	ck_assert_int_eq(self.pidfd, -1);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

START_TEST(test_stopped)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		for (;;)
			pause();
	}
	ck_assert(!identity_is_stopped(pid));
	kill(pid, SIGSTOP);
	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(identity_is_stopped(pid));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ck_assert(!identity_is_stopped(pid));
}
END_TEST

START_TEST(test_page)
{
	struct page page;

	ck_assert_int_eq(page_create(&page, "test", 8192), 0);
	ck_assert_int_eq(page_make_reader(&page), 0);
	((char *)page.base)[8191] = 1;
	ck_assert_int_eq(page_seal(&page), 0);
	((char *)page.base)[0] = 1;
	page_finish(&page);
	ck_assert_int_eq(page.fd, -1);
	page_finish(&page);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon match");
	TCase *tcase = tcase_create("identity");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tcase, test_glob, 0, sizeof(globs) / sizeof(globs[0]));
	tcase_add_test(tcase, test_glob_is_not_exponential);
	tcase_add_test(tcase, test_cgroups);
	tcase_add_test(tcase, test_cgroups_fit);
	tcase_add_test(tcase, test_rules_all_must_hold);
	tcase_add_test(tcase, test_first_that_admits);
	tcase_add_test(tcase, test_remarks);
	tcase_add_test(tcase, test_identity_of_peer);
	tcase_add_test(tcase, test_stopped);
	tcase_add_test(tcase, test_page);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
