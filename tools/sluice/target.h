/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_TARGET_H
#define SLUICE_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Can a preloaded library reach this program at all? Looks at the file that the command names
 * (through PATH and through `#!` lines): static programs, musl's loader and set-uid files ignore
 * LD_PRELOAD. Returns 0, with the name that the process's executable will have (a script's: its
 * interpreter's) in ret_program, or -errno with one sentence in ret_why.
 */
int target_check(const char *command, size_t size, char *ret_why, size_t program_size,
		 char *ret_program);

/* Does a program of that name do nothing but start others? */
bool target_is_shell(const char *program);

/* The file that execvp would start for `command`. 0 or -errno. */
int target_find(const char *command, size_t size, char *ret_path);

#endif
