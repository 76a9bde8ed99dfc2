/* SPDX-License-Identifier: Apache-2.0 */
#include "real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

#include "door_resolve.h"

struct real_name {
	const char *symbol;
	size_t offset;
};

static const struct real_name real_names[] = {
#define HOOK(symbol, base, version, class) {#symbol, offsetof(struct real_table, symbol)},
#define USED(symbol) {#symbol, offsetof(struct real_table, symbol)},
#include "hooks.def"
};

static CUresult real_unready(void);

struct real_table real = {
#define HOOK(symbol, base, version, class) .symbol = (__typeof__(symbol) *)(void *)real_unready,
#define USED(symbol) .symbol = (__typeof__(symbol) *)(void *)real_unready,
#include "hooks.def"
};

/* Where the driver lies, and how many objects had been unloaded when that was seen. Written by
 * whoever finds it first; racing finders write the same. */
static _Atomic uintptr_t driver_low, driver_high;
static _Atomic unsigned long long driver_unloads;
static _Atomic bool driver_pinned;

CUresult real_missing(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

/* Before cuInit, which fills the table, or the program has no driver. */
static CUresult real_unready(void)
{
	return real_load() ? CUDA_ERROR_NOT_INITIALIZED : CUDA_ERROR_NOT_FOUND;
}

static void real_fill(const struct object *driver)
{
	for (size_t i = 0; i < sizeof(real_names) / sizeof(real_names[0]); i++) {
		void *entry = object_symbol(driver, real_names[i].symbol);

		if (!entry)
			entry = (void *)real_missing;
		__builtin_memcpy((char *)&real + real_names[i].offset, &entry, sizeof(entry));
	}
}

bool real_load(void)
{
	struct object driver;
	unsigned long long unloads;

	if (atomic_load_explicit(&driver_pinned, memory_order_acquire))
		return true;
	unloads = object_unloads();
	/* Pairs with the release below. */
	if (atomic_load_explicit(&driver_high, memory_order_acquire) &&
	    atomic_load_explicit(&driver_unloads, memory_order_relaxed) == unloads)
		return true;
	if (!object_find_driver(&driver)) {
		atomic_store_explicit(&driver_high, 0, memory_order_release);
		return false;
	}
	real_fill(&driver);
	atomic_store_explicit(&driver_low, driver.low, memory_order_relaxed);
	atomic_store_explicit(&driver_unloads, unloads, memory_order_relaxed);
	atomic_store_explicit(&driver_high, driver.high, memory_order_release);
	return true;
}

/* A program that is linked with the driver calls it without a look-up that we would see. */
static __attribute__((constructor)) void real_load_early(void)
{
	(void)real_load();
}

bool real_holds(const void *address)
{
	uintptr_t high = atomic_load_explicit(&driver_high, memory_order_acquire);

	return (uintptr_t)address < high &&
	       (uintptr_t)address >= atomic_load_explicit(&driver_low, memory_order_relaxed);
}

/* The rows point into the driver from now on: a reference of our own keeps it there. */
static void real_pin(void *(*libc_dlopen)(const char *, int))
{
	struct object driver;

	if (object_find_driver(&driver) && libc_dlopen(driver.path, RTLD_LAZY | RTLD_NOLOAD))
		atomic_store_explicit(&driver_pinned, true, memory_order_release);
}

bool real_load_driver(void)
{
	void *(*libc_dlopen)(const char *, int);

	if (atomic_load_explicit(&driver_pinned, memory_order_acquire))
		return true;
	libc_dlopen = (void *(*)(const char *, int))object_libc_symbol("dlopen");
	if (!real_load() && !(libc_dlopen && libc_dlopen("libcuda.so.1", RTLD_LAZY) && real_load()))
		return false;
	if (libc_dlopen)
		real_pin(libc_dlopen);
	return true;
}
