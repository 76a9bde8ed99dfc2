/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CONFIG_KEYS_H
#define DAEMON_CONFIG_KEYS_H

/*
 * The table of keys, and values to and from text by their type. Everything that knows a key's
 * name knows it from here.
 */

#include <stddef.h>

#include "daemon/config.h"

enum key_type {
	KEY_INTEGER, /* uint32_t */
	KEY_PERCENT, /* uint32_t, permille */
	KEY_TIME,    /* uint64_t, ns */
	KEY_SIZE,    /* uint64_t, bytes; "none": UINT64_MAX */
	KEY_CHOICE,  /* uint32_t, index into `choices` */
	KEY_BOOLEAN, /* bool */
	KEY_TEXT,    /* char[room] */
	KEY_USER,    /* uint32_t: name or number */
	KEY_GROUP,   /* uint32_t: name or number */
	KEY_TARGET,  /* struct config_target: absolute or relative time */
	KEY_LEVEL,   /* int32_t, thousandths, -1 to 5; "auto": CONFIG_LEVEL_AUTO */
};

#define KEY_SETTABLE (1u << 0)	 /* by `sluice set` */
#define KEY_NAMED_ONLY (1u << 1) /* not in `default` */

struct config_key {
	const char *path;
	enum key_type type;
	unsigned int flags;
	size_t offset;
	size_t room;	      /* KEY_TEXT */
	uint64_t least, most; /* KEY_INTEGER, KEY_PERCENT (permille), KEY_TIME, KEY_SIZE */
	const char *const *choices;
	const char *standard; /* as text; NULL: empty, unset */
	const char *help;
};

extern const struct config_key config_arbiter_keys[];
extern const unsigned int config_arbiter_key_count;
extern const struct config_key config_tenant_keys[];
extern const unsigned int config_tenant_key_count;

const struct config_key *config_find_key(const struct config_key *keys, unsigned int count,
					 const char *path);
/* The key that a misspelt path most likely means; NULL: none is near. */
const struct config_key *config_nearest_key(const struct config_key *keys, unsigned int count,
					    const char *path);

/* Stores `text` at base + offset. 0, or -EINVAL and why in *ret_why (with the remedy). */
int config_key_parse(const struct config_key *key, void *base, const char *text, char *ret_why,
		     size_t why_room);
/* The value as the file would say it, quotes and all. false: unset, leave it out. */
bool config_key_format(const struct config_key *key, const void *base, char *ret_text, size_t room);

/* Puts every key's standard value in place. */
void config_key_defaults(const struct config_key *keys, unsigned int count, void *base);

#endif
