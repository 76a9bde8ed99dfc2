/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "fd_info.h"
#include "kernel.h"
#include "profile.h"
#include "shim.h"
#include "units.h"

#define NOT_KEPT 1u	       /* a key of what cannot be named in another run */
#define TOLD_AGAIN_PERCENT 10u /* a change that is worth telling */
#define KNOWN_BYTES_MAX (64u << 20)

/* ---- keys ------------------------------------------------------------------------------------------ */

static uint64_t device_digest(uint32_t ordinal)
{
	static _Atomic uint64_t digests[SHIM_MAX_ORDINALS];
	char name[128] = "";
	uint64_t digest = atomic_load_explicit(&digests[ordinal], memory_order_relaxed);
	int sms = 0;

	if (digest)
		return digest;
	(void)real.cuDeviceGetName(name, sizeof(name) - 1, (CUdevice)ordinal);
	(void)real.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
					(CUdevice)ordinal);
	digest = predict_digest(predict_text(name), (uint64_t)sms);
	atomic_store_explicit(&digests[ordinal], digest, memory_order_relaxed);
	return digest;
}

static uint64_t key_of(struct sample_what what, uint32_t ordinal)
{
	uint64_t digest = 0;

	switch (what.kind) {
	case PREDICT_KERNEL: digest = kernel_digest(what.handle); break;
	case PREDICT_GRAPH: break; /* met when it was made, or not at all */
	default: digest = 1; break;
	}
	if (!digest || ordinal >= SHIM_MAX_ORDINALS)
		return NOT_KEPT;
	return predict_mix(digest, what.shape, what.kind, device_digest(ordinal));
}

/* ---- what earlier runs knew ----------------------------------------------------------------------- */

static const struct sluice_estimate_record *look(struct predict *predict, uint64_t key)
{
	const struct sluice_known *known =
		atomic_load_explicit(&predict->known, memory_order_acquire);
	const struct sluice_estimate_record *record;

	if (!known || key == NOT_KEPT)
		return NULL;
	record = sluice_known_look((struct sluice_estimate_record *)known->slot, known->slots, key);
	return record && record->key == key && sluice_estimate_is_sane(record) ? record : NULL;
}

/* With the lock. */
static void stat_meet(struct predict *predict, struct predict_stat *stat, uint64_t key)
{
	const struct sluice_estimate_record *record = look(predict, key);

	atomic_store_explicit(&stat->key, key, memory_order_relaxed);
	if (!record || stat->estimate.count)
		return;
	estimate_seed(&stat->estimate, record->cost_ns, record->high_ns, record->sightings);
	stat->told_ns = record->cost_ns;
	if (record->flags & SLUICE_ESTIMATE_BY_BEFORE && !stat->depth)
		stat->split = PREDICT_BY_BEFORE;
	if (record->flags & SLUICE_ESTIMATE_BY_SCALARS && stat->depth == 1)
		stat->split = PREDICT_BY_SCALARS;
}

static void entry_meet(struct predict *predict, struct predict_entry *entry, uint64_t key)
{
	struct predict_stat *stat = predict_stat_of(predict, entry);

	futex_lock(&predict->lock);
	stat_meet(predict, stat, key);
	predict_publish(entry, stat);
	futex_unlock(&predict->lock);
}

void known_meet(struct predict *predict, struct predict_entry *entry, struct sample_what what,
		uint32_t ordinal)
{
	uint64_t key;

	if (entry == &predict->spill ||
	    atomic_load_explicit(&predict_stat_of(predict, entry)->key, memory_order_relaxed))
		return;
	key = key_of(what, ordinal);
	if (key != NOT_KEPT)
		units_note(key, what);
	entry_meet(predict, entry, key);
	profile_note(entry, what);
}

void known_meet_part(struct predict *predict, struct predict_stat *part,
		     const struct predict_stat *whole, uint64_t by)
{
	uint64_t key = whole->key;

	if (whole->split == PREDICT_BY_BEFORE && by) {
		struct predict_entry *before = by <= PREDICT_SLOTS ? &predict->entry[by - 1] : NULL;

		/* What found no room in the table has no key either. */
		by = before && before->tag ? predict_stat_of(predict, before)->key : 0;
		if (!by)
			by = NOT_KEPT;
	}
	stat_meet(predict, part,
		  key <= NOT_KEPT || by == NOT_KEPT ? NOT_KEPT
						    : predict_mix(key, by, whole->split, 7));
}

/* ---- graphs ---------------------------------------------------------------------------------------- */

/* NOT_KEPT: it is not known of which GPU it is. */
static uint64_t graph_key(uint64_t digest)
{
	CUdevice ordinal = 0;

	if (!digest || real.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS || ordinal < 0 ||
	    ordinal >= SHIM_MAX_ORDINALS)
		return NOT_KEPT;
	return predict_mix(digest, 0, PREDICT_GRAPH, device_digest((uint32_t)ordinal));
}

void known_meet_graph(struct predict *predict, struct predict_entry *entry, uint64_t digest)
{
	uint64_t key = graph_key(digest);

	if (entry == &predict->spill || key == NOT_KEPT)
		return;
	units_note(key, (struct sample_what){.kind = PREDICT_GRAPH});
	entry_meet(predict, entry, key);
}

bool known_is_graph(struct predict *predict, struct predict_entry *entry, uint64_t digest)
{
	uint64_t key = graph_key(digest);

	return entry == &predict->spill || key == NOT_KEPT ||
	       atomic_load_explicit(&predict_stat_of(predict, entry)->key, memory_order_relaxed) ==
		       key;
}

/* ---- the arbiter's pages ------------------------------------------------------------------------------ */

static bool is_worth_telling(const struct predict_stat *stat)
{
	const struct estimate *estimate = &stat->estimate;
	uint32_t far_ns = stat->told_ns / 100 * TOLD_AGAIN_PERCENT + 1000;

	if (stat->key <= NOT_KEPT || !estimate->count || estimate->seeded ||
	    (!estimate->clean && estimate->asks))
		return false;
	return !stat->told_ns || estimate->cost_ns > stat->told_ns + far_ns ||
	       stat->told_ns > estimate->cost_ns + far_ns;
}

void known_tell(struct predict *predict, struct predict_entry *entry,
		struct sluice_estimate_ring *ring)
{
	struct predict_stat *stat;
	uint64_t head;

	if (entry == &predict->spill)
		return;
	stat = predict_stat_of(predict, entry);
	futex_lock(&predict->lock);
	if (is_worth_telling(stat)) {
		head = atomic_load_explicit(&ring->head, memory_order_relaxed);
		ring->record[head % SLUICE_ESTIMATE_RECORDS] = (struct sluice_estimate_record){
			.key = stat->key,
			.cost_ns = stat->estimate.cost_ns,
			.high_ns = stat->estimate.high_ns,
			.sightings = stat->estimate.sightings,
			.flags =
				(stat->split == PREDICT_BY_BEFORE ? SLUICE_ESTIMATE_BY_BEFORE : 0) |
				(stat->split == PREDICT_BY_SCALARS ? SLUICE_ESTIMATE_BY_SCALARS
								   : 0),
		};
		/* Pairs with the arbiter's acquire. */
		atomic_store_explicit(&ring->head, head + 1, memory_order_release);
		stat->told_ns = stat->estimate.cost_ns;
	}
	futex_unlock(&predict->lock);
}

int known_adopt(struct predict *predict, const struct sluice_known *page, uint64_t bytes)
{
	if (bytes < sizeof(*page) || page->magic != SLUICE_KNOWN_MAGIC ||
	    page->version != SLUICE_KNOWN_VERSION || !page->slots ||
	    page->slots & (page->slots - 1) ||
	    (bytes - sizeof(*page)) / sizeof(page->slot[0]) < page->slots)
		return -EINVAL;
	/* Pairs with the acquire in look. */
	atomic_store_explicit(&predict->known, page, memory_order_release);
	futex_lock(&predict->lock);
	for (uint32_t i = 0; i < PREDICT_SLOTS; i++) {
		struct predict_entry *entry = &predict->entry[i];
		struct predict_stat *stat;

		if (!entry->tag)
			continue;
		stat = predict_stat_of(predict, entry);
		if (!stat->key)
			continue;
		stat_meet(predict, stat, stat->key);
		predict_publish(entry, stat);
	}
	futex_unlock(&predict->lock);
	return 0;
}

int known_map(struct predict *predict, int fd)
{
	struct fd_info about;
	void *page;
	int result;

	/* One is enough: an arbiter that comes back has nothing that this process does not know. */
	if (atomic_load_explicit(&predict->known, memory_order_relaxed))
		return 0;
	if (!fd_look(fd, &about) || about.bytes > KNOWN_BYTES_MAX)
		return -EINVAL;
	page = mmap(NULL, about.bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	result = known_adopt(predict, page, about.bytes);
	if (result)
		munmap(page, about.bytes);
	return result;
}
