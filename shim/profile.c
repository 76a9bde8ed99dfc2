/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "door_pick.h"
#include "door_resolve.h"
#include "environment.h"
#include "kernel.h"
#include "launch_fast.h"
#include "shim_log.h"

#define BUFFER_BYTES (1u << 20)
#define FLUSH_MS 200u
#define KERNELS 4096u /* a power of two; those beyond are measured by events */
#define PROBES 16u
#define RECORD_EVERY 16u

struct profile_kernel {
	_Atomic uint64_t digest; /* of name and dimensions; 0: free */
	_Atomic uint32_t number; /* predict_number */
};

static struct {
	_Atomic uint32_t on;
	struct cupti_calls calls;
	struct futex_lock lock; /* of notes */
	struct profile_kernel kernel[KERNELS];
	uint32_t records;
	uint32_t before; /* predict_number of the last record, in order of their launches */
} profile;

bool profile_is_on(void)
{
	return atomic_load_explicit(&profile.on, memory_order_relaxed);
}

/* ---- which kernel -------------------------------------------------------------------------------------- */

static uint64_t digest_of(const char *name, uint64_t shape)
{
	return predict_mix(predict_text(name), shape, 11, 0);
}

/* Its place, or a free one; NULL: neither. */
static struct profile_kernel *look(uint64_t digest)
{
	uint64_t at = digest >> 40;

	for (uint32_t i = 0; i < PROBES; i++, at++) {
		struct profile_kernel *kernel = &profile.kernel[at & (KERNELS - 1)];
		uint64_t seen = atomic_load_explicit(&kernel->digest, memory_order_acquire);

		if (!seen || seen == digest)
			return kernel;
	}
	return NULL;
}

void profile_note(struct predict_entry *entry, struct sample_what what)
{
	struct profile_kernel *kernel;
	const char *name;
	uint64_t digest;

	if (!profile_is_on() || what.kind != PREDICT_KERNEL)
		return;
	name = kernel_name(what.handle);
	if (!name)
		return;
	digest = digest_of(name, what.shape);
	futex_lock(&profile.lock);
	kernel = look(digest);
	if (kernel) {
		kernel->number = predict_number(&launch_predict, entry);
		atomic_store_explicit(&kernel->digest, digest, memory_order_release);
	}
	futex_unlock(&profile.lock);
}

/* ---- records ------------------------------------------------------------------------------------------- */

/* The page of the process's first GPU says whether others run: records do not name a GPU of ours.
 * No gate is locked: this may be called from within a driver's call. */
static struct sluice_channel_device *any_page(uint32_t *ret_index)
{
	for (uint32_t i = 0; i < SHIM_MAX_ORDINALS; i++) {
		struct shim_device *device = &shim.device[i];
		struct sluice_channel_device *page =
			atomic_load_explicit(&device->channel, memory_order_acquire);

		if (page) {
			*ret_index = device->index;
			return page;
		}
	}
	return NULL;
}

static void take_kernel(const struct cupti_kernel *record)
{
	uint64_t shape = predict_kernel_tag(
		NULL, (unsigned int)record->grid[0], (unsigned int)record->grid[1],
		(unsigned int)record->grid[2], (unsigned int)record->block[0],
		(unsigned int)record->block[1], (unsigned int)record->block[2],
		(unsigned int)record->shared_dynamic);
	struct predict_context context = {.before = profile.before};
	struct profile_kernel *kernel;
	struct predict_entry *entry;
	struct sluice_channel_device *page;
	uint32_t index;
	bool clean;

	if (!record->name || !record->start_ns || record->end_ns <= record->start_ns)
		return;
	page = any_page(&index);
	if (!page)
		return;
	kernel = look(digest_of(record->name, shape));
	if (!kernel || !kernel->digest || !kernel->number || kernel->number > PREDICT_SLOTS)
		return;
	entry = predict_resolve(&launch_predict, &launch_predict.entry[kernel->number - 1],
				&context);
	profile.before = kernel->number;
	/* Most kernels are known well: one in a few of their records is enough. */
	if (profile.records++ % RECORD_EVERY &&
	    !predict_stat_of(&launch_predict, entry)->estimate.asks)
		return;
	clean = atomic_load_explicit(&page->grant.flags, memory_order_relaxed) &
		SLUICE_GRANT_EXCLUSIVE;
	predict_sample(&launch_predict, entry, record->end_ns - record->start_ns, clean);
	known_tell(&launch_predict, entry, &sluice_channel_of(page, index)->estimates);
}

static void want_buffer(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_records)
{
	void *buffer = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	*ret_records = 0; /* as many as fit */
	*ret_buffer = buffer == MAP_FAILED ? NULL : buffer;
	*ret_size = buffer == MAP_FAILED ? 0 : BUFFER_BYTES;
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	void *record = NULL;

	while (profile_is_on() &&
	       profile.calls.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK) {
		const struct cupti_kernel *kernel = record;

		if (kernel->kind == CUPTI_KIND_CONCURRENT_KERNEL)
			take_kernel(kernel);
	}
	if (buffer)
		munmap(buffer, BUFFER_BYTES);
}

/* ---- on and off ------------------------------------------------------------------------------------------- */

static void no_callback(void)
{
}

bool profile_begin(const struct cupti_calls *calls)
{
	void *subscriber = NULL;

	profile.calls = *calls;
	/* Whoever can subscribe is alone. The place is given up at once: a tool that comes later
	 * must find it free. */
	if (calls->cuptiSubscribe(&subscriber, (void *)no_callback, NULL) != CUPTI_OK)
		return false;
	(void)calls->cuptiUnsubscribe(subscriber);
	if (calls->cuptiActivityRegisterCallbacks(want_buffer, take_buffer) != CUPTI_OK ||
	    calls->cuptiActivityEnable(CUPTI_KIND_CONCURRENT_KERNEL) != CUPTI_OK)
		return false;
	(void)calls->cuptiActivityFlushPeriod(FLUSH_MS);
	atomic_store_explicit(&profile.on, 1, memory_order_release);
	atomic_store_explicit(&door_watches_libraries, 1, memory_order_release);
	return true;
}

void profile_yield(void)
{
	if (!atomic_exchange_explicit(&profile.on, 0, memory_order_acq_rel))
		return;
	(void)profile.calls.cuptiActivityDisable(CUPTI_KIND_CONCURRENT_KERNEL);
	(void)profile.calls.cuptiActivityFlushPeriod(0);
	shim_log(SHIM_LOG_ERROR,
		 "profile: another tool uses CUPTI; kernels are measured by events");
}

void profile_look_at(const char *library)
{
	const char *base;

	if (!library || !profile_is_on())
		return;
	base = strrchr(library, '/');
	if (!strncmp(base ? base + 1 : library, "libcupti", 8))
		profile_yield();
}

static bool load(const char *path, struct cupti_calls *ret_calls)
{
	static const char *const names[] = {
		"cuptiSubscribe",
		"cuptiUnsubscribe",
		"cuptiActivityRegisterCallbacks",
		"cuptiActivityEnable",
		"cuptiActivityDisable",
		"cuptiActivityGetNextRecord",
		"cuptiActivityFlushPeriod",
	};
	void *(*libc_dlopen)(const char *, int) =
		(void *(*)(const char *, int))object_libc_symbol("dlopen");
	void *(*libc_dlsym)(void *, const char *) =
		(void *(*)(void *, const char *))object_libc_symbol("dlsym");
	void *library =
		libc_dlopen && libc_dlsym ? libc_dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;

	_Static_assert(sizeof(names) / sizeof(names[0]) * sizeof(void *) == sizeof(*ret_calls),
		       "a name for each call, in their order");
	for (size_t i = 0; library && i < sizeof(names) / sizeof(names[0]); i++) {
		void *entry = libc_dlsym(library, names[i]);

		if (!entry)
			return false;
		memcpy((unsigned char *)ret_calls + i * sizeof(void *), &entry, sizeof(entry));
	}
	return library != NULL;
}

void profile_start(void)
{
	const char *path = environment()->profile;
	struct cupti_calls calls;

	if (!*path)
		return;
	if (!load(path, &calls))
		shim_log(SHIM_LOG_ERROR,
			 "profile: %s is no CUPTI that can be loaded here; kernels "
			 "are measured by events",
			 path);
	else if (!profile_begin(&calls))
		shim_log(SHIM_LOG_ERROR, "profile: CUPTI serves another tool, or not this GPU; "
					 "kernels are measured by events");
}

void profile_forked(void)
{
	profile.on = 0;
	profile.lock = (struct futex_lock){0};
}
