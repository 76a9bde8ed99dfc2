/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

#include <string.h>

#include "launch.h"

static struct futex_lock lock;
static struct sluice_unit units[SLUICE_UNITS];

void units_note(uint64_t key, struct sample_what what)
{
	struct sluice_unit *unit;

	futex_lock(&lock);
	unit = sluice_unit_look(units, key);
	if (unit && !unit->key) {
		launch_name(what, unit->name, sizeof(unit->name));
		atomic_store_explicit(&unit->key, key, memory_order_release);
	}
	futex_unlock(&lock);
}

void units_show(struct sluice_unit *page, uint64_t key)
{
	struct sluice_unit *unit, *shown;

	futex_lock(&lock);
	unit = sluice_unit_look(units, key);
	shown = sluice_unit_look(page, key);
	if (unit && unit->key && shown && !shown->key) {
		memcpy(shown->name, unit->name, sizeof(shown->name));
		/* Pairs with the arbiter's acquire: the name is there by then. */
		atomic_store_explicit(&shown->key, key, memory_order_release);
	}
	futex_unlock(&lock);
}

void units_forked(void)
{
	lock = (struct futex_lock){0};
}
