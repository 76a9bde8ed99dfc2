/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_SEGMENT_IMPL_H
#define SIMGPU_SEGMENT_IMPL_H

/*
 * The mapped file, and what the files segment*.c share. The head up to and with the members keeps
 * its layout for ever: a program of another version must be able to tell who has the file open.
 * Members change under flock of the file, everything behind them under `lock`.
 */

#include <pthread.h>
#include <sys/types.h>

#include "device/model_impl.h"
#include "device/segment.h"

#define SEGMENT_MAGIC 0x31555047534d4953ull /* "SIMSGPU1" */
#define SEGMENT_VERSION 2u
#define SEGMENT_MEMBERS 256
#define SEGMENT_PATH_MAX 512
#define SEGMENT_REAP_NS 10000000ull
#define SEGMENT_ZOMBIE_CHECKS 8 /* a turn of segment_reap that is not thorough */

struct member {
	uint32_t pid; /* 0: free */
	uint32_t reserved;
	uint64_t key; /* process_key */
};

struct sleeper {
	_Atomic uint32_t word; /* futex; counts notifications */
	uint32_t reserved;
	uint64_t until_ns; /* what it was told; valid while its bit is in `sleeping` */
	uint64_t padding[6];
};

struct shared {
	uint64_t magic; /* written last: 0 is a file that nobody finished */
	uint32_t version;
	uint32_t reserved;
	uint64_t size;
	uint64_t pid_namespace;
	struct member member[SEGMENT_MEMBERS];
	/* from here on as the version says */
	pthread_mutex_t lock;
	uint64_t sleeping;	      /* mask of processes */
	_Atomic uint32_t reap_cursor; /* where the next look for zombies begins */
	_Atomic uint64_t reaped_ns;
	struct sleeper sleeper[MODEL_MAX_PROCS];
	struct model model __attribute__((aligned(64)));
};

_Static_assert(offsetof(struct shared, lock) == 32 + SEGMENT_MEMBERS * 16, "the head is for ever");
_Static_assert(sizeof(struct sleeper) == 64, "one cache line each");

struct segment {
	struct shared *shared;
	struct model_desc desc;
	uint8_t uuid[16];
	uint32_t pid;
	uint64_t key;
	uint64_t inode;
	bool joined; /* under the lock, with `proc` */
	uint32_t proc;
	char path[SEGMENT_PATH_MAX];
};

/* segment_file.c: maps the file of this name in the first of `dirs` (NULL-terminated) that has it
 * or can hold it, this process a member of it; `segment` has pid and key. */
int segment_file_open(struct segment *segment, const char *const *dirs, const char *name,
		      const struct model_desc *desc, char *ret_error);
/* No longer a member; the file goes with its last one. */
void segment_file_leave(struct segment *segment);
void segment_file_close(struct segment *segment); /* and unmaps */
/* segment_open with the folders given. */
int segment_open_in(const char *const *dirs, const char *instance, uint32_t ordinal,
		    const struct model_desc *desc, struct segment **ret_segment,
		    bool *ret_other_desc, char *ret_error);

/* segment_live.c. A key tells an incarnation of a pid: a later process, or the same one after it
 * became another program, has another. Both are false where there is no such process any more (a
 * zombie is none). */
bool process_key(uint32_t pid, uint64_t *ret_key);
bool process_lives(uint32_t pid, uint64_t key);
uint64_t process_namespace(void); /* of pids; 0: unknown */

#endif
