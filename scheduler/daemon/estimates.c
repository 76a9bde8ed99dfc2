/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/estimates.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/estimates_file.h"

#define KNOWN_SLOTS_MIN 64u

/* `reserved` of a record in here is the run in which it was last seen. */
struct user {
	bool used;
	uid_t uid;
	uint32_t count;
	uint64_t run;	  /* of this arbiter, for this user */
	uint64_t touched; /* goes up with each use: who was used longest ago makes room */
	bool dirty;
	bool full;	   /* of this run's: nothing can make room */
	bool cannot_write; /* said so */
	uint64_t saved_ns;
	struct sluice_estimate_record *slot; /* ESTIMATES_SLOTS; owned */
};

struct estimates {
	char folder[PATH_MAX]; /* empty: nothing is written */
	uint64_t touches;
	struct user user[ESTIMATES_USERS];
};

/* ---- one user's table ------------------------------------------------------------------------------- */

static bool path_of(const struct estimates *estimates, uid_t uid, char *ret_path, size_t size)
{
	return *estimates->folder && (size_t)snprintf(ret_path, size, "%s/estimates.%u",
						      estimates->folder, (unsigned int)uid) < size;
}

/* The records in use, side by side. */
static uint32_t gather(const struct user *user, struct sluice_estimate_record *ret_record)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ESTIMATES_SLOTS; i++) {
		if (user->slot[i].key)
			ret_record[count++] = user->slot[i];
	}
	return count;
}

static void scatter(struct user *user, const struct sluice_estimate_record *record, uint32_t count,
		    uint64_t not_before)
{
	memset(user->slot, 0, ESTIMATES_SLOTS * sizeof(*user->slot));
	user->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct sluice_estimate_record *at;

		if (record[i].reserved < not_before)
			continue;
		at = sluice_known_look(user->slot, ESTIMATES_SLOTS, record[i].key);
		user->count += !at->key;
		*at = record[i];
	}
}

/* Drops what none of the later half of the runs has seen. False: all of it is of this run. */
static bool make_room(struct user *user)
{
	struct sluice_estimate_record *record = malloc(ESTIMATES_MAX * sizeof(*record));
	uint64_t oldest = UINT64_MAX;
	uint32_t count;

	if (!record)
		return false;
	count = gather(user, record);
	for (uint32_t i = 0; i < count; i++)
		oldest = record[i].reserved < oldest ? record[i].reserved : oldest;
	if (oldest < user->run)
		scatter(user, record, count, oldest + (user->run - oldest + 1) / 2);
	free(record);
	return oldest < user->run;
}

static void put(struct user *user, const struct sluice_estimate_record *record)
{
	struct sluice_estimate_record *at =
		sluice_known_look(user->slot, ESTIMATES_SLOTS, record->key);

	if (!at->key && user->count == ESTIMATES_MAX) {
		/* Looked for once: whoever invents keys must not keep the arbiter busy. */
		user->full = user->full || !make_room(user);
		if (user->full)
			return;
		at = sluice_known_look(user->slot, ESTIMATES_SLOTS, record->key);
	}
	user->count += !at->key;
	*at = *record;
	at->reserved = user->run;
	user->dirty = true;
}

static void save(struct estimates *estimates, struct user *user)
{
	struct sluice_estimate_record *record;
	char path[PATH_MAX + 32];
	int r;

	if (!user->dirty || !path_of(estimates, user->uid, path, sizeof(path)))
		return;
	record = malloc(ESTIMATES_MAX * sizeof(*record));
	if (!record)
		return;
	r = estimates_file_write(path, user->uid, record, gather(user, record), user->run);
	free(record);
	user->dirty = false;
	if (r && !user->cannot_write)
		log_warning("%s: cannot be written (%s); what is measured now is not known to the "
			    "next arbiter",
			    path, strerror(-r));
	user->cannot_write = r;
}

static void load(struct estimates *estimates, struct user *user)
{
	struct sluice_estimate_record *record;
	char path[PATH_MAX + 32];
	uint32_t count = 0;
	int r;

	user->run = 1;
	if (!path_of(estimates, user->uid, path, sizeof(path)))
		return;
	record = malloc(ESTIMATES_MAX * sizeof(*record));
	if (!record)
		return;
	r = estimates_file_read(path, user->uid, record, ESTIMATES_MAX, &count, &user->run);
	if (!r) {
		scatter(user, record, count, 0);
		user->run++;
	} else if (r != -ENOENT) {
		log_warning("%s: ignored (%s); kernels are measured anew", path,
			    r == -EBADMSG ? "damaged, or of another version"
			    : r == -EPERM ? "others can write to it, or it is not the arbiter's"
					  : strerror(-r));
	}
	free(record);
}

/* ---- users ------------------------------------------------------------------------------------------ */

static void forget(struct estimates *estimates, struct user *user)
{
	if (user->used)
		save(estimates, user);
	free(user->slot);
	*user = (struct user){0};
}

/* The user's table, read at first use. NULL: no memory. */
static struct user *user_of(struct estimates *estimates, uid_t uid)
{
	struct user *user = &estimates->user[0];

	for (uint32_t i = 0; i < ESTIMATES_USERS; i++) {
		struct user *other = &estimates->user[i];

		if (other->used && other->uid == uid) {
			other->touched = ++estimates->touches;
			return other;
		}
		if (!other->used || (user->used && other->touched < user->touched))
			user = other;
	}
	forget(estimates, user);
	user->slot = calloc(ESTIMATES_SLOTS, sizeof(*user->slot));
	if (!user->slot)
		return NULL;
	user->used = true;
	user->uid = uid;
	user->touched = ++estimates->touches;
	load(estimates, user);
	return user;
}

/* With what is missing above it. */
static int make_folder(const char *folder)
{
	char path[PATH_MAX];
	struct stat about;

	memcpy(path, folder, strlen(folder) + 1);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	/* Of who the arbiter runs as, not of who started it. */
	if (stat(path, &about))
		return -errno;
	if (!S_ISDIR(about.st_mode))
		return -ENOTDIR;
	return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) ? -errno : 0;
}

struct estimates *estimates_create(const char *folder)
{
	struct estimates *estimates = calloc(1, sizeof(*estimates));
	int r;

	if (!estimates || !folder || !*folder || strlen(folder) >= sizeof(estimates->folder))
		return estimates;
	r = make_folder(folder);
	if (r)
		log_warning("%s: no folder to keep anything in (%s); what is measured now is not "
			    "known to the next arbiter",
			    folder, strerror(-r));
	else
		memcpy(estimates->folder, folder, strlen(folder) + 1);
	return estimates;
}

void estimates_destroy(struct estimates *estimates)
{
	if (!estimates)
		return;
	for (uint32_t i = 0; i < ESTIMATES_USERS; i++)
		forget(estimates, &estimates->user[i]);
	free(estimates);
}

void estimates_take(struct estimates *estimates, uid_t uid, const struct sluice_estimate_ring *ring,
		    uint64_t *seen)
{
	/* Pairs with the shim's release. */
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	struct user *user;

	if (!estimates || head == *seen)
		return;
	/* One that went back, or has written over what was not taken. */
	if (head - *seen > SLUICE_ESTIMATE_RECORDS)
		*seen = head > SLUICE_ESTIMATE_RECORDS ? head - SLUICE_ESTIMATE_RECORDS : 0;
	user = user_of(estimates, uid);
	for (; user && *seen != head; (*seen)++) {
		struct sluice_estimate_record record =
			ring->record[*seen % SLUICE_ESTIMATE_RECORDS];

		/* A torn one is of the user's own doing, or a wrong estimate that is measured anew. */
		if (sluice_estimate_is_sane(&record))
			put(user, &record);
	}
	*seen = head;
}

static void fill_page(const struct user *user, struct page *page, uint32_t slots)
{
	struct sluice_known *known = page->base;

	known->slots = slots;
	known->used = user->count;
	for (uint32_t i = 0; i < ESTIMATES_SLOTS; i++) {
		const struct sluice_estimate_record *record = &user->slot[i];
		struct sluice_estimate_record *at;

		if (!record->key)
			continue;
		at = sluice_known_look(known->slot, slots, record->key);
		*at = *record;
		at->reserved = 0;
	}
	known->version = SLUICE_KNOWN_VERSION;
	known->magic = SLUICE_KNOWN_MAGIC;
}

int estimates_page(struct estimates *estimates, uid_t uid, struct page *ret_page)
{
	struct user *user = estimates ? user_of(estimates, uid) : NULL;
	uint32_t slots = KNOWN_SLOTS_MIN;
	int r;

	if (!user || !user->count)
		return -ENOENT;
	while (slots < 2 * user->count)
		slots *= 2;
	r = page_create(ret_page, "sluice-known",
			sizeof(struct sluice_known) + slots * sizeof(*user->slot));
	if (r)
		return r;
	fill_page(user, ret_page, slots);
	r = page_make_reader(ret_page);
	if (!r)
		r = page_seal(ret_page);
	if (r)
		page_finish(ret_page);
	return r;
}

void estimates_run(struct estimates *estimates, uid_t uid)
{
	struct user *user = estimates ? user_of(estimates, uid) : NULL;

	if (!user)
		return;
	user->run++;
	user->full = false;
}

void estimates_tick(struct estimates *estimates, uint64_t now_ns)
{
	for (uint32_t i = 0; estimates && i < ESTIMATES_USERS; i++) {
		struct user *user = &estimates->user[i];

		if (!user->used || !user->dirty || now_ns - user->saved_ns < ESTIMATES_SAVE_NS)
			continue;
		user->saved_ns = now_ns;
		save(estimates, user);
	}
}
