/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuGetProcAddress with the rules of the real one: the newest version of a name that is not newer
 * than asked; per-thread forms only when the flag asks; an unknown name succeeds with NULL.
 */
#include "real.h"

#include <stdbool.h>
#include <stddef.h>

struct entry {
	const char *symbol;
	const char *base;
	int version;
	void *address;
};

/* Defined without a prototype in generic.c. */
#define NAME(symbol, base, version) extern char symbol##_entry[] __asm__(#symbol);
#include "names.def"
#define HOOK(symbol, base, version, class) extern char symbol##_entry[] __asm__(#symbol);
#define USED(symbol) extern char symbol##_entry[] __asm__(#symbol);
#include "hooks.def"

static const struct entry entries[] = {
#define NAME(symbol, base, version) {#symbol, #base, version, symbol##_entry},
#include "names.def"
#define HOOK(symbol, base, version, class) {#symbol, #base, version, symbol##_entry},
#define USED(symbol) {#symbol, #symbol, 0, symbol##_entry},
#include "hooks.def"
};

/* The entries that the shim only calls are listed without base and version. */
static bool is_base(const struct entry *entry, const char *base)
{
	size_t length = strlen(base);

	if (!strcmp(entry->base, base))
		return true;
	return !entry->version && !strncmp(entry->symbol, base, length) &&
	       entry->symbol[length] == '_' && entry->symbol[length + 1] != 'p';
}

static bool is_per_thread(const struct entry *entry)
{
	size_t length = strlen(entry->symbol);

	return length > 5 && (!strcmp(entry->symbol + length - 5, "_ptsz") ||
			      !strcmp(entry->symbol + length - 5, "_ptds"));
}

static void *find(const char *base, int version, bool per_thread)
{
	const struct entry *best = NULL;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		const struct entry *entry = &entries[i];

		if (is_base(entry, base) && is_per_thread(entry) == per_thread &&
		    entry->version <= version && (!best || entry->version >= best->version))
			best = entry;
	}
	return best ? best->address : NULL;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
				     cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
	if (!symbol || !pfn || cudaVersion > CUDA_VERSION)
		return CUDA_ERROR_INVALID_VALUE;
	*pfn = NULL;
	if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		*pfn = find(symbol, cudaVersion, true);
	if (!*pfn)
		*pfn = find(symbol, cudaVersion, false);
	if (symbolStatus)
		*symbolStatus =
			*pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
}
