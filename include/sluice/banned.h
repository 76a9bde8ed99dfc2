/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_BANNED_H
#define SLUICE_BANNED_H

/*
 * Calls that this project does not make; each has a bounded or thread-safe form. Included by the
 * compiler's -include for our own C files, after which a use is a compile error. System headers
 * come first, since they declare these names.
 */

#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison sprintf vsprintf strcpy strcat strncpy strncat strtok atoi atol atoll atof
#undef alloca
#pragma GCC poison gmtime localtime system alloca getenv

/* A word that variables may have: only the call is refused. */
extern __sighandler_t signal(int number, __sighandler_t handler) __THROW
	__attribute__((error("use sigaction")));

#endif
