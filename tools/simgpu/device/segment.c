/* SPDX-License-Identifier: Apache-2.0 */
#include "device/segment.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device/segment_impl.h"
#include "sluice/clock.h"

#define INSTANCE_MAX 64

/* ---- open and close ---- */

static bool is_instance_name(const char *name)
{
	size_t length = strlen(name);

	return length && length <= INSTANCE_MAX && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
		       length;
}

static uint64_t mix(uint64_t value)
{
	value ^= value >> 30;
	value *= 0xbf58476d1ce4e5b9ull;
	value ^= value >> 27;
	value *= 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

/* FNV-1a of the name, spread over two words; marked as a version 8 (custom) UUID. */
static void make_uuid(const char *instance, uint32_t ordinal, uint8_t *ret_uuid)
{
	uint64_t hash = 0xcbf29ce484222325ull, word[2];

	for (const char *c = instance; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 0x100000001b3ull;
	word[0] = mix(hash + ordinal);
	word[1] = mix(word[0] ^ 0x5347504d55ull);
	memcpy(ret_uuid, word, sizeof(word));
	ret_uuid[6] = (uint8_t)((ret_uuid[6] & 0x0f) | 0x80);
	ret_uuid[8] = (uint8_t)((ret_uuid[8] & 0x3f) | 0x80);
}

int segment_open_in(const char *const *dirs, const char *instance, uint32_t ordinal,
		    const struct model_desc *desc, struct segment **ret_segment,
		    bool *ret_other_desc, char *ret_error)
{
	struct segment *segment;
	char name[INSTANCE_MAX + 64];
	int error;

	if (!is_instance_name(instance)) {
		(void)snprintf(ret_error, SEGMENT_ERROR_MAX,
			       "instance name '%.64s': use 1 to 64 letters, digits, '-', '_', '.'",
			       instance);
		return -EINVAL;
	}
	segment = calloc(1, sizeof(*segment));
	if (!segment) {
		(void)snprintf(ret_error, SEGMENT_ERROR_MAX, "no memory");
		return -ENOMEM;
	}
	segment->pid = (uint32_t)getpid();
	if (!process_key(segment->pid, &segment->key)) {
		(void)snprintf(ret_error, SEGMENT_ERROR_MAX,
			       "/proc/%u/stat cannot be read; mount /proc", segment->pid);
		free(segment);
		return -ENOSYS;
	}
	(void)snprintf(name, sizeof(name), "simgpu-%u-%s-%u", geteuid(), instance, ordinal);
	error = segment_file_open(segment, dirs, name, desc, ret_error);
	if (error) {
		free(segment);
		return error;
	}
	segment->desc = *model_get_desc(&segment->shared->model);
	make_uuid(instance, ordinal, segment->uuid);
	*ret_other_desc = memcmp(&segment->desc, desc, sizeof(*desc)) != 0;
	*ret_segment = segment;
	return 0;
}

int segment_open(const char *instance, uint32_t ordinal, const struct model_desc *desc,
		 struct segment **ret_segment, bool *ret_other_desc,
		 char ret_error[SEGMENT_ERROR_MAX])
{
	const char *temporary = secure_getenv("TMPDIR");
	const char *dirs[] = {"/dev/shm", temporary && *temporary ? temporary : "/tmp", NULL};

	return segment_open_in(dirs, instance, ordinal, desc, ret_segment, ret_other_desc,
			       ret_error);
}

void segment_close(struct segment *segment)
{
	if (!segment)
		return;
	if (segment->pid == (uint32_t)getpid()) {
		segment_leave(segment);
		segment_file_close(segment);
	} else {
		(void)munmap(segment->shared, sizeof(*segment->shared));
	}
	free(segment);
}

void segment_abandon(struct segment *segment)
{
	if (segment && segment->pid == (uint32_t)getpid())
		segment_file_leave(segment);
}

/* ---- the lock ---- */

void segment_lock(struct segment *segment)
{
	int error = pthread_mutex_lock(&segment->shared->lock);

	if (error == EOWNERDEAD) {
		/* Not consistent until the repair is through: if we die in it, the next repairs. */
		model_repair(&segment->shared->model, sluice_now_ns());
		error = pthread_mutex_consistent(&segment->shared->lock);
	}
	assert(!error);
}

static void wake(struct sleeper *sleeper)
{
	(void)syscall(SYS_futex, &sleeper->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Whoever sleeps past its next event is told; returns the mask of those to wake. */
static uint64_t tell_sleepers(struct shared *shared)
{
	uint64_t told = 0;

	for (uint64_t left = shared->sleeping; left; left &= left - 1) {
		uint32_t proc = (uint32_t)__builtin_ctzll(left);
		struct sleeper *sleeper = &shared->sleeper[proc];

		if (model_next_ns(&shared->model, proc) >= sleeper->until_ns)
			continue;
		/* Release: pairs with the acquire in segment_wait. */
		atomic_fetch_add_explicit(&sleeper->word, 1, memory_order_release);
		told |= proc_bit(proc);
	}
	shared->sleeping &= ~told;
	return told;
}

void segment_unlock(struct segment *segment)
{
	struct shared *shared = segment->shared;
	uint64_t told = tell_sleepers(shared);

	(void)pthread_mutex_unlock(&shared->lock);
	for (; told; told &= told - 1)
		wake(&shared->sleeper[__builtin_ctzll(told)]);
}

/* ---- waiting ---- */

uint32_t segment_prepare_wait(struct segment *segment, uint32_t proc, uint64_t *ret_deadline_ns)
{
	struct shared *shared = segment->shared;
	struct sleeper *sleeper = &shared->sleeper[proc];

	sleeper->until_ns = model_next_ns(&shared->model, proc);
	shared->sleeping |= proc_bit(proc);
	*ret_deadline_ns = sleeper->until_ns;
	return atomic_load_explicit(&sleeper->word, memory_order_relaxed);
}

void segment_wait(struct segment *segment, uint32_t proc, uint32_t seen, uint64_t deadline_ns)
{
	struct sleeper *sleeper = &segment->shared->sleeper[proc];
	struct timespec until = {.tv_sec = (time_t)(deadline_ns / SLUICE_NS_PER_S),
				 .tv_nsec = (long)(deadline_ns % SLUICE_NS_PER_S)};

	if (atomic_load_explicit(&sleeper->word, memory_order_acquire) != seen)
		return;
	(void)syscall(SYS_futex, &sleeper->word, FUTEX_WAIT_BITSET, seen,
		      deadline_ns == MODEL_NEVER ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void segment_notify(struct segment *segment, uint32_t proc)
{
	struct sleeper *sleeper = &segment->shared->sleeper[proc];

	/* Release: pairs with the acquire in segment_wait. */
	atomic_fetch_add_explicit(&sleeper->word, 1, memory_order_release);
	wake(sleeper);
}

/* ---- this process in the model ---- */

static int join_once(struct segment *segment)
{
	int error = -EBUSY;

	segment_lock(segment);
	if (!segment->joined)
		error = model_attach(&segment->shared->model, sluice_now_ns(), segment->pid,
				     segment->key, &segment->proc);
	if (!error)
		segment->joined = true;
	segment_unlock(segment);
	return error;
}

int segment_join(struct segment *segment, uint32_t *ret_proc)
{
	int error = join_once(segment);

	if ((error == -EAGAIN || error == -ENOMEM) && segment_reap(segment, sluice_now_ns(), true))
		error = join_once(segment);
	if (!error)
		*ret_proc = segment->proc;
	return error;
}

void segment_leave(struct segment *segment)
{
	segment_lock(segment);
	if (segment->joined)
		model_detach(&segment->shared->model, sluice_now_ns(), segment->proc);
	segment->joined = false;
	segment_unlock(segment);
}

/* ---- what it is ---- */

struct model *segment_model(struct segment *segment)
{
	return &segment->shared->model;
}

void segment_get_desc(const struct segment *segment, struct model_desc *ret_desc)
{
	*ret_desc = segment->desc;
}

void segment_get_uuid(const struct segment *segment, uint8_t ret_uuid[16])
{
	memcpy(ret_uuid, segment->uuid, sizeof(segment->uuid));
}

const char *segment_path(const struct segment *segment)
{
	return segment->path;
}
