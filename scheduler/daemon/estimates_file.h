/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ESTIMATES_FILE_H
#define DAEMON_ESTIMATES_FILE_H

/*
 * The file of one user's estimates: a header with a checksum over all of it, then the records. Of
 * this project and this kind of machine: host byte order. Read only if it is a plain file of ours
 * that nobody else can write; written beside and renamed.
 */

#include <stdint.h>
#include <sys/types.h>

#include "sluice/estimate.h"

/* 0: *ret_count records, at most `room`, and the run that wrote them. -ENOENT: there is none; or
 * -errno, -EBADMSG for what is damaged, foreign or of another version. */
int estimates_file_read(const char *path, uid_t uid, struct sluice_estimate_record *ret_record,
			uint32_t room, uint32_t *ret_count, uint64_t *ret_run);

int estimates_file_write(const char *path, uid_t uid, const struct sluice_estimate_record *record,
			 uint32_t count, uint64_t run);

#endif
