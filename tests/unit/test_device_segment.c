/* SPDX-License-Identifier: Apache-2.0 */
/* The shared segment among real processes: who creates, who takes over, who is reaped. */

#include "device_process.h"

START_TEST(the_file_is_private_and_goes_with_the_last_one)
{
	struct segment *one, *two;
	struct stat status;
	char path[SEGMENT_PATH_MAX];

	new_instance();
	one = open_default();
	ck_assert(!other);
	(void)snprintf(path, sizeof(path), "%s", segment_path(one));
	ck_assert_ptr_nonnull(strstr(path, "/simgpu-"));
	ck_assert_ptr_nonnull(strstr(path, name));
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0600);
	two = open_default();
	ck_assert_str_eq(segment_path(two), path);
	segment_close(one);
	ck_assert(file_exists(path));
	segment_close(two);
	ck_assert(!file_exists(path));
	segment_close(NULL);
}
END_TEST

START_TEST(the_description_in_force_stays)
{
	struct model_desc first = test_desc(false), second = test_desc(true), got;
	struct segment *one, *two;

	new_instance();
	one = open_with(&first);
	two = open_with(&second);
	ck_assert(other);
	segment_get_desc(two, &got);
	ck_assert_mem_eq(&got, &first, sizeof(got));
	segment_close(one);
	segment_close(two);
	one = open_with(&second);
	ck_assert(!other);
	segment_get_desc(one, &got);
	ck_assert_uint_eq(got.mps, 1);
	segment_close(one);
}
END_TEST

START_TEST(uuids_are_stable_and_distinct)
{
	struct model_desc desc = test_desc(false);
	uint8_t uuid[4][16];
	struct segment *segment;

	new_instance();
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_eq(segment_open(name, i % 3, &desc, &segment, &other, error), 0);
		segment_get_uuid(segment, uuid[i]);
		segment_close(segment);
	}
	ck_assert_mem_eq(uuid[0], uuid[3], 16);
	ck_assert_mem_ne(uuid[0], uuid[1], 16);
	ck_assert_mem_ne(uuid[1], uuid[2], 16);
	ck_assert_int_eq(uuid[0][6] >> 4, 8);
	ck_assert_int_eq(uuid[0][8] >> 6, 2);
}
END_TEST

START_TEST(names_that_are_none_are_refused)
{
	static const char *const bad[] = {"",
					  "..",
					  "a/b",
					  "sp ace",
					  ".hidden",
					  "0123456789012345678901234567890123456789012345678901234"
					  "567890123456789"};
	struct model_desc desc = test_desc(false);
	struct segment *segment;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(segment_open(bad[i], 0, &desc, &segment, &other, error), -EINVAL);
		ck_assert_ptr_nonnull(strstr(error, "instance name"));
	}
}
END_TEST

START_TEST(joining_is_once_and_leaving_gives_all_back)
{
	struct segment *segment;
	uint32_t proc, again;

	new_instance();
	segment = open_default();
	ck_assert_int_eq(segment_join(segment, &proc), 0);
	ck_assert_int_eq(segment_join(segment, &again), -EBUSY);
	segment_lock(segment);
	ck_assert_int_eq(model_mem_take(segment_model(segment), proc, 1000), 0);
	ck_assert_uint_eq(model_mem_used(segment_model(segment), UINT32_MAX), (1 << 20) + 1000);
	segment_unlock(segment);
	segment_leave(segment);
	segment_leave(segment);
	segment_lock(segment);
	ck_assert_uint_eq(model_mem_used(segment_model(segment), UINT32_MAX), 0);
	segment_unlock(segment);
	ck_assert_int_eq(segment_join(segment, &proc), 0);
	segment_close(segment);
}
END_TEST

START_TEST(a_killed_process_is_reaped)
{
	struct segment *segment;
	struct model *model;
	pid_t pid;

	new_instance();
	segment = open_default();
	model = segment_model(segment);
	pid = start_child(child_works);
	segment_lock(segment);
	ck_assert_uint_eq(model_mem_used(model, UINT32_MAX), 6 << 20);
	segment_unlock(segment);
	ck_assert_uint_eq(segment_reap(segment, sluice_now_ns(), true), 0); /* it lives */
	/* A zombie is dead, whether or not its parent has looked. */
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	ck_assert_uint_eq(segment_reap(segment, sluice_now_ns(), true), 1);
	segment_lock(segment);
	ck_assert_uint_eq(model_mem_used(model, UINT32_MAX), 0);
	ck_assert_uint_eq(model_next_ns(model, UINT32_MAX), MODEL_NEVER);
	segment_unlock(segment);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	segment_close(segment);
}
END_TEST

static void child_becomes_another(int tell)
{
	int ready[2];

	if (pipe(ready))
		_exit(4);
	child_works(ready[1]);
	(void)fcntl(tell, F_SETFD, FD_CLOEXEC);
	(void)execl("/bin/sleep", "sleep", "600", (char *)NULL);
	_exit(5);
}

START_TEST(a_process_that_became_another_program_is_reaped)
{
	struct segment *segment;
	int tell[2];
	char byte;
	pid_t pid;

	new_instance();
	segment = open_default();
	if (!(segment->key >> 40)) /* the kernel does not say where the stack starts */
		goto out;
	ck_assert_int_eq(pipe(tell), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		(void)close(tell[0]);
		child_becomes_another(tell[1]);
	}
	ck_assert_int_eq(close(tell[1]), 0);
	ck_assert_int_eq(read(tell[0], &byte, 1), 0); /* closed by the exec */
	ck_assert_int_eq(close(tell[0]), 0);
	ck_assert_uint_eq(segment_reap(segment, sluice_now_ns(), true), 1);
	ck_assert_int_eq(kill(pid, 0), 0);
	end_child(pid);
	segment_lock(segment);
	ck_assert_uint_eq(model_mem_used(segment_model(segment), UINT32_MAX), 0);
	segment_unlock(segment);
out:
	segment_close(segment);
}
END_TEST

START_TEST(cheap_reaping_finds_all_in_a_few_turns)
{
	struct segment *segment;
	uint64_t now = sluice_now_ns();
	uint32_t found = 0;
	pid_t pid[12];

	new_instance();
	segment = open_default();
	for (int i = 0; i < 12; i++)
		pid[i] = start_child(child_works);
	for (int i = 0; i < 12; i++) {
		ck_assert_int_eq(kill(pid[i], SIGKILL), 0);
		ck_assert_int_eq(waitid(P_PID, (id_t)pid[i], &(siginfo_t){0}, WEXITED | WNOWAIT),
				 0);
	}
	found += segment_reap(segment, now, false);
	ck_assert_uint_eq(segment_reap(segment, now + SEGMENT_REAP_NS - 1, false),
			  0); /* too soon */
	found += segment_reap(segment, now + SEGMENT_REAP_NS, false);
	ck_assert_uint_eq(found, 12);
	for (int i = 0; i < 12; i++)
		ck_assert_int_eq(waitpid(pid[i], NULL, 0), pid[i]);
	segment_close(segment);
}
END_TEST

START_TEST(joining_makes_room_by_reaping)
{
	struct model_desc desc = test_desc(false);
	struct segment *segment;
	uint32_t proc;

	new_instance();
	desc.memory_bytes = (6 << 20) + 1000; /* one process and its 5 MiB */
	segment = open_with(&desc);
	end_child(start_child(child_works));
	ck_assert_int_eq(segment_join(segment, &proc), 0);
	segment_lock(segment);
	ck_assert_uint_eq(model_mem_used(segment_model(segment), UINT32_MAX), 1 << 20);
	segment_unlock(segment);
	segment_close(segment);
}
END_TEST

START_TEST(what_the_dead_left_is_taken_over)
{
	struct model_desc desc = test_desc(true);
	struct segment *segment;

	new_instance();
	end_child(start_child(child_works));
	segment = open_with(&desc);
	ck_assert(!other); /* the description is the new one's */
	segment_lock(segment);
	ck_assert_uint_eq(model_mem_used(segment_model(segment), UINT32_MAX), 0);
	segment_unlock(segment);
	segment_close(segment);
}
END_TEST

START_TEST(a_forked_child_closes_only_its_own_view)
{
	struct segment *segment;
	uint32_t proc;
	int status;
	pid_t pid;

	new_instance();
	segment = open_default();
	ck_assert_int_eq(segment_join(segment, &proc), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		segment_close(segment);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert(file_exists(segment_path(segment)));
	segment_lock(segment);
	ck_assert_uint_eq(model_mem_used(segment_model(segment), proc), 1 << 20);
	segment_unlock(segment);
	segment_close(segment);
}
END_TEST

/* ---- the file ---- */

START_TEST(another_layout_in_use_is_an_error_that_says_what_to_do)
{
	struct model_desc desc = test_desc(false);
	struct segment *segment, *second;

	new_instance();
	segment = open_default();
	segment->shared->version = SEGMENT_VERSION + 1;
	ck_assert_int_eq(segment_open(name, 0, &desc, &second, &other, error), -EPROTO);
	ck_assert_ptr_nonnull(strstr(error, segment_path(segment)));
	ck_assert_ptr_nonnull(strstr(error, "another version"));
	ck_assert_ptr_nonnull(strstr(error, "stop it, or use another instance"));
	/* Nobody lives there: it is replaced. */
	segment->shared->member[0].key++;
	ck_assert_int_eq(segment_open(name, 0, &desc, &second, &other, error), 0);
	segment_close(second);
	segment_close(segment);
}
END_TEST

START_TEST(another_pid_namespace_is_refused)
{
	struct model_desc desc = test_desc(false);
	struct segment *segment, *second;

	new_instance();
	segment = open_default();
	segment->shared->pid_namespace++;
	ck_assert_int_eq(segment_open(name, 0, &desc, &second, &other, error), -EXDEV);
	ck_assert_ptr_nonnull(strstr(error, "pid namespace"));
	segment->shared->pid_namespace--;
	segment_close(segment);
}
END_TEST

START_TEST(a_file_that_nobody_finished_is_replaced)
{
	struct segment *segment;
	char path[SEGMENT_PATH_MAX];
	int fd;

	new_instance();
	segment = open_default();
	(void)snprintf(path, sizeof(path), "%s", segment_path(segment));
	segment_close(segment);
	for (off_t size = 0; size <= 10000; size += 5000) {
		fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(ftruncate(fd, size), 0);
		ck_assert_int_eq(close(fd), 0);
		segment = open_default();
		ck_assert_str_eq(segment_path(segment), path);
		segment_close(segment);
	}
}
END_TEST

START_TEST(where_there_is_no_room_the_next_folder_is_taken)
{
	static const char *const dirs[] = {"/nonexistent/dir", "/tmp", NULL};
	static const char *const none[] = {"/nonexistent/dir", NULL};
	struct model_desc desc = test_desc(false);
	struct segment *segment, *second;

	new_instance();
	ck_assert_int_eq(segment_open_in(dirs, name, 0, &desc, &segment, &other, error), 0);
	ck_assert_ptr_eq(strstr(segment_path(segment), "/tmp/simgpu-"), segment_path(segment));
	ck_assert_int_eq(segment_open_in(dirs, name, 0, &desc, &second, &other, error), 0);
	ck_assert_uint_eq(second->inode, segment->inode);
	segment_close(second);
	segment_close(segment);
	ck_assert_int_eq(segment_open_in(none, name, 0, &desc, &segment, &other, error), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error, "/nonexistent/dir/simgpu-"));
}
END_TEST

static void child_opens_and_closes(void)
{
	struct model_desc desc = test_desc(false);
	struct segment *segment;
	struct stat status;
	uint32_t proc;

	for (int i = 0; i < 100; i++) {
		if (segment_open(name, 0, &desc, &segment, &other, error)) {
			fprintf(stderr, "%s\n", error);
			_exit(1);
		}
		if (segment_join(segment, &proc))
			_exit(2);
		/* While a member lives, the file that has the name is the one it has open. */
		if (stat(segment_path(segment), &status) || status.st_ino != segment->inode)
			_exit(3);
		segment_close(segment);
	}
	_exit(0);
}

START_TEST(many_open_and_close_at_once)
{
	struct segment *segment;
	pid_t pid[8];
	int status;

	new_instance();
	fflush(NULL);
	for (int i = 0; i < 8; i++) {
		pid[i] = fork();
		if (!pid[i])
			child_opens_and_closes();
	}
	for (int i = 0; i < 8; i++) {
		ck_assert_int_eq(waitpid(pid[i], &status, 0), pid[i]);
		ck_assert_int_eq(status, 0);
	}
	segment = open_default();
	segment_lock(segment);
	ck_assert_uint_eq(model_mem_used(segment_model(segment), UINT32_MAX), 0);
	segment_unlock(segment);
	segment_close(segment);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device segment");
	TCase *tcase = tcase_create("segment");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, the_file_is_private_and_goes_with_the_last_one);
	tcase_add_test(tcase, the_description_in_force_stays);
	tcase_add_test(tcase, uuids_are_stable_and_distinct);
	tcase_add_test(tcase, names_that_are_none_are_refused);
	tcase_add_test(tcase, joining_is_once_and_leaving_gives_all_back);
	tcase_add_test(tcase, a_killed_process_is_reaped);
	tcase_add_test(tcase, a_process_that_became_another_program_is_reaped);
	tcase_add_test(tcase, cheap_reaping_finds_all_in_a_few_turns);
	tcase_add_test(tcase, joining_makes_room_by_reaping);
	tcase_add_test(tcase, what_the_dead_left_is_taken_over);
	tcase_add_test(tcase, a_forked_child_closes_only_its_own_view);
	tcase_add_test(tcase, another_layout_in_use_is_an_error_that_says_what_to_do);
	tcase_add_test(tcase, another_pid_namespace_is_refused);
	tcase_add_test(tcase, a_file_that_nobody_finished_is_replaced);
	tcase_add_test(tcase, where_there_is_no_room_the_next_folder_is_taken);
	tcase_add_test(tcase, many_open_and_close_at_once);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
