/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_LEDGER_H
#define DAEMON_LEDGER_H

/*
 * What memory is granted to whom, in a file beside the socket that a killed arbiter leaves behind:
 * the next one must not grant it again before its holder has come back or died. The file is mapped
 * and never synced: it has to outlive the arbiter, not the machine. A grant is written before its
 * holder can use it, a take-back after. Units of SLUICE_ESCROW_UNIT. One thread, one arbiter a file.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/pages.h"
#include "sluice/wire.h"

#define LEDGER_SUFFIX ".ledger"
#define LEDGER_ENTRIES 2048u /* processes of this arbiter, and those of earlier ones */

struct ledger_account {
	uint32_t used; /* the process has registered the GPU */
	uint32_t units;
	uint8_t uuid[16];
};

struct ledger_entry {
	uint32_t used;
	int32_t pid;
	uint32_t uid;
	uint32_t reserved;
	uint64_t start_ns; /* of the process, since boot: a number used again is another process */
	char tenant[SLUICE_NAME_MAX];
	struct ledger_account account[SLUICE_MAX_DEVICES]; /* by the pages' index */
};

struct ledger_file;

struct ledger {
	struct ledger_file *file; /* NULL: there is none, and nothing is kept */
	char path[512];
	uint32_t next; /* where to look for a free entry first */
};

/* Opens or makes the file. A file that is not ours, or not of this boot, is made anew. 0 or -errno. */
int ledger_open(struct ledger *ledger, const char *socket_path);
/* Removes the file if nothing is in it. */
void ledger_close(struct ledger *ledger);

/* A fresh entry; NULL: no file, or no room. What is noted in NULL is not kept. */
struct ledger_entry *ledger_take(struct ledger *ledger, pid_t pid, uid_t uid, const char *tenant);
void ledger_drop(struct ledger_entry *entry);
void ledger_note(struct ledger_entry *entry, uint32_t local, const uint8_t *uuid, uint32_t units);

/* Walks the entries in use, from *at = 0 on. NULL: no more. Those of dead processes, and those that
 * make no sense, are dropped on the way. */
struct ledger_entry *ledger_next(struct ledger *ledger, uint32_t *at);

#endif
