/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_OUTPUT_H
#define SLUICE_OUTPUT_H

/*
 * A file that is there whole or not at all: written beside the path, put in its place at the end.
 * What is no regular file (a pipe, /dev/null) is written to as it is. All return 0 or -errno. Single
 * thread.
 */

#include <limits.h>
#include <stdio.h>

struct output {
	FILE *file;
	char path[PATH_MAX], beside[PATH_MAX + 32]; /* beside empty: written in place */
};

/* Whether output_open would do; leaves nothing behind. */
int output_check(const char *path);
int output_open(struct output *ret_output, const char *path);
/* error: of writing; nothing takes the path's place then, and it is returned. */
int output_close(struct output *output, int error);

#endif
