/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/identity.h"
#include "sluice/wire_io.h"

#define LEDGER_MAGIC 0x646c7553u /* "Suld" */
#define LEDGER_VERSION 1u
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

struct ledger_file {
	uint32_t magic, version;
	char boot[40];
	struct ledger_entry entry[LEDGER_ENTRIES];
};

/* The boot's own number: a file on a disk may be older. */
static void read_boot(char *ret_boot, size_t size)
{
	int fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, ret_boot, size - 1);

	ret_boot[got > 0 ? got : 0] = 0;
	ret_boot[strcspn(ret_boot, "\n")] = 0;
	if (fd >= 0)
		close(fd);
}

/* Whoever else could write to it could say who holds what. */
static bool is_ours(int fd)
{
	struct stat about;

	return !fstat(fd, &about) && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
	       !(about.st_mode & 077) && about.st_nlink == 1;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0 && is_ours(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	if (unlink(path) && errno != ENOENT)
		return -errno;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

/* All of its blocks are there from the start: a full file system must not kill the arbiter later. */
static struct ledger_file *map_file(int fd, int *ret_error)
{
	struct ledger_file *file;

	*ret_error = posix_fallocate(fd, 0, sizeof(*file));
	if (*ret_error)
		return NULL;
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file != MAP_FAILED)
		return file;
	*ret_error = errno;
	return NULL;
}

int ledger_open(struct ledger *ledger, const char *socket_path)
{
	char boot[sizeof(ledger->file->boot)];
	int fd, error = 0;

	*ledger = (struct ledger){0};
	if (strlen(socket_path) + sizeof(LEDGER_SUFFIX) > sizeof(ledger->path))
		return -ENAMETOOLONG;
	snprintf(ledger->path, sizeof(ledger->path), "%s" LEDGER_SUFFIX, socket_path);
	fd = open_file(ledger->path);
	if (fd < 0)
		return fd;
	ledger->file = map_file(fd, &error);
	close(fd);
	if (!ledger->file)
		return -error;
	read_boot(boot, sizeof(boot));
	if (ledger->file->magic == LEDGER_MAGIC && ledger->file->version == LEDGER_VERSION &&
	    !strncmp(ledger->file->boot, boot, sizeof(boot)))
		return 0;
	memset(ledger->file, 0, sizeof(*ledger->file));
	memcpy(ledger->file->boot, boot, sizeof(boot));
	ledger->file->version = LEDGER_VERSION;
	ledger->file->magic = LEDGER_MAGIC;
	return 0;
}

void ledger_close(struct ledger *ledger)
{
	uint32_t at = 0;

	if (!ledger->file)
		return;
	if (!ledger_next(ledger, &at))
		(void)unlink(ledger->path);
	munmap(ledger->file, sizeof(*ledger->file));
	ledger->file = NULL;
}

/* A kill may come between any two stores: the compiler keeps their order. */
static void publish(uint32_t *field, uint32_t value)
{
	__atomic_store_n(field, value, __ATOMIC_SEQ_CST);
}

struct ledger_entry *ledger_take(struct ledger *ledger, pid_t pid, uid_t uid, const char *tenant)
{
	for (uint32_t i = 0; ledger->file && i < LEDGER_ENTRIES; i++) {
		uint32_t index = (ledger->next + i) % LEDGER_ENTRIES;
		struct ledger_entry *entry = &ledger->file->entry[index];

		if (entry->used)
			continue;
		memset(entry, 0, sizeof(*entry));
		entry->pid = pid;
		entry->uid = uid;
		entry->start_ns = identity_start_ns(pid);
		sluice_wire_text(entry->tenant, sizeof(entry->tenant), tenant);
		publish(&entry->used, 1);
		ledger->next = index + 1;
		return entry;
	}
	return NULL;
}

void ledger_drop(struct ledger_entry *entry)
{
	if (entry)
		publish(&entry->used, 0);
}

void ledger_note(struct ledger_entry *entry, uint32_t local, const uint8_t *uuid, uint32_t units)
{
	struct ledger_account *account;

	if (!entry)
		return;
	account = &entry->account[local];
	if (!account->used)
		memcpy(account->uuid, uuid, sizeof(account->uuid));
	publish(&account->units, units);
	publish(&account->used, 1);
}

static bool entry_stands(const struct ledger_entry *entry)
{
	return entry->pid > 0 && sluice_wire_is_text(entry->tenant, sizeof(entry->tenant)) &&
	       entry->start_ns && entry->start_ns == identity_start_ns(entry->pid);
}

struct ledger_entry *ledger_next(struct ledger *ledger, uint32_t *at)
{
	while (ledger->file && *at < LEDGER_ENTRIES) {
		struct ledger_entry *entry = &ledger->file->entry[(*at)++];

		if (!entry->used)
			continue;
		if (entry_stands(entry))
			return entry;
		ledger_drop(entry);
	}
	return NULL;
}
