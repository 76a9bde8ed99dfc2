/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SCENARIO_FORM_H
#define PLAN_SCENARIO_FORM_H

/*
 * Reading groups of a scenario by tables: each key with its kind, its bounds and where it goes.
 * All return 0, or -EINVAL with the complaint in form->err.
 */

#include <libconfig.h>
#include <stddef.h>

#include "plan/scenario.h"

struct form {
	struct scenario_error *err;
	char folder[256]; /* of the scenario: other files are named from there */
	const struct scenario_files *files;
	struct scenario *scenario;
};

enum form_kind {
	FORM_COUNT,    /* uint32_t; a whole number */
	FORM_NS,       /* uint64_t; "20 ms" */
	FORM_PERMILLE, /* uint32_t; "2.5 %" */
	FORM_GROUP,    /* read elsewhere: known, no more */
};

struct form_key {
	const char *name;
	enum form_kind kind;
	size_t offset;
	uint64_t least, most;
};

/* `at` NULL: no line. Always -EINVAL. */
__attribute__((format(printf, 3, 4))) int form_fail(struct form *form, const config_setting_t *at,
						    const char *format, ...);
/* Fills what the table (ended by name NULL) says of `group` into *into. */
int form_read(struct form *form, const config_setting_t *group, const char *what,
	      const struct form_key *keys, void *into);
int form_group(struct form *form, const config_setting_t *parent, const char *name,
	       config_setting_t **ret_group); /* NULL: it is not there */
int form_text(struct form *form, const config_setting_t *group, const char *name, bool must,
	      const char **ret_text);
int form_value(struct form *form, const config_setting_t *setting, const char *name,
	       enum plan_unit unit, uint64_t least, uint64_t most, uint64_t *ret_value);
/* A file named in the scenario: from the scenario's folder, if it is no absolute path. */
int form_path(struct form *form, const config_setting_t *setting, size_t size, char *ret_path);

/* The parts. */
int scenario_read_device(struct form *form, const config_setting_t *root);
int scenario_read_tenants(struct form *form, const config_setting_t *root);
int scenario_read_orders(struct form *form, const config_setting_t *root);

#endif
