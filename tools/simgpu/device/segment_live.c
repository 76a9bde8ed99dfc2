/* SPDX-License-Identifier: Apache-2.0 */
/* Who still lives, and what becomes of the others' work and memory. */

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/segment_impl.h"

#define KEY_START_BITS 40
#define KEY_START_MASK ((1ull << KEY_START_BITS) - 1)

/* A key is the start time, in ticks, below a hash of where the program's stack starts, which
 * changes when the process becomes another program. 0: not to be seen by us, matches any. */
static uint64_t make_key(uint64_t start, uint64_t stack)
{
	uint64_t hash = stack * 0x9e3779b97f4a7c15ull >> KEY_START_BITS;

	if (stack && !hash)
		hash = 1;
	return (start & KEY_START_MASK) | hash << KEY_START_BITS;
}

/* Fields of /proc/PID/stat behind the name, which may hold anything: 3 is the state, 22 the start
 * time, 28 the start of the stack. */
static bool parse_stat(const char *text, uint64_t *ret_key)
{
	const char *at = strrchr(text, ')');
	unsigned long long start, stack;
	char state;

	if (!at || sscanf(at + 1, " %c", &state) != 1 || state == 'Z' || state == 'X')
		return false;
	if (sscanf(at + 1,
		   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
		   " %llu %*s %*s %*s %*s %*s %llu",
		   &start, &stack) != 2)
		return false;
	*ret_key = make_key(start, stack);
	return true;
}

bool process_key(uint32_t pid, uint64_t *ret_key)
{
	char path[64], text[1024];
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	return parse_stat(text, ret_key);
}

bool process_lives(uint32_t pid, uint64_t key)
{
	uint64_t now;

	if (!process_key(pid, &now) || (now & KEY_START_MASK) != (key & KEY_START_MASK))
		return false;
	return now == key || !(now >> KEY_START_BITS) || !(key >> KEY_START_BITS);
}

uint64_t process_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
}

struct candidate {
	uint32_t pid;
	uint64_t key;
};

static bool is_dead(const struct candidate *candidate, bool look_closely)
{
	if (kill((pid_t)candidate->pid, 0) && errno == ESRCH)
		return true;
	return look_closely && !process_lives(candidate->pid, candidate->key);
}

/* Only if the slot is still that process's: somebody else may have been faster. */
static bool reap_one(struct segment *segment, uint64_t now_ns, uint32_t proc,
		     const struct candidate *candidate)
{
	struct model *model = segment_model(segment);
	uint32_t pid;
	uint64_t key;
	bool same;

	segment_lock(segment);
	same = model_get_proc(model, proc, &pid, &key) && pid == candidate->pid &&
	       key == candidate->key;
	if (same)
		model_detach(model, now_ns, proc);
	segment_unlock(segment);
	return same;
}

uint32_t segment_reap(struct segment *segment, uint64_t now_ns, bool thorough)
{
	struct shared *shared = segment->shared;
	uint64_t before = atomic_load_explicit(&shared->reaped_ns, memory_order_relaxed);
	struct candidate candidate[MODEL_MAX_PROCS] = {0};
	uint32_t reaped = 0, close_checks = thorough ? MODEL_MAX_PROCS : SEGMENT_ZOMBIE_CHECKS;
	uint32_t start;

	/* Relaxed: only one of those who come together needs to go on, nothing hangs on which. */
	if (!thorough &&
	    (now_ns < before + SEGMENT_REAP_NS ||
	     !atomic_compare_exchange_strong_explicit(&shared->reaped_ns, &before, now_ns,
						      memory_order_relaxed, memory_order_relaxed)))
		return 0;
	segment_lock(segment);
	for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++)
		(void)model_get_proc(&shared->model, p, &candidate[p].pid, &candidate[p].key);
	start = atomic_load_explicit(&shared->reap_cursor, memory_order_relaxed);
	segment_unlock(segment);

	for (uint32_t i = 0; i < MODEL_MAX_PROCS; i++) {
		uint32_t p = (start + i) % MODEL_MAX_PROCS;
		bool closely = close_checks > 0;

		if (!candidate[p].pid ||
		    (candidate[p].pid == segment->pid && candidate[p].key == segment->key))
			continue;
		if (closely && !--close_checks)
			atomic_store_explicit(&shared->reap_cursor, (p + 1) % MODEL_MAX_PROCS,
					      memory_order_relaxed);
		if (is_dead(&candidate[p], closely))
			reaped += reap_one(segment, now_ns, p, &candidate[p]);
	}
	return reaped;
}
