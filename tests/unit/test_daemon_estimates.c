/* SPDX-License-Identifier: Apache-2.0 */

/* What has been measured, kept over runs: whose it is, how much of it, and what damage does. */

#include "daemon/estimates.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/estimates_file.h"

static char folder[64], file[96];
static struct sluice_estimate_ring ring;
static uint64_t seen;

static void setup(void)
{
	memcpy(folder, "/tmp/sluice-estimates-XXXXXX", 29);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/estimates.7", folder);
	memset(&ring, 0, sizeof(ring));
	seen = 0;
	/* What is wrong with a file is said; not in a test's output. */
	if (!secure_getenv("SLUICE_TEST_LOG"))
		ck_assert_ptr_nonnull(freopen("/dev/null", "we", stderr));
}

static void teardown(void)
{
	unlink(file);
	rmdir(folder);
}

static void measured(uint64_t key, uint32_t cost_ns)
{
	uint64_t head = atomic_load(&ring.head);

	ring.record[head % SLUICE_ESTIMATE_RECORDS] = (struct sluice_estimate_record){
		.key = key, .cost_ns = cost_ns, .high_ns = cost_ns, .sightings = 4};
	atomic_store(&ring.head, head + 1);
}

/* What a process of the user would be told of the key; 0: nothing. */
static uint32_t known(struct estimates *estimates, uid_t uid, uint64_t key)
{
	const struct sluice_known *page;
	struct sluice_estimate_record *record;
	struct page shared;
	uint32_t cost_ns = 0;
	struct stat about;

	if (estimates_page(estimates, uid, &shared))
		return 0;
	ck_assert_int_eq(fstat(shared.read_fd, &about), 0);
	page = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, shared.read_fd, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert_uint_eq(page->magic, SLUICE_KNOWN_MAGIC);
	ck_assert_uint_le(sizeof(*page) + page->slots * sizeof(page->slot[0]),
			  (size_t)about.st_size);
	ck_assert_ptr_eq(mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      shared.read_fd, 0),
			 MAP_FAILED);
	record = sluice_known_look((struct sluice_estimate_record *)page->slot, page->slots, key);
	if (record && record->key == key)
		cost_ns = record->cost_ns;
	munmap((void *)page, (size_t)about.st_size);
	page_finish(&shared);
	return cost_ns;
}

START_TEST(test_estimates_keep)
{
	struct estimates *estimates = estimates_create(folder);

	ck_assert_ptr_nonnull(estimates);
	ck_assert_uint_eq(known(estimates, 7, 1), 0);
	measured(1, 5000);
	measured(2, 6000);
	measured(1, 5500);
	estimates_take(estimates, 7, &ring, &seen);
	ck_assert_uint_eq(seen, 3);
	ck_assert_uint_eq(known(estimates, 7, 1), 5500);
	ck_assert_uint_eq(known(estimates, 7, 2), 6000);
	ck_assert_uint_eq(known(estimates, 7, 3), 0);
	ck_assert_uint_eq(known(estimates, 8, 1), 0);
	estimates_destroy(estimates);
	estimates = estimates_create(folder);
	ck_assert_uint_eq(known(estimates, 7, 1), 5500);
	ck_assert_uint_eq(known(estimates, 8, 1), 0);
	estimates_destroy(estimates);
	estimates_destroy(NULL);
}
END_TEST

START_TEST(test_estimates_without_a_folder)
{
	struct estimates *estimates = estimates_create(NULL);

	measured(1, 5000);
	estimates_take(estimates, 7, &ring, &seen);
	ck_assert_uint_eq(known(estimates, 7, 1), 5000);
	estimates_tick(estimates, ESTIMATES_SAVE_NS);
	estimates_destroy(estimates);
	ck_assert_int_eq(access(file, F_OK), -1);
}
END_TEST

START_TEST(test_estimates_are_written_when_due)
{
	struct estimates *estimates = estimates_create(folder);

	measured(1, 5000);
	estimates_take(estimates, 7, &ring, &seen);
	estimates_tick(estimates, ESTIMATES_SAVE_NS - 1);
	ck_assert_int_eq(access(file, F_OK), -1);
	estimates_tick(estimates, ESTIMATES_SAVE_NS);
	ck_assert_int_eq(access(file, F_OK), 0);
	unlink(file);
	/* Nothing has changed since. */
	estimates_tick(estimates, 3 * ESTIMATES_SAVE_NS);
	ck_assert_int_eq(access(file, F_OK), -1);
	estimates_destroy(estimates);
}
END_TEST

START_TEST(test_estimates_refuse_what_makes_no_sense)
{
	struct estimates *estimates = estimates_create(NULL);

	measured(0, 5000);
	measured(1, 0);
	measured(2, SLUICE_ESTIMATE_MAX_NS + 1);
	measured(3, 5000);
	ring.record[3].high_ns = 4000;
	measured(4, 5000);
	ring.record[4].flags = 4;
	measured(5, 5000);
	estimates_take(estimates, 7, &ring, &seen);
	for (uint64_t key = 1; key < 5; key++)
		ck_assert_uint_eq(known(estimates, 7, key), 0);
	ck_assert_uint_eq(known(estimates, 7, 5), 5000);
	/* Counts that jump or go back cost nobody anything. */
	atomic_store(&ring.head, UINT64_MAX - 3);
	estimates_take(estimates, 7, &ring, &seen);
	ck_assert_uint_eq(seen, UINT64_MAX - 3);
	atomic_store(&ring.head, 2);
	estimates_take(estimates, 7, &ring, &seen);
	ck_assert_uint_eq(seen, 2);
	estimates_destroy(estimates);
}
END_TEST

static void measure_many(struct estimates *estimates, uint64_t from, uint64_t to)
{
	for (uint64_t key = from; key < to; key++) {
		measured(key, 1000);
		estimates_take(estimates, 7, &ring, &seen);
	}
}

START_TEST(test_estimates_are_bounded)
{
	struct estimates *estimates = estimates_create(folder);

	/* A first run, of which a second sees one key again. */
	measure_many(estimates, 1, 101);
	estimates_destroy(estimates);
	estimates = estimates_create(folder);
	measure_many(estimates, 100, 100 + ESTIMATES_MAX - 99);
	ck_assert_uint_eq(known(estimates, 7, 1), 1000);
	/* Full: what the second has not seen makes room. */
	measure_many(estimates, 1000000, 1000001);
	ck_assert_uint_eq(known(estimates, 7, 1000000), 1000);
	ck_assert_uint_eq(known(estimates, 7, 1), 0);
	ck_assert_uint_eq(known(estimates, 7, 100), 1000);
	/* Full of one run's: no more is kept, and what is there can still change. */
	measure_many(estimates, 2000000, 2000000 + ESTIMATES_MAX);
	ck_assert_uint_eq(known(estimates, 7, 2000000 + ESTIMATES_MAX - 1), 0);
	measured(100, 2000);
	estimates_take(estimates, 7, &ring, &seen);
	ck_assert_uint_eq(known(estimates, 7, 100), 2000);
	estimates_destroy(estimates);
}
END_TEST

START_TEST(test_estimates_of_a_long_life)
{
	struct estimates *estimates = estimates_create(NULL);

	/* Five processes, one after the other, of which each brings a quarter of a table. */
	for (uint64_t run = 0; run < 5; run++) {
		estimates_run(estimates, 7);
		measure_many(estimates, 1 + run * 10000, 1 + run * 10000 + ESTIMATES_MAX / 4);
	}
	ck_assert_uint_eq(known(estimates, 7, 1), 0);
	ck_assert_uint_eq(known(estimates, 7, 30001), 1000);
	ck_assert_uint_eq(known(estimates, 7, 40000 + ESTIMATES_MAX / 4), 1000);
	estimates_destroy(estimates);
}
END_TEST

/* More users than tables: who was here longest ago is written and makes room, and is read again. */
START_TEST(test_estimates_of_many_users)
{
	struct estimates *estimates = estimates_create(folder);
	char path[128];

	for (uid_t uid = 1; uid <= ESTIMATES_USERS + 5; uid++) {
		measured(9, 1000 + uid);
		estimates_take(estimates, uid, &ring, &seen);
	}
	for (uid_t uid = 1; uid <= ESTIMATES_USERS + 5; uid++)
		ck_assert_uint_eq(known(estimates, uid, 9), 1000 + uid);
	estimates_destroy(estimates);
	for (uid_t uid = 1; uid <= ESTIMATES_USERS + 5; uid++) {
		snprintf(path, sizeof(path), "%s/estimates.%u", folder, (unsigned int)uid);
		ck_assert_int_eq(unlink(path), 0);
	}
}
END_TEST

/* ---- damage ---- */

static struct sluice_estimate_record record[3] = {
	{.key = 11, .cost_ns = 100, .high_ns = 200, .sightings = 4, .flags = 1, .reserved = 5},
	{.key = 12, .cost_ns = 101, .high_ns = 101, .sightings = 9, .reserved = 6},
	{.key = 13, .cost_ns = 102, .high_ns = 102, .sightings = 1, .reserved = 6},
};

static int read_back(void)
{
	struct sluice_estimate_record back[4];
	uint32_t count;
	uint64_t run;
	int r = estimates_file_read(file, 7, back, 4, &count, &run);

	if (!r) {
		ck_assert_uint_eq(count, 3);
		ck_assert_uint_eq(run, 6);
		ck_assert_int_eq(memcmp(back, record, sizeof(record)), 0);
	}
	return r;
}

START_TEST(test_every_damaged_byte_is_seen)
{
	struct stat about;
	unsigned char byte;
	int fd;

	ck_assert_int_eq(estimates_file_write(file, 7, record, 3, 6), 0);
	ck_assert_int_eq(read_back(), 0);
	fd = open(file, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &about), 0);
	for (off_t at = 0; at < about.st_size; at++) {
		for (unsigned int bit = 0; bit < 8; bit++) {
			unsigned char damaged;

			ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
			damaged = (unsigned char)(byte ^ 1u << bit);
			ck_assert_int_eq(pwrite(fd, &damaged, 1, at), 1);
			ck_assert_int_eq(read_back(), -EBADMSG);
			ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
		}
	}
	ck_assert_int_eq(read_back(), 0);
	/* Cut off anywhere, or with something behind. */
	for (off_t size = about.st_size - 1; size >= 0; size--) {
		ck_assert_int_eq(ftruncate(fd, size), 0);
		ck_assert_int_eq(read_back(), -EBADMSG);
	}
	close(fd);
	ck_assert_int_eq(estimates_file_write(file, 7, record, 3, 6), 0);
	ck_assert_int_eq(read_back(), 0);
	ck_assert_int_eq(truncate(file, about.st_size + 1), 0);
	ck_assert_int_eq(read_back(), -EBADMSG);
}
END_TEST

START_TEST(test_files_that_are_not_ours)
{
	struct sluice_estimate_record back[4];
	char other[112];
	uint32_t count;
	uint64_t run;

	ck_assert_int_eq(read_back(), -ENOENT);
	ck_assert_int_eq(estimates_file_write(file, 7, record, 3, 6), 0);
	ck_assert_int_eq(estimates_file_read(file, 8, back, 4, &count, &run), -EBADMSG);
	ck_assert_int_eq(estimates_file_read(file, 7, back, 2, &count, &run), -EBADMSG);
	ck_assert_int_eq(chmod(file, 0622), 0);
	ck_assert_int_eq(read_back(), -EPERM);
	ck_assert_int_eq(chmod(file, 0600), 0);
	snprintf(other, sizeof(other), "%s.link", file);
	ck_assert_int_eq(link(file, other), 0);
	ck_assert_int_eq(read_back(), -EPERM);
	ck_assert_int_eq(rename(other, other), 0);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(symlink(other, file), 0);
	ck_assert_int_eq(read_back(), -ELOOP);
	/* Written, it is a file of ours again, and what it pointed to is as it was. */
	ck_assert_int_eq(estimates_file_write(file, 7, record, 3, 6), 0);
	ck_assert_int_eq(read_back(), 0);
	ck_assert_int_eq(unlink(other), 0);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(mkdir(file, 0700), 0);
	ck_assert_int_eq(read_back(), -EPERM);
	ck_assert_int_lt(estimates_file_write(file, 7, record, 3, 6), 0);
	ck_assert_int_eq(rmdir(file), 0);
}
END_TEST

START_TEST(test_a_damaged_file_stops_nobody)
{
	struct estimates *estimates;

	ck_assert_int_eq(estimates_file_write(file, 7, record, 3, 6), 0);
	ck_assert_int_eq(truncate(file, 40), 0);
	estimates = estimates_create(folder);
	ck_assert_uint_eq(known(estimates, 7, 11), 0);
	measured(1, 5000);
	estimates_take(estimates, 7, &ring, &seen);
	estimates_destroy(estimates);
	estimates = estimates_create(folder);
	ck_assert_uint_eq(known(estimates, 7, 1), 5000);
	estimates_destroy(estimates);
	/* Nor a folder that is none. */
	ck_assert_int_eq(estimates_file_write(file, 7, record, 3, 6), 0);
	estimates = estimates_create(file);
	measured(2, 5000);
	estimates_take(estimates, 9, &ring, &seen);
	ck_assert_uint_eq(known(estimates, 9, 2), 5000);
	estimates_destroy(estimates);
}
END_TEST

/* What is written to stderr while the state is opened. */
static void create_saying(const char *state, size_t size, char *ret_said)
{
	int old = dup(2), heard[2];
	ssize_t got;

	ck_assert_int_eq(pipe(heard), 0);
	ck_assert_int_eq(dup2(heard[1], 2), 2);
	close(heard[1]);
	estimates_destroy(estimates_create(state));
	fflush(stderr);
	dup2(old, 2);
	close(old);
	got = read(heard[0], ret_said, size - 1);
	close(heard[0]);
	ret_said[got > 0 ? got : 0] = 0;
}

START_TEST(test_a_state_that_is_no_folder_is_named)
{
	char said[512];

	create_saying(folder, sizeof(said), said);
	ck_assert_str_eq(said, "");
	ck_assert_int_eq(estimates_file_write(file, 7, record, 3, 6), 0);
	create_saying(file, sizeof(said), said);
	ck_assert_ptr_nonnull(strstr(said, file));
	ck_assert_ptr_nonnull(strstr(said, "Not a directory"));
	if (!geteuid())
		return;
	ck_assert_int_eq(chmod(folder, 0500), 0);
	create_saying(folder, sizeof(said), said);
	ck_assert_int_eq(chmod(folder, 0700), 0);
	ck_assert_ptr_nonnull(strstr(said, "Permission denied"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon_estimates");
	TCase *tcase = tcase_create("estimates");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_estimates_keep);
	tcase_add_test(tcase, test_estimates_without_a_folder);
	tcase_add_test(tcase, test_estimates_are_written_when_due);
	tcase_add_test(tcase, test_estimates_refuse_what_makes_no_sense);
	tcase_add_test(tcase, test_estimates_are_bounded);
	tcase_add_test(tcase, test_estimates_of_a_long_life);
	tcase_add_test(tcase, test_estimates_of_many_users);
	tcase_add_test(tcase, test_every_damaged_byte_is_seen);
	tcase_add_test(tcase, test_files_that_are_not_ours);
	tcase_add_test(tcase, test_a_state_that_is_no_folder_is_named);
	tcase_add_test(tcase, test_a_damaged_file_stops_nobody);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
