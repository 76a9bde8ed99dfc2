/* SPDX-License-Identifier: Apache-2.0 */
#include "door_pick.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "door_resolve.h"
#include "door_string.h"
#include "door_table.h"
#include "profile.h"
#include "real.h"

typedef void *(*dlsym_fn)(void *, const char *);
typedef void *(*dlvsym_fn)(void *, const char *, const char *);

/* One door: libc's own function, and the next object's of that name behind the shim, which is
 * another interposer or libc. Looked up at first use; racing threads find the same. */
struct door {
	const char *name;
	_Atomic(void *) libc;
	_Atomic(void *) next;
};

static struct door door_dlsym = {.name = "dlsym"};
static struct door door_dlvsym = {.name = "dlvsym"};
static struct door door_dlopen = {.name = "dlopen"};

static void *door_libc(struct door *door)
{
	void *function = atomic_load_explicit(&door->libc, memory_order_acquire);

	if (!function) {
		function = object_libc_symbol(door->name);
		atomic_store_explicit(&door->libc, function, memory_order_release);
	}
	return function;
}

static void *door_next(struct door *door)
{
	void *function = atomic_load_explicit(&door->next, memory_order_acquire);
	struct object object;

	if (!function) {
		if (!object_find_definer(&door_dlsym, door->name, &object, &function))
			function = door_libc(door);
		atomic_store_explicit(&door->next, function, memory_order_release);
	}
	return function;
}

/* Another interposer on its way to the real thing: it gets what it would get without us. */
static bool is_bootstrap(const char *name)
{
	return string_is(name, "dlsym") || string_is(name, "dlvsym") || string_is(name, "dlopen");
}

/*
 * RTLD_NEXT of a hooked name. Only the caller's own look-up would be exact, and only a jump is
 * that: so look where it would end, and answer when that is the driver. A look-up that succeeds
 * also clears dlerror, as the application's own would have done.
 */
static struct door_answer pick_next(const struct hook_row *row, const void *caller, void *jump)
{
	dlsym_fn libc_dlsym = (dlsym_fn)door_libc(&door_dlsym);
	struct object object;
	void *symbol;

	if (!object_find_definer(caller, row->symbol, &object, &symbol) || !real_holds(symbol))
		return (struct door_answer){.jump = jump};
	(void)libc_dlsym(RTLD_DEFAULT, "dlsym");
	return (struct door_answer){.symbol = row->hook};
}

/* What the one real look-up said, with the driver's entries replaced. */
static struct door_answer answer(const struct hook_row *row, void *symbol)
{
	return (struct door_answer){
		.symbol = symbol && real_load() && real_holds(symbol) ? row->hook : symbol};
}

struct door_answer door_pick_dlsym(void *handle, const char *name, const void *caller)
{
	dlsym_fn libc_dlsym = (dlsym_fn)door_libc(&door_dlsym);
	const struct hook_row *row;

	if (is_bootstrap(name))
		return (struct door_answer){.jump = (void *)libc_dlsym};
	row = hook_by_symbol(name);
	if (!row || handle == RTLD_DEFAULT)
		return (struct door_answer){.jump = door_next(&door_dlsym)};
	if (handle == RTLD_NEXT && real_load())
		return pick_next(row, caller, door_next(&door_dlsym));
	if (handle == RTLD_NEXT)
		return (struct door_answer){.jump = door_next(&door_dlsym)};
	return answer(row, libc_dlsym(handle, name));
}

struct door_answer door_pick_dlvsym(void *handle, const char *name, const char *version,
				    const void *caller)
{
	dlvsym_fn libc_dlvsym = (dlvsym_fn)door_libc(&door_dlvsym);
	const struct hook_row *row;

	if (is_bootstrap(name))
		return (struct door_answer){.jump = (void *)libc_dlvsym};
	row = hook_by_symbol(name);
	if (!row || handle == RTLD_DEFAULT || handle == RTLD_NEXT)
		return (struct door_answer){.jump = door_next(&door_dlvsym)};
	return answer(row, libc_dlvsym(handle, name, version));
}

_Atomic uint32_t door_watches_libraries;

void *door_pick_dlopen(const char *path)
{
	if (__builtin_expect(atomic_load_explicit(&door_watches_libraries, memory_order_relaxed),
			     0))
		profile_look_at(path);
	return door_next(&door_dlopen);
}
