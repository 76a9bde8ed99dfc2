/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file behind a segment. Whoever opens or closes it holds its flock meanwhile, and looks
 * afterwards whether it still has its name: a file that no live process has open is not used
 * again but replaced, so nobody ever finds half-made contents under it. No descriptor is kept,
 * since programs close what they do not know.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/segment_impl.h"

#define FILE_TRIES 100

static int fail(char *ret_error, int error, const char *path, const char *what)
{
	(void)snprintf(ret_error, SEGMENT_ERROR_MAX, "%s: %s", path, what);
	return error;
}

static int fail_errno(char *ret_error, const char *path, const char *remedy)
{
	int error = errno;

	(void)snprintf(ret_error, SEGMENT_ERROR_MAX, "%s: %s; %s", path, strerror(error), remedy);
	return -error;
}

/* 1: fd is locked and still the file of that name. 0: it was replaced meanwhile. */
static int file_lock(int fd, struct stat *ret_status)
{
	int got;

	do
		got = flock(fd, LOCK_EX);
	while (got && errno == EINTR);
	if (got || fstat(fd, ret_status))
		return -errno;
	return ret_status->st_nlink > 0;
}

/* Also unlocks where a forked child holds the description open. */
static void file_release(int fd)
{
	(void)flock(fd, LOCK_UN);
	(void)close(fd);
}

static void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	(void)pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	(void)pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	(void)pthread_mutex_init(lock, &attributes);
	(void)pthread_mutexattr_destroy(&attributes);
}

/* ---- members ---- */

static bool member_lives(const struct member *member)
{
	return member->pid && process_lives(member->pid, member->key);
}

static bool member_is_self(const struct segment *segment, const struct member *member)
{
	return member->pid == segment->pid && member->key == segment->key;
}

/* Strikes the dead off, and says who lives: 0, or the first one's pid. */
static uint32_t members_living(struct shared *shared)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < SEGMENT_MEMBERS; i++) {
		if (!member_lives(&shared->member[i]))
			shared->member[i].pid = 0;
		else if (!first)
			first = shared->member[i].pid;
	}
	return first;
}

static bool member_add(struct segment *segment, struct shared *shared)
{
	for (uint32_t i = 0; i < SEGMENT_MEMBERS; i++) {
		if (shared->member[i].pid)
			continue;
		shared->member[i].key = segment->key;
		shared->member[i].pid = segment->pid;
		return true;
	}
	return false;
}

/* ---- open ---- */

static struct shared *file_map(int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* An existing file that is in use by live processes. Returns 1 where it is in nobody's use. */
static int file_judge(struct segment *segment, const struct shared *shared, uint32_t living,
		      char *ret_error)
{
	const char *path = segment->path;
	char what[256];

	if (shared->pid_namespace != process_namespace())
		return fail(ret_error, -EXDEV, path,
			    "made by processes whose pids cannot be seen from here (another pid "
			    "namespace); use another instance name, or remove the file if they "
			    "are gone");
	if (!living)
		return 1;
	if (shared->version == SEGMENT_VERSION && shared->size == sizeof(struct shared))
		return 0;
	(void)snprintf(what, sizeof(what),
		       "in use by process %u of another version of the simulated GPU (layout %u, "
		       "here %u); stop it, or use another instance name",
		       living, shared->version, SEGMENT_VERSION);
	return fail(ret_error, -EPROTO, path, what);
}

static bool has_members(const struct shared *shared)
{
	for (uint32_t i = 0; i < SEGMENT_MEMBERS; i++)
		if (shared->member[i].pid)
			return true;
	return false;
}

/* With fd locked. 0: mapped and a member. 1: unusable, and removed. */
static int file_attach(struct segment *segment, int fd, const struct stat *status, char *ret_error)
{
	size_t head = offsetof(struct shared, lock);
	struct shared *shared;
	int got = 1;

	if (status->st_uid != geteuid() || !S_ISREG(status->st_mode))
		return fail(ret_error, -EPERM, segment->path,
			    "belongs to another user or is no plain file; remove it");
	if ((uint64_t)status->st_size >= head) {
		shared = file_map(fd, head);
		if (!shared)
			return fail_errno(ret_error, segment->path, "cannot map it");
		if (shared->magic == SEGMENT_MAGIC && has_members(shared))
			got = file_judge(segment, shared,
					 shared->pid_namespace == process_namespace()
						 ? members_living(shared)
						 : 0,
					 ret_error);
		(void)munmap(shared, head);
	}
	if (got == 1)
		(void)unlink(segment->path);
	if (got)
		return got;
	segment->shared = file_map(fd, sizeof(struct shared));
	if (!segment->shared)
		return fail_errno(ret_error, segment->path, "cannot map it");
	if (member_add(segment, segment->shared))
		return 0;
	(void)munmap(segment->shared, sizeof(struct shared));
	return fail(ret_error, -EAGAIN, segment->path,
		    "256 processes have it open already; stop some, or use another instance name");
}

/* With fd locked and the file new and empty. */
static int file_init(struct segment *segment, int fd, const struct model_desc *desc)
{
	struct shared *shared;
	int error = posix_fallocate(fd, 0, sizeof(struct shared));

	if (error)
		return -error;
	shared = file_map(fd, sizeof(*shared));
	if (!shared)
		return -errno;
	shared->version = SEGMENT_VERSION;
	shared->size = sizeof(*shared);
	shared->pid_namespace = process_namespace();
	lock_init(&shared->lock);
	model_init(&shared->model, desc, 0);
	(void)member_add(segment, shared);
	model_commit();
	shared->magic = SEGMENT_MAGIC;
	segment->shared = shared;
	return 0;
}

/* 0: open. 1: try again from the start. -ENOENT: not there. */
static int try_existing(struct segment *segment, char *ret_error)
{
	int fd = open(segment->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), got;
	struct stat status;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? -ENOENT
			       : fail_errno(ret_error, segment->path, "remove it");
	got = file_lock(fd, &status);
	if (got < 0)
		got = fail_errno(ret_error, segment->path, "cannot lock it");
	else if (!got)
		got = 1;
	else
		got = file_attach(segment, fd, &status, ret_error);
	segment->inode = status.st_ino;
	file_release(fd);
	return got;
}

static int try_create(struct segment *segment, const struct model_desc *desc, char *ret_error)
{
	int fd, got;
	struct stat status;

	fd = open(segment->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errno == EEXIST ? 1
				       : fail_errno(ret_error, segment->path,
						    "cannot make the device's file");
	got = file_lock(fd, &status);
	if (got == 1) {
		got = file_init(segment, fd, desc);
		segment->inode = status.st_ino;
		if (got) {
			(void)unlink(segment->path);
			errno = -got;
			got = fail_errno(ret_error, segment->path,
					 "free some space there, or set TMPDIR");
		}
	} else if (!got) {
		got = 1;
	}
	file_release(fd);
	return got;
}

static void set_path(struct segment *segment, const char *dir, const char *name)
{
	(void)snprintf(segment->path, sizeof(segment->path), "%s/%s", dir, name);
}

static int try_open(struct segment *segment, const char *const *dirs, const char *name,
		    const struct model_desc *desc, char *ret_error)
{
	int got = -ENOENT;

	for (const char *const *dir = dirs; *dir; dir++) {
		set_path(segment, *dir, name);
		got = try_existing(segment, ret_error);
		if (got != -ENOENT)
			return got;
	}
	for (const char *const *dir = dirs; *dir; dir++) {
		set_path(segment, *dir, name);
		got = try_create(segment, desc, ret_error);
		if (got >= 0)
			return got;
	}
	return got;
}

int segment_file_open(struct segment *segment, const char *const *dirs, const char *name,
		      const struct model_desc *desc, char *ret_error)
{
	for (int i = 0; i < FILE_TRIES; i++) {
		int got = try_open(segment, dirs, name, desc, ret_error);

		if (got <= 0)
			return got;
	}
	return fail(ret_error, -EAGAIN, segment->path,
		    "made and removed by others all the time; use another instance name");
}

void segment_file_leave(struct segment *segment)
{
	struct shared *shared = segment->shared;
	int fd = open(segment->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat status = {0};

	/* Where the file is gone or replaced, nobody will look for members in ours. */
	if (fd >= 0) {
		if (file_lock(fd, &status) == 1 && status.st_ino == segment->inode) {
			for (uint32_t i = 0; i < SEGMENT_MEMBERS; i++)
				if (member_is_self(segment, &shared->member[i])) {
					shared->member[i].pid = 0;
					break;
				}
			if (!members_living(shared))
				(void)unlink(segment->path);
		}
		file_release(fd);
	}
}

void segment_file_close(struct segment *segment)
{
	segment_file_leave(segment);
	(void)munmap(segment->shared, sizeof(*segment->shared));
}
