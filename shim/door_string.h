/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_DOOR_STRING_H
#define SHIM_DOOR_STRING_H

/*
 * Strings inside a look-up of the dynamic loader. libc's own may be an interposer's whose
 * bootstrap we are in the middle of: a sanitizer's strcmp, say, that is still being looked up.
 */

#include <stdbool.h>
#include <stddef.h>

static inline bool string_is(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static inline bool string_begins(const char *string, const char *with)
{
	while (*with && *string == *with) {
		string++;
		with++;
	}
	return !*with;
}

/* What follows the last slash. */
static inline const char *string_file(const char *path)
{
	const char *file = path;

	for (; *path; path++)
		if (*path == '/')
			file = path + 1;
	return file;
}

static inline bool string_ends(const char *string, const char *with)
{
	for (; *string; string++)
		if (string_is(string, with))
			return true;
	return false;
}

#endif
