/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_MATCH_H
#define DAEMON_MATCH_H

/*
 * Which tenant a process belongs to. A tenant asked for is given if its match admits the process,
 * or if it is best-effort and has no match at all; latency-critical tenants always need one. Not
 * asked: the first tenant whose match admits it. Else the default tenant, and a remark that names
 * the rule.
 */

#include <stdbool.h>
#include <stddef.h>

#include "daemon/config.h"

struct identity;

/* Shell pattern with * and ?; * also spans slashes. */
bool match_glob(const char *pattern, const char *text);

bool match_admits(const struct config_tenant *tenant, const struct identity *identity);

/* Index of the tenant. `asked` may be empty. *ret_remark is empty when it is the one asked for
 * (or none was asked). */
uint32_t match_tenant(const struct config *config, const struct identity *identity,
		      const char *asked, char *ret_remark, size_t room);

#endif
