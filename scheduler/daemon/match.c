/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/match.h"

#include "daemon/identity.h"

bool match_glob(const char *pattern, const char *text)
{
	const char *star = NULL, *resume = NULL;

	/* On a mismatch the latest star takes one character more; earlier stars need not move. */
	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool match_cgroup(const char *pattern, const char *paths)
{
	for (; *paths; paths += strlen(paths) + 1) {
		if (match_glob(pattern, paths))
			return true;
	}
	return false;
}

/* The first rule that keeps the process out, NULL: it is admitted. */
static const char *match_failing(const struct config_match *match, const struct identity *identity)
{
	if (match->uid != CONFIG_NO_ID && match->uid != identity->uid)
		return "uid";
	if (match->gid != CONFIG_NO_ID && match->gid != identity->gid)
		return "gid";
	if (*match->cgroup && !match_cgroup(match->cgroup, identity->cgroups))
		return "cgroup";
	if (*match->program && !match_glob(match->program, identity->program))
		return "program";
	return NULL;
}

bool match_admits(const struct config_tenant *tenant, const struct identity *identity)
{
	return config_has_match(tenant) && !match_failing(&tenant->match, identity);
}

/* How the rule looks from the process's side. */
static void match_remark(const struct config_tenant *tenant, const struct identity *identity,
			 char *ret_remark, size_t room)
{
	const struct config_match *match = &tenant->match;
	const char *rule = match_failing(match, identity);

	if (!strcmp(rule, "uid"))
		snprintf(ret_remark, room,
			 "tenant %s admits user %u only (match.uid); this process runs as user %u",
			 tenant->name, match->uid, (unsigned int)identity->uid);
	else if (!strcmp(rule, "gid"))
		snprintf(
			ret_remark, room,
			"tenant %s admits group %u only (match.gid); this process runs as group %u",
			tenant->name, match->gid, (unsigned int)identity->gid);
	else if (!strcmp(rule, "cgroup"))
		snprintf(ret_remark, room,
			 "tenant %s admits cgroups %.100s only (match.cgroup); this process is in "
			 "%.200s",
			 tenant->name, match->cgroup, identity->cgroups);
	else
		snprintf(ret_remark, room,
			 "tenant %s admits programs %s only (match.program); this process runs %s",
			 tenant->name, match->program,
			 *identity->program ? identity->program : "one whose name is not readable");
}

uint32_t match_tenant(const struct config *config, const struct identity *identity,
		      const char *asked, char *ret_remark, size_t room)
{
	const struct config_tenant *tenant = *asked ? config_find(config, asked) : NULL;

	*ret_remark = 0;
	if (tenant) {
		uint32_t index = (uint32_t)(tenant - config->tenant);

		if (!index || !config_has_match(tenant) || match_admits(tenant, identity))
			return index;
		match_remark(tenant, identity, ret_remark, room);
		return 0;
	}
	if (*asked) {
		snprintf(ret_remark, room,
			 "there is no tenant %s; `sluice status` lists those there are", asked);
		return 0;
	}
	for (uint32_t i = 1; i < config->tenants; i++) {
		if (match_admits(&config->tenant[i], identity))
			return i;
	}
	return 0;
}
