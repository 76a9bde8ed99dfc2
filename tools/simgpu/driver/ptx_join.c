/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/ptx_join.h"

#include <errno.h>
#include <stdbool.h>

/* Past a comment or a string that begins here; the same place where none does. */
static const char *skip_quiet(const char *at)
{
	const char *end;

	if (at[0] == '/' && at[1] == '/')
		return at + strcspn(at, "\n");
	if (at[0] == '/' && at[1] == '*') {
		end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	if (at[0] == '"') {
		end = strchr(at + 1, '"');
		return end ? end + 1 : at + strlen(at);
	}
	return at;
}

static bool begins_function(const char *at)
{
	return strncmp(at, ".entry", 6) == 0 || strncmp(at, ".func", 5) == 0;
}

/* Where the first function with a body begins; the end of the text where none does. */
static const char *first_function(const char *text)
{
	const char *at = text, *statement = text;
	bool is_function = false;
	int depth = 0;

	while (*at) {
		const char *past = skip_quiet(at);

		if (past != at) {
			at = past;
			continue;
		}
		if (depth == 0 && begins_function(at))
			is_function = true;
		if (*at == '{' && depth++ == 0 && is_function)
			return statement;
		if (*at == '}' && depth > 0)
			depth--;
		at++;
		if (depth == 0 && (at[-1] == ';' || at[-1] == '}')) {
			statement = at;
			is_function = false;
		}
	}
	return at;
}

/* Where the text goes on behind its .version, .target and .address_size lines, which only the
 * first may give. */
static const char *behind_directives(const char *text)
{
	const char *at = strstr(text, ".address_size");

	return at ? at + strcspn(at, "\n") : text;
}

static int append(char **text, size_t *bytes, const char *more, size_t count)
{
	char *grown = realloc(*text, *bytes + count + 2);

	if (!grown)
		return -ENOMEM;
	memcpy(grown + *bytes, more, count);
	*bytes += count;
	grown[(*bytes)++] = '\n';
	grown[*bytes] = '\0';
	*text = grown;
	return 0;
}

int ptx_join_add(struct ptx_join *join, const char *text)
{
	const char *function = first_function(text);
	const char *begin = join->head ? behind_directives(text) : text;
	int err;

	if (begin > function)
		begin = function;
	err = append(&join->head, &join->head_bytes, begin, (size_t)(function - begin));
	return err ? err : append(&join->tail, &join->tail_bytes, function, strlen(function));
}

char *ptx_join_end(struct ptx_join *join)
{
	char *text = NULL;

	if (join->head &&
	    append(&join->head, &join->head_bytes, join->tail, join->tail_bytes) == 0) {
		text = join->head;
		join->head = NULL;
	}
	ptx_join_drop(join);
	return text;
}

void ptx_join_drop(struct ptx_join *join)
{
	free(join->head);
	free(join->tail);
	memset(join, 0, sizeof(*join));
}
