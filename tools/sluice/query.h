/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_QUERY_H
#define SLUICE_QUERY_H

/*
 * A tool's connection to the arbiter (wire.h). Every call waits QUERY_DEADLINE_NS at most and
 * returns 0 or -errno with one sentence in ret_why that says what to do. Single thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "sluice/clock.h"
#include "sluice/wire.h"

#define QUERY_DEADLINE_NS (5 * SLUICE_NS_PER_S)
#define QUERY_WHY_MAX 1024

struct query {
	int fd;
	char socket[4096];
	struct sluice_msg_tool_ok arbiter;
};

/* socket_path NULL: as paths_socket() finds it. */
int query_open(struct query *query, const char *socket_path, char *ret_why);
void query_close(struct query *query);

/* Sends SET, PAUSE, RESUME, RELOAD or ASK_TENANT and waits for the answer. -EACCES, -EINVAL, ...:
 * the arbiter refused, in its own words. ret_remark (SLUICE_TEXT_MAX) may be NULL. */
int query_ask(struct query *query, uint32_t type, const char *tenant, const char *key,
	      const char *value, char *ret_remark, char *ret_why);

/* All rows of one STATUS. status_finish takes a zeroed or half-filled one. */
struct status {
	struct sluice_msg_status_device *device;
	struct sluice_msg_status_tenant *tenant;
	struct sluice_msg_status_process *process;
	struct sluice_msg_text *note;
	struct sluice_msg_status_pair *pair;
	size_t devices, tenants, processes, notes, pairs;
};

/* All rows of one WHY. late_finish takes a zeroed or half-filled one. */
struct late {
	struct sluice_msg_why_request *request;
	struct sluice_msg_why_cause *cause;
	struct sluice_msg_why_end end;
	size_t requests, causes;
};

int query_why(struct query *query, const char *tenant, const char *minutes, struct late *ret_late,
	      char *ret_why);
void late_finish(struct late *late);

int query_status(struct query *query, struct status *ret_status, char *ret_why);
void status_finish(struct status *status);

/* One question to a recorded process, RECORD; `take` gets what has been noted since the last. */
int query_trace(struct query *query, const char *tenant, struct sluice_msg_record *question,
		int (*take)(void *context, const struct sluice_msg_trace *trace), void *context,
		struct sluice_msg_trace_end *ret_end, char *ret_why);

#endif
