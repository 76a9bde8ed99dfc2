/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_DOCTOR_H
#define SLUICE_DOCTOR_H

/*
 * What the parts of `sluice doctor` share. Each check prints one line, a bad one with what to do.
 */

#include <stdbool.h>

enum verdict { GOOD, NOTE, WARN, BAD };

/* BAD makes the exit status 1. */
void doctor_say(enum verdict verdict, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Namespaces, and the calls that Sluice makes, each tried. arbiter: one has answered, so that what
 * it alone needs is no hindrance here, and it has seen this process. */
void doctor_check_kernel(bool arbiter);

#endif
