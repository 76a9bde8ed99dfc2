/* SPDX-License-Identifier: Apache-2.0 */

/* Fat binaries: what nvcc writes is found, whatever is damaged is refused, and nothing outside of
 * the container is read (which the address sanitizer sees, since each lies in its own block). */

#include <check.h>
#include <elf.h>
#include <errno.h>
#include <lz4.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "simgpu/driver/fatbin.h"
#include "simgpu/driver/image.h"
#include "simgpu/driver/ptx_join.h"
#include "simgpu/driver/cubin.h"

#define LZ4_FLAG 0x2000u
#define ZSTD_FLAG 0x8000u
#define ENTRY_BYTES 64

struct builder {
	uint8_t *bytes;
	size_t count;
};

static void put(struct builder *builder, const void *data, size_t count)
{
	builder->bytes = realloc(builder->bytes, builder->count + count);
	ck_assert_ptr_nonnull(builder->bytes);
	memcpy(builder->bytes + builder->count, data, count);
	builder->count += count;
}

static void begin(struct builder *builder)
{
	uint32_t magic = FATBIN_MAGIC;
	uint16_t version = 1, size = 16;
	uint64_t rest = 0;

	memset(builder, 0, sizeof(*builder));
	put(builder, &magic, 4);
	put(builder, &version, 2);
	put(builder, &size, 2);
	put(builder, &rest, 8);
}

static void end(struct builder *builder)
{
	uint64_t rest = builder->count - 16;

	memcpy(builder->bytes + 8, &rest, sizeof(rest));
}

static void add(struct builder *builder, uint16_t kind, uint32_t arch, uint32_t flag,
		const void *content, size_t bytes)
{
	uint8_t header[ENTRY_BYTES] = {0}, packed[4096] = {0};
	uint32_t header_bytes = ENTRY_BYTES, stored = 0;
	uint64_t flags = 0x11u | flag, full = bytes, padded;

	ck_assert_uint_le(bytes, 2048);
	memcpy(packed, content, bytes);
	if (flag & ZSTD_FLAG)
		stored = (uint32_t)ZSTD_compress(packed, sizeof(packed), content, bytes, 3);
	if (flag & LZ4_FLAG)
		stored = (uint32_t)LZ4_compress_default(content, (char *)packed, (int)bytes,
							sizeof(packed));
	padded = ((stored ? stored : bytes) + 7) / 8 * 8;
	memcpy(header, &kind, 2);
	memcpy(header + 4, &header_bytes, 4);
	memcpy(header + 8, &padded, 8);
	memcpy(header + 16, &stored, 4);
	memcpy(header + 28, &arch, 4);
	memcpy(header + 40, &flags, 8);
	memcpy(header + 56, &full, 8);
	put(builder, header, sizeof(header));
	put(builder, packed, padded);
}

static void add_text(struct builder *builder, uint32_t arch, uint32_t flag, const char *text)
{
	add(builder, FATBIN_PTX, arch, flag, text, strlen(text));
}

static void expect_text(const void *image, uint64_t bytes, uint32_t cc, const char *expected)
{
	struct image_want want = {.cc = cc};
	struct image_found found;
	struct ptx_error error;

	ck_assert_int_eq(image_find_ptx(image, bytes, &want, &found, &error), CUDA_SUCCESS);
	ck_assert_str_eq(found.text, expected);
	ck_assert(!found.timing_only);
	free(found.text);
}

static void expect_refusal(const void *image, uint64_t bytes, uint32_t cc, CUresult expected)
{
	struct image_want want = {.cc = cc};
	struct image_found found;
	struct ptx_error error;

	ck_assert_int_eq(image_find_ptx(image, bytes, &want, &found, &error), expected);
	ck_assert_str_ne(error.text, "");
}

START_TEST(test_each_compression)
{
	static const uint32_t flag[] = {0, LZ4_FLAG, ZSTD_FLAG};

	for (int i = 0; i < 3; i++) {
		struct builder builder;

		begin(&builder);
		add_text(&builder, 75, flag[i], ".version 7.5 // aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
		end(&builder);
		expect_text(builder.bytes, builder.count, 90,
			    ".version 7.5 // aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
		expect_text(builder.bytes, IMAGE_UNKNOWN, 75,
			    ".version 7.5 // aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
		free(builder.bytes);
	}
}
END_TEST

START_TEST(test_newest_that_is_not_too_new)
{
	struct builder builder;

	begin(&builder);
	add(&builder, FATBIN_ELF, 90, 0, "elf", 3);
	add_text(&builder, 75, 0, "75");
	add_text(&builder, 90, 0, "90");
	add_text(&builder, 80, 0, "80");
	end(&builder);
	expect_text(builder.bytes, builder.count, 75, "75");
	expect_text(builder.bytes, builder.count, 89, "80");
	expect_text(builder.bytes, builder.count, 90, "90");
	expect_text(builder.bytes, builder.count, 100, "90");
	expect_refusal(builder.bytes, builder.count, 70, CUDA_ERROR_NO_BINARY_FOR_GPU);
	free(builder.bytes);
}
END_TEST

START_TEST(test_machine_code_alone)
{
	struct builder builder;

	begin(&builder);
	add(&builder, FATBIN_ELF, 90, 0, "elf", 3);
	end(&builder);
	expect_refusal(builder.bytes, builder.count, 90, CUDA_ERROR_NO_BINARY_FOR_GPU);
	expect_refusal("\177ELF", 4, 90, CUDA_ERROR_NO_BINARY_FOR_GPU);
	free(builder.bytes);
}
END_TEST

START_TEST(test_wrappers)
{
	struct {
		uint32_t magic, version;
		const void *data, *aux;
	} wrapper = {FATBIN_WRAPPER_MAGIC, 1, NULL, NULL};
	const void *member[3] = {NULL, NULL, NULL};
	struct builder one, other;

	begin(&one);
	add_text(&one, 75, 0, ".version 8.0\n.target sm_75\n.address_size 64\n.a");
	end(&one);
	begin(&other);
	add_text(&other, 75, ZSTD_FLAG, ".version 8.0\n.target sm_75\n.address_size 64\n.b");
	end(&other);
	wrapper.data = one.bytes;
	expect_text(&wrapper, IMAGE_UNKNOWN, 90,
		    ".version 8.0\n.target sm_75\n.address_size 64\n.a");
	/* Relocatable code: the parts that were linked make one text, with one head. */
	wrapper.version = 2;
	wrapper.data = "linked";
	wrapper.aux = member;
	expect_refusal(&wrapper, IMAGE_UNKNOWN, 90, CUDA_ERROR_INVALID_IMAGE);
	member[0] = one.bytes;
	member[1] = other.bytes;
	expect_text(&wrapper, IMAGE_UNKNOWN, 90,
		    ".version 8.0\n.target sm_75\n.address_size 64\n.a\n\n.b\n\n\n\n");
	wrapper.version = 3;
	expect_refusal(&wrapper, IMAGE_UNKNOWN, 90, CUDA_ERROR_INVALID_IMAGE);
	free(one.bytes);
	free(other.bytes);
}
END_TEST

/* Functions come after the variables of all texts, whatever braces those have. */
START_TEST(test_join)
{
	static const char one[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
				  ".extern .global .u32 x; // .entry {\n"
				  ".extern .func f(.param .u32 a);\n"
				  ".global .b8 y[2] = {1, 2};\n"
				  ".visible .entry k() { { ld.global.u32 %r1, [x]; } }\n";
	static const char other[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
				    ".visible .global .u32 x = 5;\n"
				    ".visible .func f(.param .u32 a)\n{ ret; }\n";
	struct ptx_join join = {.head = NULL};
	char *text;

	ck_assert_int_eq(ptx_join_add(&join, one), 0);
	ck_assert_int_eq(ptx_join_add(&join, other), 0);
	text = ptx_join_end(&join);
	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_null(strstr(strstr(text, ".version") + 1, ".version"));
	ck_assert(strstr(text, "y[2]") < strstr(text, "x = 5"));
	ck_assert(strstr(text, "x = 5") < strstr(text, ".visible .entry k"));
	ck_assert(strstr(text, ".visible .entry k") < strstr(text, ".visible .func f"));
	ck_assert_uint_eq(strlen(text), sizeof(one) + sizeof(other) - 2 -
						strlen(".version 8.0\n.target sm_75\n"
						       ".address_size 64") +
						5);
	free(text);
	ck_assert_ptr_null(ptx_join_end(&join));
}
END_TEST

START_TEST(test_text)
{
	expect_text(".version 8.0", IMAGE_UNKNOWN, 75, ".version 8.0");
	expect_text("\n\t// made by hand\n.version 8.0", IMAGE_UNKNOWN, 75,
		    "\n\t// made by hand\n.version 8.0");
	expect_text(".version 8.0", 8, 75, ".version");
	expect_refusal("", IMAGE_UNKNOWN, 75, CUDA_ERROR_INVALID_IMAGE);
	expect_refusal("P", IMAGE_UNKNOWN, 75, CUDA_ERROR_INVALID_IMAGE);
	expect_refusal("hello", IMAGE_UNKNOWN, 75, CUDA_ERROR_INVALID_IMAGE);
}
END_TEST

static void build_mixed(struct builder *builder)
{
	begin(builder);
	add_text(builder, 75, ZSTD_FLAG, ".version 7.5 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	add_text(builder, 80, LZ4_FLAG, ".version 8.0 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
	add(builder, FATBIN_ELF, 80, 0, "elf", 3);
	end(builder);
}

/* In a block of just its size, so that a read behind it is seen. */
static CUresult find_in_copy(const uint8_t *bytes, size_t count, uint32_t cc)
{
	struct image_want want = {.cc = cc, .timing_only = true};
	uint8_t *copy = malloc(count ? count : 1);
	struct image_found found;
	struct ptx_error error;
	CUresult result;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, count);
	result = image_find_ptx(copy, count, &want, &found, &error);
	if (result == CUDA_SUCCESS)
		free(found.text);
	else
		ck_assert_str_ne(error.text, "");
	free(copy);
	return result;
}

START_TEST(test_truncated_anywhere)
{
	struct builder builder;

	build_mixed(&builder);
	ck_assert_int_eq(find_in_copy(builder.bytes, builder.count, 75), CUDA_SUCCESS);
	for (size_t count = 0; count < builder.count; count++)
		ck_assert_int_ne(find_in_copy(builder.bytes, count, 75), CUDA_SUCCESS);
	free(builder.bytes);
}
END_TEST

/* Any byte may be anything: an answer or an error, and no read outside. */
START_TEST(test_damaged_anywhere)
{
	static const uint8_t value[] = {0, 1, 0x7f, 0x80, 0xff};
	struct builder builder;
	unsigned int refused = 0;

	build_mixed(&builder);
	for (size_t at = 0; at < builder.count; at++) {
		uint8_t kept = builder.bytes[at];

		for (size_t i = 0; i < sizeof(value); i++) {
			builder.bytes[at] = value[i];
			refused += find_in_copy(builder.bytes, builder.count, 80) != CUDA_SUCCESS;
		}
		builder.bytes[at] = kept;
	}
	ck_assert_uint_gt(refused, 100);
	free(builder.bytes);
}
END_TEST

START_TEST(test_lengths_that_lie)
{
	struct builder builder;
	struct fatbin_entry entry = {.kind = FATBIN_PTX, .flags = ZSTD_FLAG};
	const char *text = NULL;
	char *content;
	uint64_t bytes, huge = UINT64_MAX - 8;

	build_mixed(&builder);
	memcpy(builder.bytes + 8, &huge, sizeof(huge));
	ck_assert_uint_eq(fatbin_size(builder.bytes, builder.count), 0);
	free(builder.bytes);
	entry.payload = (const uint8_t *)"";
	entry.full_bytes = UINT64_MAX;
	ck_assert_int_eq(fatbin_expand(&entry, &content, &bytes, &text), -EINVAL);
	ck_assert_ptr_nonnull(text);
	entry.full_bytes = 8;
	entry.stored_bytes = 9;
	entry.payload_bytes = 8;
	ck_assert_int_eq(fatbin_expand(&entry, &content, &bytes, &text), -EINVAL);
}
END_TEST

/* ---- machine code, for timing alone ---- */

struct elf {
	Elf64_Ehdr header;
	Elf64_Shdr section[4];
	char names[64];
	uint8_t text[16];
	uint8_t info[40];
};

/* An attribute of .nv.info that describes a parameter. */
static void param(uint8_t *at, uint16_t ordinal, uint16_t offset, uint32_t size)
{
	uint16_t length = 12;

	at[0] = 4;
	at[1] = 0x17;
	memcpy(at + 2, &length, 2);
	memcpy(at + 8, &ordinal, 2);
	memcpy(at + 10, &offset, 2);
	size <<= 18;
	memcpy(at + 12, &size, 4);
}

static void section(struct elf *elf, int index, uint32_t name, size_t at, size_t bytes)
{
	elf->section[index].sh_name = name;
	elf->section[index].sh_type = SHT_PROGBITS;
	elf->section[index].sh_offset = at;
	elf->section[index].sh_size = bytes;
}

static void build_elf(struct elf *elf)
{
	static const char names[] = "\0.shstrtab\0.text.k\0.nv.info.k";

	memset(elf, 0, sizeof(*elf));
	memcpy(elf->header.e_ident, ELFMAG, SELFMAG);
	elf->header.e_ident[EI_CLASS] = ELFCLASS64;
	elf->header.e_shoff = offsetof(struct elf, section);
	elf->header.e_shentsize = sizeof(Elf64_Shdr);
	elf->header.e_shnum = 4;
	elf->header.e_shstrndx = 1;
	memcpy(elf->names, names, sizeof(names));
	section(elf, 1, 1, offsetof(struct elf, names), sizeof(elf->names));
	section(elf, 2, 11, offsetof(struct elf, text), sizeof(elf->text));
	section(elf, 3, 19, offsetof(struct elf, info), sizeof(elf->info));
	param(elf->info, 1, 8, 4);
	param(elf->info + 16, 0, 0, 8);
}

START_TEST(test_machine_code_for_timing)
{
	struct image_want want = {.cc = 90, .timing_only = true};
	struct image_found found;
	struct ptx_error error;
	struct elf elf;

	build_elf(&elf);
	ck_assert_uint_eq(cubin_size(&elf), offsetof(struct elf, section) + sizeof(elf.section));
	ck_assert_int_eq(image_find_ptx(&elf, sizeof(elf), &want, &found, &error), CUDA_SUCCESS);
	ck_assert(found.timing_only);
	ck_assert_ptr_nonnull(strstr(found.text, ".entry k("));
	ck_assert_ptr_nonnull(strstr(found.text, "p0[8]"));
	ck_assert_ptr_nonnull(strstr(found.text, "p1[4]"));
	free(found.text);
}
END_TEST

START_TEST(test_damaged_machine_code)
{
	static const uint8_t value[] = {0, 1, 0x7f, 0x80, 0xff};
	struct elf elf;
	uint8_t *bytes = (uint8_t *)&elf;
	unsigned int refused = 0;

	build_elf(&elf);
	for (size_t count = 0; count < offsetof(struct elf, names); count++)
		ck_assert_int_ne(find_in_copy(bytes, count, 90), CUDA_SUCCESS);
	for (size_t at = 0; at < sizeof(elf); at++) {
		uint8_t kept = bytes[at];

		for (size_t i = 0; i < sizeof(value); i++) {
			bytes[at] = value[i];
			refused += find_in_copy(bytes, sizeof(elf), 90) != CUDA_SUCCESS;
		}
		bytes[at] = kept;
	}
	ck_assert_uint_gt(refused, 50);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fatbin");
	TCase *tcase = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_each_compression);
	tcase_add_test(tcase, test_newest_that_is_not_too_new);
	tcase_add_test(tcase, test_machine_code_alone);
	tcase_add_test(tcase, test_wrappers);
	tcase_add_test(tcase, test_join);
	tcase_add_test(tcase, test_text);
	tcase_add_test(tcase, test_truncated_anywhere);
	tcase_add_test(tcase, test_damaged_anywhere);
	tcase_add_test(tcase, test_lengths_that_lie);
	tcase_add_test(tcase, test_machine_code_for_timing);
	tcase_add_test(tcase, test_damaged_machine_code);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
