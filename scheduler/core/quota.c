/* SPDX-License-Identifier: Apache-2.0 */
#include "quota.h"

#include <assert.h>
#include <errno.h>

#include "sluice/pages.h"

#define CHUNK_UNITS (64u << 20 >> 9) /* with siblings: no more at a time, 64 MiB */

static uint64_t quota_limit_units(const struct tenant *tenant)
{
	return tenant->set.memory_max_bytes == CORE_NO_LIMIT
		       ? CORE_NO_LIMIT
		       : tenant->set.memory_max_bytes / SLUICE_ESCROW_UNIT;
}

static uint64_t quota_out_units(const struct share *share)
{
	return share->granted_units + share->reclaiming_units;
}

static uint64_t quota_above(uint64_t taken, uint64_t limit)
{
	return taken > limit ? taken - limit : 0;
}

static uint64_t quota_promised_units(const struct tenant *tenant)
{
	return tenant->set.memory_min_bytes / SLUICE_ESCROW_UNIT;
}

/*
 * What the device must hold when every other tenant has its memory.min, in units. False where
 * nobody else is promised anything: then the driver is the judge.
 */
static bool quota_taken_units(const struct engine *engine, const struct device *device,
			      const struct tenant *tenant, uint64_t *ret_taken)
{
	uint64_t taken = quota_out_units(&tenant->on[device->index]);
	bool promised = false;

	for (uint32_t t = 0; t < engine->tenants; t++) {
		const struct tenant *other = engine->tenant[t];
		uint64_t min;

		if (!other || other == tenant)
			continue;
		min = quota_promised_units(other);
		promised |= min > 0;
		taken += min + quota_above(quota_out_units(&other->on[device->index]), min);
	}
	*ret_taken = taken;
	return promised;
}

/* What is left of its own promise: that stands, whatever the others say they hold. */
static uint64_t quota_own_units(const struct device *device, const struct tenant *tenant)
{
	return quota_above(quota_promised_units(tenant),
			   quota_out_units(&tenant->on[device->index]));
}

/* How much is missing, of the tenant's limit and of the device, for `need` more. */
static void quota_missing(const struct engine *engine, const struct device *device,
			  const struct tenant *tenant, uint64_t need, uint64_t *ret_pool,
			  uint64_t *ret_room)
{
	uint64_t out = quota_out_units(&tenant->on[device->index]), taken;

	*ret_pool = quota_above(out + need, quota_limit_units(tenant));
	*ret_room = 0;
	if (quota_taken_units(engine, device, tenant, &taken) &&
	    need > quota_own_units(device, tenant))
		*ret_room =
			quota_above(taken + need, device->record.memory_bytes / SLUICE_ESCROW_UNIT);
}

/* What may be granted now; CORE_NO_LIMIT: nothing limits it. */
static uint64_t quota_free_units(const struct engine *engine, const struct device *device,
				 const struct tenant *tenant)
{
	uint64_t limit = quota_limit_units(tenant), free = CORE_NO_LIMIT, room, taken;

	if (limit != CORE_NO_LIMIT)
		free = quota_above(limit, quota_out_units(&tenant->on[device->index]));
	if (!quota_taken_units(engine, device, tenant, &taken))
		return free;
	room = quota_above(device->record.memory_bytes / SLUICE_ESCROW_UNIT, taken);
	if (room < quota_own_units(device, tenant))
		room = quota_own_units(device, tenant);
	return room < free ? room : free;
}

static void quota_grant(struct engine *engine, struct gate *gate, uint64_t units)
{
	struct action action = {.kind = ACTION_MEM_GRANT,
				.process = gate->process->index,
				.device = gate->device->index};

	assert(units <= UINT32_MAX - gate->granted_units);
	gate->granted_units += (uint32_t)units;
	gate->share->granted_units += units;
	action.units = (uint32_t)units;
	engine_emit(engine, &action);
}

/*
 * What to give when `need` is asked and `free` is there: some more than that, so that few ask often;
 * a lone process a quarter of what is left. Not all of it: unused credit of a process that is
 * stopped or idle over a restart of the arbiter cannot be taken back.
 */
static uint64_t quota_amount(const struct gate *gate, uint64_t need, uint64_t free)
{
	uint64_t amount, most = UINT32_MAX - gate->granted_units;

	if (free == CORE_NO_LIMIT)
		free = gate->device->record.memory_bytes / SLUICE_ESCROW_UNIT;
	amount = free / 4;
	if (gate->share->gates > 1 && amount > CHUNK_UNITS)
		amount = CHUNK_UNITS;
	if (amount < need)
		amount = need;
	return amount < most ? amount : most;
}

static void quota_refuse(struct engine *engine, struct gate *gate, int32_t status)
{
	struct action action = {.kind = ACTION_MEM_REFUSE,
				.process = gate->process->index,
				.device = gate->device->index};

	action.status = status;
	engine_emit(engine, &action);
}

/* How much of what is missing the gate may have: a pool is filled by its own tenant's credit
 * alone, the device by anyone's above what that tenant is promised. */
static uint64_t quota_may_take(const struct quota_round *round, const struct gate *gate,
			       uint64_t pool, uint64_t room)
{
	const struct tenant *tenant = gate->process->tenant;
	uint64_t out = quota_out_units(gate->share), spare;

	if (gate == round->asker || !gate->granted_units)
		return 0;
	if (tenant == round->tenant)
		return pool > room ? pool : room;
	if (!round->own_asked)
		return 0;
	spare = quota_above(out, quota_promised_units(tenant));
	return spare < room ? spare : room;
}

/* Asks the next process that may help, its own tenant's first; false: none is left, or nothing is
 * missing any more. */
static bool quota_ask_next(struct engine *engine, struct device *device)
{
	struct quota_round *round = &device->quota;
	uint64_t pool, room;

	quota_missing(engine, device, round->tenant, round->units, &pool, &room);
	/* A lowered limit takes from its own tenant alone. */
	if (!round->asker)
		room = 0;
	while (pool || room) {
		struct action action = {.kind = ACTION_MEM_TAKE_BACK, .device = device->index};
		struct gate *gate;
		uint64_t units;

		if (round->cursor == device->gates) {
			if (round->own_asked || pool)
				return false;
			round->own_asked = true;
			round->cursor = 0;
		}
		gate = device->gate[round->cursor++];
		if (round->own_asked == (gate->process->tenant == round->tenant))
			continue;
		units = quota_may_take(round, gate, pool, room);
		if (!units)
			continue;
		round->asked = gate;
		action.process = gate->process->index;
		action.units = units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
		engine_emit(engine, &action);
		return true;
	}
	return false;
}

static void quota_finish(struct engine *engine, struct device *device)
{
	struct quota_round *round = &device->quota;
	struct gate *gate = round->asker;
	uint64_t need = round->units, free;

	round->busy = false;
	if (!gate)
		return;
	free = quota_free_units(engine, device, gate->process->tenant);
	if (need <= free && need <= UINT32_MAX - gate->granted_units)
		quota_grant(engine, gate, quota_amount(gate, need, free));
	else if (free + gate->share->reclaiming_units >= need)
		quota_refuse(engine, gate, -EAGAIN);
	else
		quota_refuse(engine, gate, -ENOMEM);
}

static void quota_start(struct engine *engine, struct device *device, struct gate *asker,
			struct tenant *tenant, uint32_t units)
{
	device->quota = (struct quota_round){
		.busy = true, .asker = asker, .tenant = tenant, .units = units};
	if (!quota_ask_next(engine, device))
		quota_finish(engine, device);
}

void quota_attach(struct engine *engine, struct gate *gate, uint32_t held_units)
{
	uint64_t free, amount = 0;

	/* Held bytes are there whatever the limit says. */
	gate->granted_units = held_units;
	gate->share->granted_units += held_units;
	free = quota_free_units(engine, gate->device, gate->process->tenant);
	if (free)
		amount = quota_amount(gate, 0, free);
	if (amount)
		quota_grant(engine, gate, amount);
}

int quota_request(struct engine *engine, struct gate *gate, uint32_t units)
{
	if (gate->device->quota.busy)
		return -EINVAL;
	quota_start(engine, gate->device, gate, gate->process->tenant, units);
	return 0;
}

int quota_taken(struct engine *engine, struct gate *gate, uint32_t units)
{
	struct quota_round *round = &gate->device->quota;

	if (!round->busy || round->asked != gate || units > gate->granted_units)
		return -EINVAL;
	round->asked = NULL;
	gate->granted_units -= units;
	gate->share->granted_units -= units;
	if (!quota_ask_next(engine, gate->device))
		quota_finish(engine, gate->device);
	return 0;
}

void quota_limit_changed(struct engine *engine, struct device *device, struct tenant *tenant)
{
	if (!device->quota.busy && tenant->on[device->index].granted_units)
		quota_start(engine, device, NULL, tenant, 0);
}

void quota_tick(struct engine *engine, struct device *device)
{
	/* One round at a time: each tick begins with the tenant after the last one's. */
	for (uint32_t i = 0; i < engine->tenants && !device->quota.busy; i++) {
		uint32_t t = (device->quota_tenant + 1) % engine->tenants;
		struct tenant *tenant = engine->tenant[t];

		device->quota_tenant = t;
		if (tenant &&
		    quota_out_units(&tenant->on[device->index]) > quota_limit_units(tenant))
			quota_limit_changed(engine, device, tenant);
	}
}

void quota_leave(struct gate *gate, bool reclaim)
{
	struct quota_round *round = &gate->device->quota;

	gate->share->granted_units -= gate->granted_units;
	if (reclaim)
		gate->share->reclaiming_units += gate->granted_units;
	gate->granted_units = 0;
	if (round->busy && (round->asker == gate || round->asked == gate))
		round->busy = false;
}

void quota_held(struct share *share, uint32_t units)
{
	share->reclaiming_units += units;
}

void quota_reclaimed(struct share *share, uint32_t units)
{
	share->reclaiming_units -=
		units < share->reclaiming_units ? units : share->reclaiming_units;
}
