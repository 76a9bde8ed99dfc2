/* SPDX-License-Identifier: Apache-2.0 */
#include "slo_alone.h"

#include <string.h>

#include "slo_fix.h"

#define TRIM_SPREADS 8u /* from the median on: of its distance to the lowest tenth ... */
#define TRIM_NOISE 200u /* ... and half a percent */

static uint32_t alone_kept(uint64_t ever)
{
	return ever < ALONE_SAMPLES ? (uint32_t)ever : ALONE_SAMPLES;
}

/* The kind's place; a new kind takes that of the one that was not seen for longest. */
static struct slo_kind *alone_kind(struct slo_alone *alone, uint64_t key)
{
	struct slo_kind *oldest = &alone->kind[0];

	for (uint32_t i = 0; i < ALONE_KINDS; i++) {
		struct slo_kind *kind = &alone->kind[i];

		if (kind->used && kind->key == key)
			return kind;
		if (kind->used < oldest->used)
			oldest = kind;
	}
	*oldest = (struct slo_kind){.key = key};
	return oldest;
}

/*
 * Some samples did meet something: a long launch unit still ran. Requests that are alike do not
 * differ by more than so much; where they are not, this is far above all of them.
 */
static void kind_trim(struct slo_kind *kind, uint32_t count)
{
	uint64_t median_ns = kind->sorted_ns[count / 2];

	kind->most_ns = median_ns + TRIM_SPREADS * (median_ns - kind->sorted_ns[count / 10]) +
			median_ns / TRIM_NOISE;
	for (uint32_t i = count; i-- > 0 && kind->sorted_ns[i] > kind->most_ns;)
		kind->sorted_ns[i] = kind->most_ns;
}

static void kind_learn(struct slo_kind *kind, uint64_t service_ns)
{
	uint32_t count;

	kind->alone_ns[kind->alone++ % ALONE_SAMPLES] = service_ns;
	count = alone_kept(kind->alone);
	memcpy(kind->sorted_ns, kind->alone_ns, count * sizeof(kind->alone_ns[0]));
	fix_sort(kind->sorted_ns, count);
	kind_trim(kind, count);
}

/* Its rank among the last that met something, as one of those that did not. */
static uint64_t kind_translate(struct slo_kind *kind, uint64_t service_ns)
{
	uint32_t known = alone_kept(kind->alone), met, below = 0, same = 0;
	uint64_t alone_ns;

	kind->met_ns[kind->met++ % ALONE_SAMPLES] = service_ns;
	if (known < ALONE_KNOWN)
		return 0;
	met = alone_kept(kind->met);
	for (uint32_t i = 0; i < met; i++) {
		below += kind->met_ns[i] < service_ns;
		same += kind->met_ns[i] == service_ns;
	}
	alone_ns = kind->sorted_ns[(2 * below + same) * known / (2 * met + 1)];
	return alone_ns < service_ns ? alone_ns : service_ns;
}

uint64_t slo_alone_service(struct slo_alone *alone, uint64_t key, uint64_t service_ns,
			   bool met_none)
{
	struct slo_kind *kind = alone_kind(alone, key);

	kind->used = ++alone->requests;
	if (!met_none)
		return kind_translate(kind, service_ns);
	kind_learn(kind, service_ns);
	if (kind->alone < ALONE_KNOWN)
		return 0;
	return service_ns < kind->most_ns ? service_ns : kind->most_ns;
}

uint64_t slo_alone_typical_ns(const struct slo_alone *alone)
{
	const struct slo_kind *most = NULL;

	for (uint32_t i = 0; i < ALONE_KINDS; i++) {
		const struct slo_kind *kind = &alone->kind[i];

		if (kind->alone >= ALONE_KNOWN &&
		    (!most || kind->alone + kind->met > most->alone + most->met))
			most = kind;
	}
	return most ? most->sorted_ns[alone_kept(most->alone) / 2] : 0;
}
