/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

/*
 * The configuration: one file of libconfig syntax, read whole, checked whole, then put in force.
 * One table of keys (config_keys.c) drives parsing, ranges, --print-config, `sluice set` and the
 * manual page's list. Every error names file, line and remedy; the first one ends the reading.
 * A struct config is plain data: copied by assignment, owned by the caller.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "sluice/wire.h"

#define CONFIG_MAX_TENANTS 255
#define CONFIG_PATH_MAX 512
#define CONFIG_GLOB_MAX 256
#define CONFIG_TENANT_KEYS 18
#define CONFIG_NO_ID ((uint32_t)-1)
#define CONFIG_LEVEL_AUTO INT32_MIN
#define CONFIG_SYSTEM_FILE "/etc/sluice/sluice.conf"

struct config_error {
	char file[CONFIG_PATH_MAX];
	unsigned int line; /* 0: of the file as a whole */
	char message[SLUICE_TEXT_MAX];
};

#define CONFIG_ERROR_TEXT_MAX (CONFIG_PATH_MAX + SLUICE_TEXT_MAX + 16)

struct config_match {
	uint32_t uid, gid; /* CONFIG_NO_ID: not looked at */
	char cgroup[CONFIG_GLOB_MAX];
	char program[SLUICE_NAME_MAX];
};

struct config_target {
	uint64_t p99_ns;	/* 0: none, or relative */
	uint32_t over_permille; /* relative to alone */
	char of[SLUICE_NAME_MAX];
};

struct config_tenant {
	char name[SLUICE_NAME_MAX];
	uint32_t tenant_class; /* enum sluice_class */
	bool managed;
	bool changed; /* by `sluice set`, since the file was read */
	struct config_match match;
	struct config_target target;
	uint32_t weight, gpu_max_permille, gpu_min_permille;
	uint64_t gpu_period_ns;
	uint64_t memory_max_bytes; /* UINT64_MAX: no quota */
	uint64_t memory_min_bytes;
	unsigned int line;
	unsigned int key_line[CONFIG_TENANT_KEYS]; /* where the file sets it; 0: it does not */
};

enum config_pairs { CONFIG_PAIRS_ALWAYS, CONFIG_PAIRS_PROGRESS, CONFIG_PAIRS_COMPLETION };

enum config_policy { CONFIG_POLICY_AUTO, CONFIG_POLICY_SHARE, CONFIG_POLICY_SLO };

struct config {
	char file[CONFIG_PATH_MAX]; /* empty: there is none, all is default */
	uint32_t policy;	    /* enum config_policy */
	uint32_t pairs;		    /* enum config_pairs */
	uint32_t fail;		    /* enum sluice_fail_mode */
	uint64_t fail_deadline_ns, memory_deadline_ns;
	uint64_t progress_ns, lease_ns;
	int32_t level;	    /* thousandths; CONFIG_LEVEL_AUTO: the controller's */
	uint32_t admin_gid; /* CONFIG_NO_ID: none */
	uint32_t connections;
	uint32_t tenants;
	struct config_tenant tenant[CONFIG_MAX_TENANTS + 1]; /* [0] is the default tenant */
};

/* All defaults. */
void config_defaults(struct config *config);
/* Reads and checks. device_bytes: memory of the smallest known device, 0: unknown. 0, or -EINVAL
 * with *reterr filled in. */
int config_load(struct config *config, const char *path, uint64_t device_bytes,
		struct config_error *reterr);
/* The rules between keys. */
int config_check(const struct config *config, uint64_t device_bytes, struct config_error *reterr);

/* What is in order and yet has no effect: the at-th such, from 0. false: there are no more. */
bool config_warning(const struct config *config, uint32_t at, struct config_error *ret_warning);
/* Asks for work beside requests, which needs what this version has not. */
bool config_level_is_capped(const struct config *config);

/* `sluice set`: changes one key of one tenant, then checks. *config is changed only on success. */
int config_set(struct config *config, const char *tenant, const char *key, const char *value,
	       uint64_t device_bytes, struct config_error *reterr);

const struct config_tenant *config_find(const struct config *config, const char *name);
/* The policy that the configuration asks for, by name. */
const char *config_policy_name(const struct config *config);
bool config_has_match(const struct config_tenant *tenant);

/* "/etc/sluice/sluice.conf: 3 tenants, policy slo" */
void config_summary(const struct config *config, char *ret_text, size_t size);
void config_print(const struct config *config, FILE *out);
/* The list of keys in the manual page's own language. */
void config_print_manual(FILE *out);

/* FILE:LINE: message, or FILE: message. */
void config_describe(const struct config_error *error, char *ret_text, size_t room);
void config_fail(struct config_error *error, const char *file, unsigned int line,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
