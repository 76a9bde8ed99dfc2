/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_UNITS_H
#define SHIM_UNITS_H

/*
 * The names of launch units: noted when a unit is first met, since its handle may be gone when
 * somebody asks; shown to the arbiter when a record names the unit. Any thread.
 */

#include <stdint.h>

#include "sample.h"
#include "sluice/unit.h"

void units_note(uint64_t key, struct sample_what what);

/* Puts the key's name into the page, if it is known and not there. */
void units_show(struct sluice_unit *page, uint64_t key);

void units_forked(void);

#endif
