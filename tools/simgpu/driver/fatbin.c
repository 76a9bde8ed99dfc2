/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "driver/fatbin.h"

#define HEADER_BYTES 16
#define ENTRY_MIN_BYTES 64 /* up to and with the expanded length */
#define EXPANDED_MAX ((uint64_t)1 << 30)
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u

static uint16_t get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* u32 magic, u16 version, u16 bytes of this header, u64 bytes that follow it */
uint64_t fatbin_size(const void *fatbin, uint64_t limit)
{
	const uint8_t *at = fatbin;
	uint64_t header, rest;

	if (limit < HEADER_BYTES || get32(at) != FATBIN_MAGIC)
		return 0;
	header = get16(at + 6);
	rest = get64(at + 8);
	if (header < HEADER_BYTES || header > limit || rest > limit - header)
		return 0;
	return header + rest;
}

/* u16 kind, u16 version, u32 bytes of this header, u64 of the payload; at 16 u32 the compressed
 * bytes, at 28 u32 the architecture, at 40 u64 flags, at 56 u64 the expanded bytes. */
static bool read_entry(const uint8_t *at, uint64_t limit, struct fatbin_entry *ret_entry,
		       uint64_t *ret_total)
{
	uint64_t header;

	if (limit < ENTRY_MIN_BYTES)
		return false;
	header = get32(at + 4);
	if (header < ENTRY_MIN_BYTES || header > limit || get64(at + 8) > limit - header)
		return false;
	ret_entry->kind = get16(at);
	ret_entry->payload = at + header;
	ret_entry->payload_bytes = get64(at + 8);
	ret_entry->stored_bytes = get32(at + 16);
	ret_entry->arch = get32(at + 28);
	ret_entry->flags = get64(at + 40);
	ret_entry->full_bytes = get64(at + 56);
	*ret_total = header + ret_entry->payload_bytes;
	return true;
}

int fatbin_walk(const void *fatbin, uint64_t limit,
		bool (*each)(void *arg, const struct fatbin_entry *entry), void *arg,
		const char **ret_error)
{
	uint64_t size = fatbin_size(fatbin, limit), at;

	if (size == 0) {
		*ret_error = "the fat binary's header is damaged";
		return -EINVAL;
	}
	for (at = get16((const uint8_t *)fatbin + 6); at < size;) {
		struct fatbin_entry entry;
		uint64_t total;

		if (!read_entry((const uint8_t *)fatbin + at, size - at, &entry, &total)) {
			*ret_error = "an entry of the fat binary does not lie within it";
			return -EINVAL;
		}
		at += total;
		if ((entry.kind == FATBIN_PTX || entry.kind == FATBIN_ELF) && !each(arg, &entry))
			return 0;
	}
	return 0;
}

static bool expand_zstd(const struct fatbin_entry *entry, char *content)
{
	size_t bytes =
		ZSTD_decompress(content, entry->full_bytes, entry->payload, entry->stored_bytes);

	return !ZSTD_isError(bytes) && bytes == entry->full_bytes;
}

static bool expand_lz4(const struct fatbin_entry *entry, char *content)
{
	if (entry->stored_bytes > INT_MAX)
		return false;
	return LZ4_decompress_safe((const char *)entry->payload, content, (int)entry->stored_bytes,
				   (int)entry->full_bytes) == (int)entry->full_bytes;
}

int fatbin_expand(const struct fatbin_entry *entry, char **ret_content, uint64_t *ret_bytes,
		  const char **ret_error)
{
	bool packed = entry->flags & (FLAG_LZ4 | FLAG_ZSTD), fine = true;
	uint64_t bytes = packed ? entry->full_bytes : entry->payload_bytes;
	char *content;

	if (bytes > EXPANDED_MAX || (packed && entry->stored_bytes > entry->payload_bytes)) {
		*ret_error = "the lengths of an entry of the fat binary make no sense";
		return -EINVAL;
	}
	content = malloc(bytes + 1);
	if (!content) {
		*ret_error = "no memory to expand the fat binary";
		return -ENOMEM;
	}
	if (entry->flags & FLAG_ZSTD)
		fine = expand_zstd(entry, content);
	else if (entry->flags & FLAG_LZ4)
		fine = expand_lz4(entry, content);
	else
		memcpy(content, entry->payload, bytes);
	if (!fine) {
		free(content);
		*ret_error = "compressed code in the fat binary is damaged";
		return -EINVAL;
	}
	content[bytes] = '\0';
	*ret_content = content;
	*ret_bytes = bytes;
	return 0;
}
