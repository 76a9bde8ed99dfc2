/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DAEMON_ROWS_H
#define TESTS_DAEMON_ROWS_H

/* What the arbiter of daemon_fixture.h answers to a tool's STATUS. */

#include "daemon_fixture.h"

struct rows {
	uint32_t devices, tenants, processes, notes, pairs;
	struct sluice_msg_status_device device;
	struct sluice_msg_status_tenant tenant[8];
	struct sluice_msg_status_process process[8];
	char note[16][SLUICE_TEXT_MAX];
};

static inline void status(int fd, struct rows *rows)
{
	struct sluice_msg_header ask;
	struct sluice_packet packet;
	struct sluice_msg_text note;

	memset(rows, 0, sizeof(*rows));
	fixture_send(fd, &ask, SLUICE_MSG_STATUS, sizeof(ask), 11);
	for (;;) {
		uint32_t type = fixture_receive(fd, &packet);

		ck_assert_uint_eq(packet.header.seq, 11);
		switch (type) {
		case SLUICE_MSG_STATUS_DEVICE:
			rows->devices++;
			sluice_wire_copy(&packet, &rows->device, sizeof(rows->device));
			break;
		case SLUICE_MSG_STATUS_TENANT:
			ck_assert_uint_lt(rows->tenants, 8);
			sluice_wire_copy(&packet, &rows->tenant[rows->tenants++],
					 sizeof(rows->tenant[0]));
			break;
		case SLUICE_MSG_STATUS_PROCESS:
			ck_assert_uint_lt(rows->processes, 8);
			sluice_wire_copy(&packet, &rows->process[rows->processes++],
					 sizeof(rows->process[0]));
			break;
		case SLUICE_MSG_STATUS_NOTE:
			ck_assert_uint_lt(rows->notes, 16);
			sluice_wire_copy(&packet, &note, sizeof(note));
			memcpy(rows->note[rows->notes++], note.text, SLUICE_TEXT_MAX);
			break;
		case SLUICE_MSG_STATUS_PAIR: rows->pairs++; break;
		case SLUICE_MSG_STATUS_END: return;
		default: ck_abort_msg("unexpected message %u", type);
		}
	}
}

static inline const struct sluice_msg_status_tenant *row_of(const struct rows *rows,
							    const char *name)
{
	for (uint32_t i = 0; i < rows->tenants; i++) {
		if (!strcmp(rows->tenant[i].name, name))
			return &rows->tenant[i];
	}
	ck_abort_msg("no row of tenant %s", name);
}

static inline bool has_note(const struct rows *rows, const char *part)
{
	for (uint32_t i = 0; i < rows->notes; i++) {
		if (strstr(rows->note[i], part))
			return true;
	}
	return false;
}

#endif
