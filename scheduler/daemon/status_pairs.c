/* SPDX-License-Identifier: Apache-2.0 */
/* Who slows whom, as `sluice status --pairs` shows it. */

#include "daemon/connection.h"
#include "daemon/status.h"

_Static_assert((int)PAIR_SHARE == (int)SLUICE_PAIR_SHARE && (int)PAIR_WAIT == (int)SLUICE_PAIR_WAIT,
	       "the core's verdicts are the wire's");

static int status_pair(struct connection *connection, uint32_t tenant, uint32_t partner,
		       uint32_t device, uint32_t seq)
{
	const struct arbiter *arbiter = connection->arbiter;
	struct sluice_msg_status_pair row = {.device = device};
	struct engine_pair pair;

	if (!engine_pair_report(arbiter->engine, tenant, partner, device, &pair))
		return 0;
	row.slowdown_permille = pair.slowdown_permille;
	row.samples = pair.samples;
	row.verdict = pair.verdict;
	row.turns = pair.turns;
	sluice_wire_text(row.tenant, sizeof(row.tenant), arbiter->tenant[tenant].conf.name);
	sluice_wire_text(row.partner, sizeof(row.partner), arbiter->tenant[partner].conf.name);
	sluice_wire_head(&row, SLUICE_MSG_STATUS_PAIR, sizeof(row), seq, 0);
	return connection_send(connection, &row);
}

int status_pairs(struct connection *connection, bool all, uint32_t device, uint32_t seq)
{
	const struct arbiter *arbiter = connection->arbiter;
	uint32_t shown[CORE_MAX_TENANTS], count = 0;
	int r = 0;

	for (uint32_t t = 0; t < CORE_MAX_TENANTS; t++) {
		if (arbiter->tenant[t].used &&
		    status_shows_tenant(connection, all, &arbiter->tenant[t]))
			shown[count++] = t;
	}
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; !r && j < count; j++) {
			if (i != j)
				r = status_pair(connection, shown[i], shown[j], device, seq);
		}
	}
	return r;
}
