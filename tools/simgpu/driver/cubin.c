/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>

#include "driver/cubin.h"

#define MAX_PARAMS 1024
#define MAX_PARAM_BYTES 32764

/* Attributes of .nv.info.<kernel>, as nvcc 13.0 writes them: u8 format, u8 attribute, u16 length;
 * format 4 has that many bytes behind it, the others none. */
#define FORMAT_SIZED 4
#define ATTRIBUTE_PARAM 0x17 /* 12 bytes: at 4 u16 ordinal, at 6 u16 offset, at 8 u32 size << 18 */

/* In a symbol's st_other: a managed variable. */
#define OTHER_MANAGED 4

struct cubin {
	const uint8_t *base;
	uint64_t bytes;
	Elf64_Ehdr header;
	const char *names;
	uint64_t names_bytes;
};

struct param {
	uint32_t offset, bytes;
	bool is_known;
};

uint64_t cubin_size(const void *elf)
{
	Elf64_Ehdr header;
	uint64_t sections, segments;

	memcpy(&header, elf, sizeof(header));
	sections = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	segments = header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize;
	return sections > segments ? sections : segments;
}

static bool is_inside(const struct cubin *cubin, uint64_t offset, uint64_t bytes)
{
	return offset <= cubin->bytes && bytes <= cubin->bytes - offset;
}

static bool get_section(const struct cubin *cubin, uint32_t index, Elf64_Shdr *ret_section)
{
	if (index >= cubin->header.e_shnum)
		return false;
	memcpy(ret_section,
	       cubin->base + cubin->header.e_shoff + (uint64_t)index * sizeof(*ret_section),
	       sizeof(*ret_section));
	return ret_section->sh_type == SHT_NOBITS ||
	       is_inside(cubin, ret_section->sh_offset, ret_section->sh_size);
}

/* A NUL-terminated name in a string table, "" where it does not lie within. */
static const char *name_at(const char *names, uint64_t bytes, uint64_t at)
{
	return at < bytes && memchr(names + at, 0, bytes - at) ? names + at : "";
}

static const char *section_name(const struct cubin *cubin, const Elf64_Shdr *section)
{
	return name_at(cubin->names, cubin->names_bytes, section->sh_name);
}

static bool open_cubin(struct cubin *cubin, const void *elf, uint64_t bytes)
{
	Elf64_Shdr names;

	cubin->base = elf;
	cubin->bytes = bytes;
	if (bytes < sizeof(cubin->header))
		return false;
	memcpy(&cubin->header, elf, sizeof(cubin->header));
	if (memcmp(cubin->header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    cubin->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    cubin->header.e_shentsize != sizeof(Elf64_Shdr) ||
	    !is_inside(cubin, cubin->header.e_shoff,
		       (uint64_t)cubin->header.e_shnum * sizeof(Elf64_Shdr)))
		return false;
	if (!get_section(cubin, cubin->header.e_shstrndx, &names) || names.sh_type == SHT_NOBITS)
		return false;
	cubin->names = (const char *)elf + names.sh_offset;
	cubin->names_bytes = names.sh_size;
	return true;
}

static bool find_section(const struct cubin *cubin, const char *prefix, const char *name,
			 Elf64_Shdr *ret_section)
{
	size_t length = strlen(prefix);

	for (uint32_t i = 0; i < cubin->header.e_shnum; i++) {
		const char *found;

		if (!get_section(cubin, i, ret_section))
			continue;
		found = section_name(cubin, ret_section);
		if (strncmp(found, prefix, length) == 0 && strcmp(found + length, name) == 0)
			return ret_section->sh_type != SHT_NOBITS;
	}
	return false;
}

static void note_param(struct param *param, const uint8_t *at)
{
	uint16_t ordinal, offset;
	uint32_t size;

	memcpy(&ordinal, at + 4, sizeof(ordinal));
	memcpy(&offset, at + 6, sizeof(offset));
	memcpy(&size, at + 8, sizeof(size));
	if (ordinal >= MAX_PARAMS)
		return;
	param[ordinal].offset = offset;
	param[ordinal].bytes = size >> 18;
	param[ordinal].is_known = true;
}

static void read_params(const struct cubin *cubin, const Elf64_Shdr *info, struct param *param)
{
	const uint8_t *base = cubin->base + info->sh_offset;
	uint64_t at = 0;

	while (at + 4 <= info->sh_size) {
		uint16_t length = 0;

		if (base[at] == FORMAT_SIZED)
			memcpy(&length, base + at + 2, sizeof(length));
		if (length > info->sh_size - at - 4)
			return;
		if (base[at + 1] == ATTRIBUTE_PARAM && length >= 12)
			note_param(param, base + at + 4);
		at += 4u + length;
	}
}

static bool is_identifier(const char *name)
{
	if (!*name || (*name >= '0' && *name <= '9'))
		return false;
	return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				 "0123456789_$")] == '\0';
}

/* An alignment under which the parameter comes to lie where the machine code expects it. */
static uint32_t align_for(uint64_t end, uint32_t offset)
{
	uint32_t align = 16;

	while (align > 1 && (end + align - 1) / align * align != offset)
		align /= 2;
	return align;
}

static void write_kernel(FILE *out, const char *name, const struct param *param)
{
	uint64_t end = 0;

	fprintf(out, ".visible .entry %s(", name);
	for (int i = 0; i < MAX_PARAMS && param[i].is_known; i++) {
		if (param[i].offset < end || param[i].bytes == 0 ||
		    param[i].offset + param[i].bytes > MAX_PARAM_BYTES)
			break;
		fprintf(out, "%s\n.param .align %u .b8 p%d[%u]", i ? "," : "",
			align_for(end, param[i].offset), i, param[i].bytes);
		end = param[i].offset + param[i].bytes;
	}
	fprintf(out, "\n)\n{\n\tret;\n}\n");
}

static int write_kernels(const struct cubin *cubin, FILE *out)
{
	struct param *param = calloc(MAX_PARAMS, sizeof(*param));

	if (!param)
		return -ENOMEM;
	for (uint32_t i = 0; i < cubin->header.e_shnum; i++) {
		Elf64_Shdr section, info;
		const char *name;

		if (!get_section(cubin, i, &section))
			continue;
		name = section_name(cubin, &section);
		if (strncmp(name, ".text.", 6) != 0 || !is_identifier(name + 6) ||
		    !find_section(cubin, ".nv.info.", name + 6, &info))
			continue;
		memset(param, 0, MAX_PARAMS * sizeof(*param));
		read_params(cubin, &info, param);
		write_kernel(out, name + 6, param);
	}
	free(param);
	return 0;
}

/* .const has at most 64 KiB in PTX, which a variable of .nv.constant3 fits. */
static const char *space_of(const struct cubin *cubin, const Elf64_Sym *symbol)
{
	Elf64_Shdr section;
	const char *name;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size == 0 ||
	    !get_section(cubin, symbol->st_shndx, &section))
		return NULL;
	name = section_name(cubin, &section);
	if (strcmp(name, ".nv.global") == 0 || strcmp(name, ".nv.global.init") == 0)
		return ".global";
	return strcmp(name, ".nv.constant3") == 0 ? ".const" : NULL;
}

static void write_variables(const struct cubin *cubin, FILE *out)
{
	Elf64_Shdr table, names;

	for (uint32_t i = 0; i < cubin->header.e_shnum; i++) {
		if (!get_section(cubin, i, &table) || table.sh_type != SHT_SYMTAB ||
		    !get_section(cubin, table.sh_link, &names) || names.sh_type != SHT_STRTAB)
			continue;
		for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size;
		     at += sizeof(Elf64_Sym)) {
			Elf64_Sym symbol;
			const char *name, *space;

			memcpy(&symbol, cubin->base + table.sh_offset + at, sizeof(symbol));
			space = space_of(cubin, &symbol);
			name = name_at((const char *)cubin->base + names.sh_offset, names.sh_size,
				       symbol.st_name);
			if (space && is_identifier(name))
				fprintf(out, ".visible %s%s .align 16 .b8 %s[%llu];\n", space,
					symbol.st_other & OTHER_MANAGED ? " .attribute(.managed)"
									: "",
					name, (unsigned long long)symbol.st_size);
		}
	}
}

int cubin_to_ptx(const void *elf, uint64_t bytes, char **ret_text, const char **ret_error)
{
	struct cubin cubin;
	size_t length;
	FILE *out;
	int err;

	if (!open_cubin(&cubin, elf, bytes)) {
		*ret_error = "the machine code is damaged";
		return -EINVAL;
	}
	*ret_error = "no memory for the code";
	*ret_text = NULL;
	out = open_memstream(ret_text, &length);
	if (!out)
		return -ENOMEM;
	fprintf(out, ".version 7.5\n.target sm_75\n.address_size 64\n");
	write_variables(&cubin, out);
	err = write_kernels(&cubin, out);
	if (fclose(out) != 0 && !err)
		err = -ENOMEM;
	if (err) {
		free(*ret_text);
		*ret_text = NULL;
	}
	return err;
}
