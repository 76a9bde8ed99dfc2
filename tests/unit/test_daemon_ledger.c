/* SPDX-License-Identifier: Apache-2.0 */

/* The file that tells the next arbiter what a killed one had granted. */

#include "daemon/ledger.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct ledger ledger;
static char path[64], file[80];

static void make_path(void)
{
	memcpy(path, "/tmp/sluice-ledger-XXXXXX", 26);
	ck_assert_ptr_nonnull(mkdtemp(path));
	memcpy(path + strlen(path), "/s", 3);
	snprintf(file, sizeof(file), "%s" LEDGER_SUFFIX, path);
}

static void remove_path(void)
{
	unlink(file);
	*strrchr(path, '/') = 0;
	rmdir(path);
}

START_TEST(test_ledger_keeps)
{
	struct ledger_entry *entry;
	struct stat about;
	uint8_t uuid[16] = "0123456789abcde";
	uint32_t at = 0;

	make_path();
	ck_assert_int_eq(ledger_open(&ledger, path), 0);
	ck_assert_int_eq(stat(file, &about), 0);
	ck_assert_uint_eq(about.st_mode & 0777, 0600);
	entry = ledger_take(&ledger, getpid(), 7, "train");
	ledger_note(entry, 3, uuid, 500);
	ledger_note(entry, 3, uuid, 700);
	ledger_drop(ledger_take(&ledger, getpid(), 7, "gone"));
	ledger_close(&ledger);
	ledger_note(NULL, 0, uuid, 1);
	ledger_drop(NULL);
	ck_assert_int_eq(ledger_open(&ledger, path), 0);
	entry = ledger_next(&ledger, &at);
	ck_assert_ptr_nonnull(entry);
	ck_assert_int_eq(entry->pid, getpid());
	ck_assert_uint_eq(entry->uid, 7);
	ck_assert_str_eq(entry->tenant, "train");
	ck_assert(!entry->account[0].used && entry->account[3].used);
	ck_assert_uint_eq(entry->account[3].units, 700);
	ck_assert_int_eq(memcmp(entry->account[3].uuid, uuid, 16), 0);
	ck_assert_ptr_null(ledger_next(&ledger, &at));
	/* The number is another process's by now. */
	entry->start_ns += 10000000;
	at = 0;
	ck_assert_ptr_null(ledger_next(&ledger, &at));
	ck_assert(!entry->used);
	/* A text without an end. */
	entry = ledger_take(&ledger, getpid(), 7, "train");
	memset(entry->tenant, 'x', sizeof(entry->tenant));
	at = 0;
	ck_assert_ptr_null(ledger_next(&ledger, &at));
	ledger_close(&ledger);
	ck_assert_int_eq(access(file, F_OK), -1);
	remove_path();
}
END_TEST

START_TEST(test_ledger_is_full)
{
	struct ledger_entry *entry = NULL;

	make_path();
	ck_assert_int_eq(ledger_open(&ledger, path), 0);
	for (uint32_t i = 0; i < LEDGER_ENTRIES; i++) {
		entry = ledger_take(&ledger, getpid(), 7, "train");
		ck_assert_ptr_nonnull(entry);
	}
	ck_assert_ptr_null(ledger_take(&ledger, getpid(), 7, "train"));
	ledger_drop(entry);
	ck_assert_ptr_eq(ledger_take(&ledger, getpid(), 7, "train"), entry);
	ledger_close(&ledger);
	remove_path();
}
END_TEST

/* A file that others can write, of another kind, or of another boot says nothing. */
START_TEST(test_ledger_of_others)
{
	uint32_t at = 0;
	char target[80];

	for (int kind = 0; kind < 4; kind++) {
		FILE *out;

		make_path();
		ck_assert_int_eq(ledger_open(&ledger, path), 0);
		ck_assert_ptr_nonnull(ledger_take(&ledger, getpid(), 7, "train"));
		ledger_close(&ledger);
		snprintf(target, sizeof(target), "%s.target", path);
		switch (kind) {
		case 0: ck_assert_int_eq(chmod(file, 0666), 0); break;
		case 1:
			ck_assert_int_eq(rename(file, target), 0);
			ck_assert_int_eq(symlink(target, file), 0);
			break;
		case 2: ck_assert_int_eq(truncate(file, 0), 0); break;
		default:
			/* The boot's number follows two words. */
			out = fopen(file, "r+e");
			ck_assert_ptr_nonnull(out);
			ck_assert_int_eq(fseek(out, 8, SEEK_SET), 0);
			fputs("another", out);
			fclose(out);
		}
		at = 0;
		ck_assert_int_eq(ledger_open(&ledger, path), 0);
		ck_assert_ptr_null(ledger_next(&ledger, &at));
		ck_assert_ptr_nonnull(ledger_take(&ledger, getpid(), 7, "train"));
		ledger_close(&ledger);
		unlink(target);
		remove_path();
	}
	ck_assert_int_eq(ledger_open(&ledger, "/nonexistent/sock"), -ENOENT);
	ck_assert_ptr_null(ledger_take(&ledger, getpid(), 7, "train"));
	ledger_close(&ledger);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon ledger");
	TCase *tcase = tcase_create("ledger");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_ledger_keeps);
	tcase_add_test(tcase, test_ledger_is_full);
	tcase_add_test(tcase, test_ledger_of_others);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
