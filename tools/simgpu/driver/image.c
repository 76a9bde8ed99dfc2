/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/cubin.h"
#include "driver/fatbin.h"
#include "driver/image.h"
#include "driver/ptx_join.h"

#define MAX_FILE ((off_t)1 << 30)
#define MAX_MEMBERS 4096

/* What nvcc's objects hold: version 1 points to a fat binary; version 2 (relocatable code) to one
 * of linked machine code, and to a list of those that were linked, which still hold their PTX. */
struct wrapper {
	uint32_t magic, version;
	const void *data;
	const void *aux;
};

struct choice {
	uint32_t cc;
	struct fatbin_entry ptx, elf;
	bool has_ptx, has_elf, has_newer;
};

static CUresult fail(struct ptx_error *error, CUresult result, const char *text)
{
	error->line = 0;
	snprintf(error->text, sizeof(error->text), "%s", text);
	return result;
}

static bool consider(void *arg, const struct fatbin_entry *entry)
{
	struct choice *choice = arg;

	if (entry->kind == FATBIN_ELF) {
		/* Machine code runs on its own major version, from its minor one on. */
		if (entry->arch / 10 == choice->cc / 10 &&
		    (!choice->has_elf || entry->arch > choice->elf.arch)) {
			choice->elf = *entry;
			choice->has_elf = true;
		}
	} else if (entry->arch > choice->cc) {
		choice->has_newer = true;
	} else if (!choice->has_ptx || entry->arch > choice->ptx.arch) {
		choice->ptx = *entry;
		choice->has_ptx = true;
	}
	return true;
}

static CUresult no_binary(const struct choice *choice, struct ptx_error *error)
{
	error->line = 0;
	snprintf(
		error->text, sizeof(error->text),
		choice->has_newer
			? "the code holds PTX for newer devices than %u.%u alone: compile with "
			  "-arch=compute_75, or simulate a newer device"
			: "the code holds no PTX for a device of compute capability %u.%u: compile "
			  "with -arch=compute_75 (SIMGPU_TIMING_ONLY=1 runs kernels as no-ops)",
		choice->cc / 10, choice->cc % 10);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult expand(const struct fatbin_entry *entry, char **ret_content, uint64_t *ret_bytes,
		       struct ptx_error *error)
{
	const char *text = NULL;
	int err = fatbin_expand(entry, ret_content, ret_bytes, &text);

	if (err)
		return fail(error,
			    err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE,
			    text);
	return CUDA_SUCCESS;
}

static CUresult from_cubin(const void *elf, uint64_t bytes, struct image_found *found,
			   struct ptx_error *error)
{
	const char *text = NULL;
	int err = cubin_to_ptx(elf, bytes, &found->text, &text);

	if (err)
		return fail(error,
			    err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE,
			    text);
	found->timing_only = true;
	return CUDA_SUCCESS;
}

static CUresult from_fatbin(const void *fatbin, uint64_t limit, const struct image_want *want,
			    struct image_found *found, struct ptx_error *error)
{
	struct choice choice = {.cc = want->cc};
	const char *text = NULL;
	uint64_t bytes;
	char *elf;
	CUresult result;

	if (fatbin_walk(fatbin, limit, consider, &choice, &text))
		return fail(error, CUDA_ERROR_INVALID_IMAGE, text);
	if (choice.has_ptx)
		return expand(&choice.ptx, &found->text, &bytes, error);
	if (!want->timing_only || !choice.has_elf)
		return no_binary(&choice, error);
	result = expand(&choice.elf, &elf, &bytes, error);
	if (result != CUDA_SUCCESS)
		return result;
	result = from_cubin(elf, bytes, found, error);
	free(elf);
	return result;
}

/* ---- relocatable code: several texts become one ---- */

static CUresult add_member(struct ptx_join *join, const void *fatbin, const struct image_want *want,
			   struct image_found *found, struct ptx_error *error)
{
	struct image_found member = {.text = NULL};
	CUresult result = from_fatbin(fatbin, IMAGE_UNKNOWN, want, &member, error);

	if (result == CUDA_SUCCESS && ptx_join_add(join, member.text))
		result = fail(error, CUDA_ERROR_OUT_OF_MEMORY, "no memory for the PTX");
	found->timing_only = found->timing_only || member.timing_only;
	free(member.text);
	return result;
}

static CUresult from_members(const void *const *member, const struct image_want *want,
			     struct image_found *found, struct ptx_error *error)
{
	struct ptx_join join = {.head = NULL};
	CUresult result = CUDA_SUCCESS;
	int count = 0;

	while (result == CUDA_SUCCESS && member[count] && count < MAX_MEMBERS)
		result = add_member(&join, member[count++], want, found, error);
	if (result == CUDA_SUCCESS && (count == 0 || count == MAX_MEMBERS))
		result = fail(error, CUDA_ERROR_INVALID_IMAGE,
			      "the list of linked fat binaries is empty or has no end");
	if (result != CUDA_SUCCESS) {
		ptx_join_drop(&join);
		return result;
	}
	found->text = ptx_join_end(&join);
	return found->text ? CUDA_SUCCESS
			   : fail(error, CUDA_ERROR_OUT_OF_MEMORY, "no memory for the PTX");
}

static CUresult from_wrapper(const void *image, const struct image_want *want,
			     struct image_found *found, struct ptx_error *error)
{
	struct wrapper wrapper;

	memcpy(&wrapper, image, sizeof(wrapper));
	if (wrapper.version == 2 && wrapper.aux)
		return from_members(wrapper.aux, want, found, error);
	if (wrapper.version < 1 || wrapper.version > 2 || !wrapper.data)
		return fail(error, CUDA_ERROR_INVALID_IMAGE,
			    "the fat binary's wrapper is of an unknown version");
	return from_fatbin(wrapper.data, IMAGE_UNKNOWN, want, found, error);
}

/* ---- telling them apart ---- */

/* Text begins with a directive or a comment. */
static bool looks_like_text(const char *image, uint64_t bytes)
{
	uint64_t at = 0;

	while (at < bytes && strchr(" \t\r\n", image[at]) && image[at])
		at++;
	return at < bytes && (image[at] == '.' || image[at] == '/');
}

static CUresult from_text(const char *image, uint64_t bytes, char **ret_text,
			  struct ptx_error *error)
{
	size_t length = bytes == IMAGE_UNKNOWN ? strlen(image) : strnlen(image, bytes);

	*ret_text = strndup(image, length);
	return *ret_text ? CUDA_SUCCESS
			 : fail(error, CUDA_ERROR_OUT_OF_MEMORY, "no memory for the PTX");
}

static CUresult from_elf(const void *image, uint64_t bytes, const struct image_want *want,
			 struct image_found *found, struct ptx_error *error)
{
	struct choice choice = {.cc = want->cc};

	if (!want->timing_only)
		return no_binary(&choice, error);
	if (bytes == IMAGE_UNKNOWN)
		bytes = cubin_size(image);
	return from_cubin(image, bytes, found, error);
}

/* Byte by byte: a text without a length may be shorter than a magic number, and ends in a zero,
 * which no magic number holds. */
static bool has_magic(const void *image, uint64_t bytes, uint32_t magic)
{
	const uint8_t *at = image;

	for (unsigned int i = 0; i < sizeof(magic); i++)
		if (i >= bytes || at[i] != (uint8_t)(magic >> (8 * i)))
			return false;
	return true;
}

CUresult image_find_ptx(const void *image, uint64_t bytes, const struct image_want *want,
			struct image_found *ret_found, struct ptx_error *ret_error)
{
	memset(ret_found, 0, sizeof(*ret_found));
	ret_error->line = 0;
	ret_error->text[0] = '\0';
	if (has_magic(image, bytes, FATBIN_WRAPPER_MAGIC) && bytes >= sizeof(struct wrapper))
		return from_wrapper(image, want, ret_found, ret_error);
	if (has_magic(image, bytes, FATBIN_MAGIC))
		return from_fatbin(image, bytes, want, ret_found, ret_error);
	if (has_magic(image, bytes, CUBIN_MAGIC))
		return from_elf(image, bytes, want, ret_found, ret_error);
	if (looks_like_text(image, bytes))
		return from_text(image, bytes, &ret_found->text, ret_error);
	return fail(ret_error, CUDA_ERROR_INVALID_IMAGE,
		    "the code is neither PTX text, nor a fat binary, nor machine code");
}

CUresult image_read_file(const char *path, char **ret_content, uint64_t *ret_bytes)
{
	CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	char *content;
	ssize_t got = 0;
	off_t at = 0;

	if (fd < 0)
		return result;
	if (fstat(fd, &info) || !S_ISREG(info.st_mode) || info.st_size > MAX_FILE) {
		close(fd);
		return result;
	}
	content = malloc((size_t)info.st_size + 1);
	while (content && at < info.st_size &&
	       ((got = read(fd, content + at, (size_t)(info.st_size - at))) > 0 ||
		(got < 0 && errno == EINTR)))
		at += got > 0 ? got : 0;
	close(fd);
	if (!content)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (got < 0) {
		free(content);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	content[at] = '\0';
	*ret_content = content;
	*ret_bytes = (uint64_t)at;
	return CUDA_SUCCESS;
}
