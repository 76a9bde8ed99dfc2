/* SPDX-License-Identifier: Apache-2.0 */
#include "nvtx.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "door_resolve.h"
#include "environment.h"
#include "futex.h"
#include "range.h"
#include "shim_log.h"

#define NAME_MAX_BYTES 64
#define STRINGS 256u /* registered strings that are remembered */

/* The places of NVTX's tables that we take. */
enum place_id {
	START_EX,
	START_A,
	START_W,
	END,
	DOMAIN_START_EX,
	DOMAIN_END,
	REGISTER_A,
	REGISTER_W,
	PLACES,
};

typedef uint64_t (*start_ex_function)(const struct nvtx_event *);
typedef uint64_t (*start_a_function)(const char *);
typedef uint64_t (*start_w_function)(const wchar_t *);
typedef void (*end_function)(uint64_t);
typedef uint64_t (*domain_start_ex_function)(void *, const struct nvtx_event *);
typedef void (*domain_end_function)(void *, uint64_t);
typedef void *(*register_a_function)(void *, const char *);
typedef void *(*register_w_function)(void *, const wchar_t *);

/* What the next injection put there: its functions are the same in all tables. NULL: nothing. */
static nvtx_function next[PLACES];

static struct {
	struct futex_lock lock;
	bool looked; /* for the next injection */
	int (*next_init)(nvtx_get_table);
	uint32_t tables;
	uint32_t strings;
	const void *string[STRINGS]; /* handles */
	char name[STRINGS][NAME_MAX_BYTES];
	_Atomic uint64_t ids; /* of ranges, where there is no next injection */
} nvtx;

/* ---- names ------------------------------------------------------------------------------------------ */

/* A name of other than ASCII characters is no name that the configuration can have. */
static bool narrow(const wchar_t *wide, char *ret_name)
{
	for (size_t i = 0; wide && i < NAME_MAX_BYTES; i++) {
		if (wide[i] < 0 || wide[i] > 126)
			return false;
		ret_name[i] = (char)wide[i];
		if (!wide[i])
			return true;
	}
	return false;
}

static bool wide_is_counted(const wchar_t *wide)
{
	char name[NAME_MAX_BYTES];

	return narrow(wide, name) && range_is_counted(name);
}

/* The target may have come to be this name only after it was registered. */
static bool string_is_counted(const void *handle)
{
	bool counted = false;

	futex_lock(&nvtx.lock);
	for (uint32_t i = 0; !counted && i < nvtx.strings; i++)
		counted = nvtx.string[i] == handle && range_is_counted(nvtx.name[i]);
	futex_unlock(&nvtx.lock);
	return counted;
}

static bool event_is_counted(const struct nvtx_event *event)
{
	if (!event || event->size < offsetof(struct nvtx_event, text) + sizeof(event->text))
		return false;
	switch (event->text_type) {
	case NVTX_TEXT_ASCII: return range_is_counted(event->text.ascii);
	case NVTX_TEXT_WIDE: return wide_is_counted(event->text.wide);
	case NVTX_TEXT_REGISTERED: return string_is_counted(event->text.registered);
	default: return false;
	}
}

/* With no tool behind us the handle is our own copy's address. */
static void *string_keep(const char *name, void *handle)
{
	size_t length = strnlen(name, NAME_MAX_BYTES);

	futex_lock(&nvtx.lock);
	if (nvtx.strings < STRINGS && length < NAME_MAX_BYTES) {
		memcpy(nvtx.name[nvtx.strings], name, length + 1);
		if (!handle)
			handle = nvtx.name[nvtx.strings];
		nvtx.string[nvtx.strings++] = handle;
	}
	futex_unlock(&nvtx.lock);
	return handle;
}

/* ---- what the program calls ------------------------------------------------------------------------- */

static uint64_t open_range(bool counted, bool has_id, uint64_t id)
{
	if (!has_id)
		id = atomic_fetch_add_explicit(&nvtx.ids, 1, memory_order_relaxed) + 1;
	if (counted)
		range_open(id);
	return id;
}

static uint64_t start_ex(const struct nvtx_event *event)
{
	start_ex_function go_on = (start_ex_function)next[START_EX];
	bool counted = event_is_counted(event);

	return open_range(counted, go_on != NULL, go_on ? go_on(event) : 0);
}

static uint64_t start_a(const char *name)
{
	start_a_function go_on = (start_a_function)next[START_A];
	bool counted = range_is_counted(name);

	return open_range(counted, go_on != NULL, go_on ? go_on(name) : 0);
}

static uint64_t start_w(const wchar_t *name)
{
	start_w_function go_on = (start_w_function)next[START_W];
	bool counted = wide_is_counted(name);

	return open_range(counted, go_on != NULL, go_on ? go_on(name) : 0);
}

static void end(uint64_t id)
{
	range_close(id);
	if (next[END])
		((end_function)next[END])(id);
}

static uint64_t domain_start_ex(void *domain, const struct nvtx_event *event)
{
	domain_start_ex_function go_on = (domain_start_ex_function)next[DOMAIN_START_EX];
	bool counted = event_is_counted(event);

	return open_range(counted, go_on != NULL, go_on ? go_on(domain, event) : 0);
}

static void domain_end(void *domain, uint64_t id)
{
	range_close(id);
	if (next[DOMAIN_END])
		((domain_end_function)next[DOMAIN_END])(domain, id);
}

static void *register_a(void *domain, const char *name)
{
	register_a_function go_on = (register_a_function)next[REGISTER_A];
	void *handle = go_on ? go_on(domain, name) : NULL;

	return name ? string_keep(name, handle) : handle;
}

static void *register_w(void *domain, const wchar_t *wide)
{
	register_w_function go_on = (register_w_function)next[REGISTER_W];
	void *handle = go_on ? go_on(domain, wide) : NULL;
	char name[NAME_MAX_BYTES];

	return narrow(wide, name) ? string_keep(name, handle) : handle;
}

/* ---- attaching ---------------------------------------------------------------------------------------- */

static const struct place {
	int module;
	unsigned int index;
	nvtx_function ours;
} places[PLACES] = {
	[START_EX] = {NVTX_MODULE_CORE, NVTX_RANGE_START_EX, (nvtx_function)start_ex},
	[START_A] = {NVTX_MODULE_CORE, NVTX_RANGE_START_A, (nvtx_function)start_a},
	[START_W] = {NVTX_MODULE_CORE, NVTX_RANGE_START_W, (nvtx_function)start_w},
	[END] = {NVTX_MODULE_CORE, NVTX_RANGE_END, (nvtx_function)end},
	[DOMAIN_START_EX] = {NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_START_EX,
			     (nvtx_function)domain_start_ex},
	[DOMAIN_END] = {NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_END, (nvtx_function)domain_end},
	[REGISTER_A] = {NVTX_MODULE_CORE2, NVTX_DOMAIN_REGISTER_STRING_A,
			(nvtx_function)register_a},
	[REGISTER_W] = {NVTX_MODULE_CORE2, NVTX_DOMAIN_REGISTER_STRING_W,
			(nvtx_function)register_w},
};

/* Where the program's calls of that place go through; NULL: its NVTX is too old to have it. */
static nvtx_function *slot_of(const struct nvtx_callbacks *callbacks, const struct place *place)
{
	nvtx_function **table = NULL;
	unsigned int count = 0;

	if (!callbacks->module_table(place->module, &table, &count) || !table ||
	    place->index >= count)
		return NULL;
	return table[place->index];
}

/* Before anybody attached, a place holds the header's own start-up function, which must not be
 * called from inside: only what the next injection has changed is gone on to. */
static void read_slots(const struct nvtx_callbacks *callbacks, nvtx_function *ret_slots)
{
	for (int i = 0; i < PLACES; i++) {
		nvtx_function *slot = slot_of(callbacks, &places[i]);

		ret_slots[i] = slot ? *slot : NULL;
	}
}

/* The second table is given to the same next functions as the first, or to nobody. */
static bool is_alike(const nvtx_function *before, const nvtx_function *after)
{
	for (int i = 0; i < PLACES; i++) {
		nvtx_function found = after[i] != before[i] ? after[i] : NULL;

		if (nvtx.tables && after[i] && found != next[i])
			return false;
	}
	return true;
}

static int attach(const struct nvtx_callbacks *callbacks, const nvtx_function *before)
{
	nvtx_function after[PLACES];

	read_slots(callbacks, after);
	if (!is_alike(before, after)) {
		shim_log(SHIM_LOG_ERROR, "NVTX: another tool's functions differ from library to "
					 "library; ranges of this one are not counted");
		return 0;
	}
	for (int i = 0; i < PLACES; i++) {
		nvtx_function *slot = slot_of(callbacks, &places[i]);

		if (!slot)
			continue;
		if (after[i] != before[i])
			next[i] = after[i];
		*slot = places[i].ours;
	}
	nvtx.tables++;
	return 1;
}

static void find_next(void)
{
	const char *path = environment()->nvtx_next;
	void *(*libc_dlopen)(const char *, int);
	void *(*libc_dlsym)(void *, const char *);
	void *library;

	if (nvtx.looked)
		return;
	nvtx.looked = true;
	if (!*path)
		return;
	libc_dlopen = (void *(*)(const char *, int))object_libc_symbol("dlopen");
	libc_dlsym = (void *(*)(void *, const char *))object_libc_symbol("dlsym");
	library = libc_dlopen && libc_dlsym ? libc_dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
	if (library)
		nvtx.next_init =
			(int (*)(nvtx_get_table))libc_dlsym(library, "InitializeInjectionNvtx2");
	if (nvtx.next_init == InitializeInjectionNvtx2)
		nvtx.next_init = NULL;
	else if (!nvtx.next_init)
		shim_log(SHIM_LOG_ERROR, "NVTX: %s is no injection library", path);
}

int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
	const struct nvtx_callbacks *callbacks = get_table ? get_table(NVTX_TABLE_CALLBACKS) : NULL;
	nvtx_function before[PLACES];
	int saved = errno;
	int others, ours;

	if (!callbacks || callbacks->size < sizeof(*callbacks) || !callbacks->module_table)
		return 0;
	read_slots(callbacks, before);
	futex_lock(&nvtx.lock);
	find_next();
	futex_unlock(&nvtx.lock);
	/* It may register strings at once. */
	others = nvtx.next_init ? nvtx.next_init(get_table) : 0;
	futex_lock(&nvtx.lock);
	ours = attach(callbacks, before);
	futex_unlock(&nvtx.lock);
	errno = saved;
	return others || ours;
}

void nvtx_forked(void)
{
	nvtx.lock = (struct futex_lock){0};
}
