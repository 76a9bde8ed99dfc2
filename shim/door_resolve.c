/* SPDX-License-Identifier: Apache-2.0 */
#include "door_resolve.h"

#include "door_string.h"

#include <link.h>
#include <stdatomic.h>
#include <sys/auxv.h>

#define VERSION_HIDDEN 0x8000u

static void object_segments(const struct dl_phdr_info *info, struct object *object)
{
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		if (start < object->low)
			object->low = start;
		if (start + segment->p_memsz > object->high)
			object->high = start + segment->p_memsz;
	}
}

/* The loader has relocated the pointers of most objects' dynamic section in place; of the vdso
 * and a few others it has not. */
static const void *object_pointer(const struct object *object, ElfW(Addr) value)
{
	return (const void *)(value < object->base ? object->base + value : value);
}

static void object_dynamic(const ElfW(Dyn) * dynamic, struct object *object)
{
	ElfW(Xword) soname = 0;
	bool has_soname = false;

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		const void *pointer = object_pointer(object, dynamic->d_un.d_ptr);

		switch (dynamic->d_tag) {
		case DT_SYMTAB: object->symbols = pointer; break;
		case DT_STRTAB: object->strings = pointer; break;
		case DT_GNU_HASH: object->gnu_hash = pointer; break;
		case DT_VERSYM: object->versions = pointer; break;
		case DT_SONAME:
			soname = dynamic->d_un.d_val;
			has_soname = true;
			break;
		default: break;
		}
	}
	if (has_soname && object->strings)
		object->soname = object->strings + soname;
}

/* False where there is nothing to look up in it. */
static bool object_read(const struct dl_phdr_info *info, struct object *object)
{
	*object = (struct object){0};
	object->base = info->dlpi_addr;
	object->low = UINTPTR_MAX;
	object->path = info->dlpi_name ? info->dlpi_name : "";
	object_segments(info, object);
	for (unsigned int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			object_dynamic(
				(const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
				object);
	return object->symbols && object->strings && object->gnu_hash;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		hash = hash * 33 + *c;
	return hash;
}

static void *symbol_address(const struct object *object, uint32_t index, const char *name)
{
	const Elf64_Sym *symbol = &object->symbols[index];
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) == STB_LOCAL)
		return NULL;
	/* An STT_GNU_IFUNC would have to be called to be resolved, a TLS symbol has no address. */
	if (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE)
		return NULL;
	if (object->versions && object->versions[index] & VERSION_HIDDEN)
		return NULL;
	if (!string_is(object->strings + symbol->st_name, name))
		return NULL;
	return (void *)(object->base + symbol->st_value);
}

void *object_symbol(const struct object *object, const char *name)
{
	const uint32_t *table = object->gnu_hash;
	uint32_t bucket_count = table[0], first = table[1], bloom_count = table[2];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(table + 4);
	const uint32_t *buckets = (const uint32_t *)(bloom + bloom_count);
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = gnu_hash(name);
	uint32_t index;

	if (!bucket_count)
		return NULL;
	index = buckets[hash % bucket_count];
	if (index < first)
		return NULL;
	for (;; index++) {
		uint32_t entry = chain[index - first];

		if ((entry | 1) == (hash | 1)) {
			void *address = symbol_address(object, index, name);

			if (address)
				return address;
		}
		if (entry & 1)
			return NULL;
	}
}

typedef int (*walk_fn)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

/* The program's list of loaded objects, by its dynamic section's entry for debuggers. NULL: a
 * program without one. */
static const struct link_map *first_loaded(void)
{
	const ElfW(Phdr) *segments = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long count = segments ? getauxval(AT_PHNUM) : 0;
	const ElfW(Dyn) *dynamic = NULL;
	uintptr_t base = 0;

	/* PT_PHDR comes first, and says where the table was meant to lie. */
	for (unsigned long i = 0; i < count; i++) {
		if (segments[i].p_type == PT_PHDR)
			base = (uintptr_t)segments - segments[i].p_vaddr;
		if (segments[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(base + segments[i].p_vaddr);
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
		if (dynamic->d_tag == DT_DEBUG && dynamic->d_un.d_ptr)
			return ((const struct r_debug *)dynamic->d_un.d_ptr)->r_map;
	return NULL;
}

/*
 * libc's own dl_iterate_phdr. A sanitizer's runtime that is loaded before us has one too, and
 * cannot be called while it is itself looking up what it replaces. This one walk goes without the
 * loader's lock: it happens at the first look-up of all, before there are threads to unload
 * anything.
 */
static walk_fn walk_find(void)
{
	const struct link_map *loaded = first_loaded();
	void *found = NULL;

	for (; loaded && !found; loaded = loaded->l_next) {
		struct object object = {.base = loaded->l_addr};

		object_dynamic(loaded->l_ld, &object);
		if (object.soname && string_is(object.soname, "libc.so.6") && object.symbols &&
		    object.gnu_hash)
			found = object_symbol(&object, "dl_iterate_phdr");
	}
	return found ? (walk_fn)found : dl_iterate_phdr;
}

static int object_walk(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data)
{
	static _Atomic(walk_fn) known;
	walk_fn walk = atomic_load_explicit(&known, memory_order_relaxed);

	if (!walk) {
		walk = walk_find();
		atomic_store_explicit(&known, walk, memory_order_relaxed);
	}
	return walk(visit, data);
}

static bool is_driver(const struct object *object)
{
	return (object->soname && string_is(object->soname, "libcuda.so.1")) ||
	       string_begins(string_file(object->path), "libcuda.so");
}

static int visit_driver(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object *object = data;

	return object_read(info, object) && is_driver(object) && object_symbol(object, "cuInit");
}

bool object_find_driver(struct object *ret_object)
{
	return object_walk(visit_driver, ret_object) != 0;
}

struct definer_search {
	const void *address;
	const char *name;
	bool passed;
	struct object *object;
	void *symbol;
};

static int visit_definer(struct dl_phdr_info *info, size_t size, void *data)
{
	struct definer_search *search = data;
	bool has_symbols = object_read(info, search->object);

	if (!search->passed) {
		search->passed = object_holds(search->object, search->address);
		return 0;
	}
	if (!has_symbols)
		return 0;
	search->symbol = object_symbol(search->object, search->name);
	return search->symbol != NULL;
}

bool object_find_definer(const void *address, const char *name, struct object *ret_object,
			 void **ret_symbol)
{
	struct definer_search search = {
		.address = address, .name = name, .passed = !address, .object = ret_object};

	if (!object_walk(visit_definer, &search))
		return false;
	*ret_symbol = search.symbol;
	return true;
}

static int visit_libc(struct dl_phdr_info *info, size_t size, void *data)
{
	struct definer_search *search = data;

	if (!object_read(info, search->object) || !search->object->soname)
		return 0;
	if (!string_is(search->object->soname, "libc.so.6") &&
	    !string_is(search->object->soname, "libdl.so.2"))
		return 0;
	search->symbol = object_symbol(search->object, search->name);
	return search->symbol != NULL;
}

void *object_libc_symbol(const char *name)
{
	struct object object;
	struct definer_search search = {.name = name, .object = &object};

	return object_walk(visit_libc, &search) ? search.symbol : NULL;
}

static int visit_first(struct dl_phdr_info *info, size_t size, void *data)
{
	*(unsigned long long *)data = info->dlpi_subs;
	return 1;
}

unsigned long long object_unloads(void)
{
	unsigned long long unloads = 0;

	object_walk(visit_first, &unloads);
	return unloads;
}
