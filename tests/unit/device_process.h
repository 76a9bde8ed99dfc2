/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DEVICE_PROCESS_H
#define TESTS_DEVICE_PROCESS_H

/* A segment of its own for each test, and child processes that use it and are killed. */

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/segment_impl.h"
#include "sluice/clock.h"

static char error[SEGMENT_ERROR_MAX];
static char name[64]; /* one instance per test process and test */
static bool other;

static inline struct model_desc test_desc(bool mps)
{
	return (struct model_desc){.name = "test",
				   .sms = 4,
				   .copy_engines = 2,
				   .mps = mps,
				   .memory_bytes = 1ull << 30,
				   .slice_ns = 1000 * SLUICE_NS_PER_S,
				   .switch_ns = 1,
				   .idle_hold_ns = 1,
				   .context_bytes = 1 << 20};
}

static inline void new_instance(void)
{
	static int number;

	(void)snprintf(name, sizeof(name), "test-%d-%d", (int)getpid(), number++);
}

static inline struct segment *open_with(const struct model_desc *desc)
{
	struct segment *segment = NULL;
	int got = segment_open(name, 0, desc, &segment, &other, error);

	ck_assert_msg(!got, "%d: %s", got, error);
	return segment;
}

static inline struct segment *open_default(void)
{
	struct model_desc desc = test_desc(false);

	return open_with(&desc);
}

static inline bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Runs `body` in a child that says when it has got somewhere, and then waits to be killed. */
static inline pid_t start_child(void (*body)(int tell))
{
	int pipe_ends[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(pipe_ends), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		(void)close(pipe_ends[0]);
		body(pipe_ends[1]);
		for (;;)
			pause();
	}
	(void)close(pipe_ends[1]);
	ck_assert_int_eq(read(pipe_ends[0], &byte, 1), 1);
	(void)close(pipe_ends[0]);
	return pid;
}

static inline void say(int tell)
{
	if (write(tell, "x", 1) != 1)
		_exit(3);
}

static inline void end_child(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* Opens, joins, takes memory and queues work; without Check's own assertions, being a child. */
static inline void child_works(int tell)
{
	struct model_desc desc = test_desc(false);
	struct model_op_desc kernel = {
		.kind = MODEL_KERNEL, .blocks = 4, .blocks_per_sm = 1, .block_ns = 1ull << 40};
	struct segment *segment;
	uint32_t proc, stream;
	uint64_t op;

	if (segment_open(name, 0, &desc, &segment, &other, error) || segment_join(segment, &proc))
		_exit(1);
	segment_lock(segment);
	if (model_mem_take(segment_model(segment), proc, 5 << 20) ||
	    model_stream_create(segment_model(segment), proc, 0, &stream) ||
	    model_submit(segment_model(segment), sluice_now_ns(), stream, &kernel, &op))
		_exit(2);
	segment_unlock(segment);
	say(tell);
}

#endif
