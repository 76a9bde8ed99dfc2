/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_keys.h"

#include <assert.h>

#define ARBITER(member) offsetof(struct config, member), 0
#define TENANT(member) offsetof(struct config_tenant, member), 0
#define TEXT(member) \
	offsetof(struct config_tenant, member), sizeof(((struct config_tenant *)NULL)->member)

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull
#define ANY 0, UINT64_MAX, NULL

static const char *const policies[] = {"auto", "share", "slo", NULL};
static const char *const pairs[] = {"always", "progress", "completion", NULL};
static const char *const fail_modes[] = {"open", "hold", "closed", NULL};
static const char *const classes[] = {"best-effort", "latency-critical", NULL};

const struct config_key config_arbiter_keys[] = {
	{"policy", KEY_CHOICE, 0, ARBITER(policy), 0, 0, policies, "auto",
	 "Who may launch. `share`: everyone by weight, within gpu.min and gpu.max. `slo`: "
	 "latency-critical tenants are never held and best-effort ones run while those are idle. "
	 "`auto`: slo where a latency-critical tenant is configured, else share."},
	{"fail.mode", KEY_CHOICE, 0, ARBITER(fail), 0, 0, fail_modes, "open",
	 "What processes do while the arbiter is gone or hangs: run on (`open`), wait for it up to "
	 "fail.deadline a launch (`hold`), or wait (`closed`). Memory is never affected."},
	{"fail.deadline", KEY_TIME, 0, ARBITER(fail_deadline_ns), 1 * MS, 3600 * S, NULL, "2 s",
	 "How long fail.mode `hold` holds one launch."},
	{"fail.memory_deadline", KEY_TIME, 0, ARBITER(memory_deadline_ns), 1 * MS, 3600 * S, NULL,
	 "10 s",
	 "How long an allocation beyond the present credit waits for an arbiter that is gone, "
	 "before it fails with out of memory."},
	{"progress", KEY_TIME, 0, ARBITER(progress_ns), 1 * MS, 60 * S, NULL, "20 ms",
	 "A held launch goes through when nothing in flight has moved for so long, or a "
	 "latency-critical process's work has not and should be done: running work may be waiting "
	 "for it. One in so long; counted in status."},
	{"lease", KEY_TIME, 0, ARBITER(lease_ns), 100 * MS, 3600 * S, NULL, "10 s",
	 "A latency-critical process that stays active so long without a sign of life no longer "
	 "holds the others. One that is stopped loses its hold after a second."},
	{"level", KEY_LEVEL, 0, ARBITER(level), ANY, "auto",
	 "How much best-effort work may cost latency-critical tenants under `slo`: `auto`, as "
	 "their "
	 "targets say, and 1 without any; or a number from -1 (next to none) over 1 (what fits "
	 "between requests, in pieces of 300 us) to 2 (in pieces of 1 ms). Above 2 work also runs "
	 "beside requests, where a launch can be kept to part of the GPU: nowhere in this "
	 "version."},
	{"pairs", KEY_CHOICE, 0, ARBITER(pairs), 0, 0, pairs, "progress",
	 "Where processes may overlap (MPS), whether two best-effort tenants do, by how much each "
	 "was seen to be slowed (`sluice status --pairs`): `progress`, unless side by side they do "
	 "less than in turns; `completion`, only where finite work of both would be done sooner, "
	 "on the mean, than one after the other; `always`."},
	{"admin_group", KEY_GROUP, 0, ARBITER(admin_gid), ANY, NULL,
	 "Members may use `sluice set`, `pause`, `resume` and reload, and see every tenant, as "
	 "root "
	 "may."},
	{"connections", KEY_INTEGER, 0, ARBITER(connections), 1, 4096, NULL, "256",
	 "Connections that one user may hold. A few more are there for `sluice status`, `pause` "
	 "and the like."},
};
const unsigned int config_arbiter_key_count =
	sizeof(config_arbiter_keys) / sizeof(config_arbiter_keys[0]);

const struct config_key config_tenant_keys[] = {
	{"name", KEY_TEXT, KEY_NAMED_ONLY, TEXT(name), ANY, NULL,
	 "Letters, digits, dot, dash and underscore; required, and different from the others."},
	{"class", KEY_CHOICE, 0, TENANT(tenant_class), 0, 0, classes, "best-effort",
	 "A latency-critical tenant needs a match."},
	{"match.uid", KEY_USER, KEY_NAMED_ONLY, TENANT(match.uid), ANY, NULL,
	 "Processes of this user, by name or number. All rules of a match must hold."},
	{"match.gid", KEY_GROUP, KEY_NAMED_ONLY, TENANT(match.gid), ANY, NULL,
	 "Processes of this group, by name or number."},
	{"match.cgroup", KEY_TEXT, KEY_NAMED_ONLY, TEXT(match.cgroup), ANY, NULL,
	 "Processes whose cgroup path, in version 2 or any version 1 hierarchy, matches this "
	 "pattern (* also spans slashes)."},
	{"match.program", KEY_TEXT, KEY_NAMED_ONLY, TEXT(match.program), ANY, NULL,
	 "Processes whose executable's name matches this pattern. A convenience, no protection: "
	 "anyone can name a program."},
	{"target.p99", KEY_TARGET, KEY_SETTABLE | KEY_NAMED_ONLY, TENANT(target), 1 * US, 3600 * S,
	 NULL, NULL,
	 "99 in 100 requests end within this time (\"20 ms\"), or within this much more than alone "
	 "(\"+10 %\"). Best-effort work is let in as far as this allows; status shows how far, and "
	 "says so when not even an idle GPU would do."},
	{"target.of", KEY_TEXT, KEY_SETTABLE | KEY_NAMED_ONLY, TEXT(target.of), 0, UINT64_MAX, NULL,
	 "service",
	 "What is timed: `service`, from a request's first launch to its drain, or `range:NAME`, "
	 "an NVTX process range, from its opening, so that queueing counts."},
	{"gpu.weight", KEY_INTEGER, KEY_SETTABLE, TENANT(weight), 1, 10000, NULL, "100",
	 "Share of the GPU in proportion to the others that want it."},
	{"gpu.max", KEY_PERCENT, KEY_SETTABLE, TENANT(gpu_max_permille), 1, 1000, NULL, "100 %",
	 "At most this share of each gpu.period, even if nobody else wants it."},
	{"gpu.min", KEY_PERCENT, KEY_SETTABLE, TENANT(gpu_min_permille), 0, 1000, NULL, "0 %",
	 "Protected share, when the tenant wants it."},
	{"gpu.period", KEY_TIME, 0, TENANT(gpu_period_ns), 1 * MS, 10 * S, NULL, "100 ms",
	 "What gpu.max is a share of."},
	{"memory.max", KEY_SIZE, KEY_SETTABLE, TENANT(memory_max_bytes), 1ull << 20, UINT64_MAX,
	 NULL, "none",
	 "Device memory of all the tenant's processes, on each GPU. `none`, or `max`: no quota."},
	{"memory.min", KEY_SIZE, KEY_SETTABLE, TENANT(memory_min_bytes), 0, UINT64_MAX - 1, NULL,
	 "0 B", "Device memory, on each GPU, that others cannot take."},
	{"managed", KEY_BOOLEAN, 0, TENANT(managed), 0, 0, NULL, "true",
	 "false: the tenant bypasses Sluice, and shares with nobody's leave."},
};
const unsigned int config_tenant_key_count =
	sizeof(config_tenant_keys) / sizeof(config_tenant_keys[0]);
_Static_assert(sizeof(config_tenant_keys) / sizeof(config_tenant_keys[0]) <= CONFIG_TENANT_KEYS,
	       "a line for each key");

const struct config_key *config_find_key(const struct config_key *keys, unsigned int count,
					 const char *path)
{
	for (unsigned int i = 0; i < count; i++) {
		if (!strcmp(keys[i].path, path))
			return &keys[i];
	}
	return NULL;
}

#define NEAR_MAX 40

/* Levenshtein distance of two short words; far beyond any use when one is not short. */
static unsigned int edit_distance(const char *a, const char *b)
{
	size_t a_length = strlen(a), b_length = strlen(b);
	unsigned int row[NEAR_MAX + 1];

	if (a_length > NEAR_MAX || b_length > NEAR_MAX)
		return NEAR_MAX;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned int corner = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned int best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_length];
}

const struct config_key *config_nearest_key(const struct config_key *keys, unsigned int count,
					    const char *path)
{
	const char *dot = strrchr(path, '.');
	const struct config_key *nearest = NULL;
	/* Of a short word nothing is left after so many changes. */
	unsigned int least = (unsigned int)strlen(dot ? dot + 1 : path);

	if (least > 4)
		least = 4;

	for (unsigned int i = 0; i < count; i++) {
		unsigned int distance = edit_distance(path, keys[i].path);

		if (distance < least) {
			least = distance;
			nearest = &keys[i];
		}
	}
	return nearest;
}

void config_key_defaults(const struct config_key *keys, unsigned int count, void *base)
{
	char why[SLUICE_TEXT_MAX];

	for (unsigned int i = 0; i < count; i++) {
		int r = 0;

		if (keys[i].type == KEY_USER || keys[i].type == KEY_GROUP)
			*(uint32_t *)((char *)base + keys[i].offset) = CONFIG_NO_ID;
		else if (keys[i].standard)
			r = config_key_parse(&keys[i], base, keys[i].standard, why, sizeof(why));
		assert(!r);
		(void)r;
	}
}
