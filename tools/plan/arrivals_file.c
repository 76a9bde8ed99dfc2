/* SPDX-License-Identifier: Apache-2.0 */
#include "arrivals.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define GAP_MAX_S 1000000u

/* "0.012" as 12,000,000; digits beyond the ninth are dropped. Without doubles: a file must be read
 * alike everywhere. */
static int parse_seconds(const char *text, uint64_t *ret_ns)
{
	uint64_t whole = 0, part = 0, unit = 1000000000;
	bool digits = false;

	for (; isdigit((unsigned char)*text); text++, digits = true) {
		whole = whole * 10 + (uint64_t)(*text - '0');
		if (whole > GAP_MAX_S)
			return -EINVAL;
	}
	if (*text == '.')
		for (text++; isdigit((unsigned char)*text); text++, digits = true) {
			unit /= 10;
			part += (uint64_t)(*text - '0') * unit;
		}
	while (isspace((unsigned char)*text))
		text++;
	if (!digits || *text)
		return -EINVAL;
	*ret_ns = whole * 1000000000 + part;
	return 0;
}

static bool holds_no_gap(const char *line)
{
	while (isspace((unsigned char)*line))
		line++;
	return !*line || *line == '#' || isalpha((unsigned char)*line);
}

static int append(uint64_t **gaps, uint32_t *n, uint64_t gap)
{
	if ((*n & (*n - 1)) == 0) { /* full at each power of two */
		uint64_t *more = realloc(*gaps, (*n ? (size_t)*n * 2 : 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		*gaps = more;
	}
	(*gaps)[(*n)++] = gap;
	return 0;
}

int arrivals_load_gaps(const char *path, uint64_t **ret_gaps, uint32_t *ret_n, int *reterr_line)
{
	char *line = NULL;
	size_t room = 0;
	uint64_t *gaps = NULL, gap;
	uint32_t n = 0;
	int r = 0, at = 0;
	FILE *file = fopen(path, "re");

	*reterr_line = 0;
	if (!file)
		return -errno;
	while (!r && getline(&line, &room, file) >= 0) {
		at++;
		if (holds_no_gap(line))
			continue;
		r = parse_seconds(line, &gap);
		if (!r)
			r = append(&gaps, &n, gap);
	}
	if (!r && ferror(file))
		r = -EIO;
	fclose(file);
	free(line);
	if (!r && !n)
		r = -EINVAL;
	if (r) {
		*reterr_line = at;
		free(gaps);
		return r;
	}
	*ret_gaps = gaps;
	*ret_n = n;
	return 0;
}
