/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_ENVIRONMENT_H
#define SHIM_ENVIRONMENT_H

/*
 * What the shim takes from the environment, read once, at the first question: a program may clear or
 * change it later, and must find its arbiter again all the same. Empty: not set, or not trusted
 * (secure_getenv). What is longer than its place is cut there, which no socket or file survives.
 * Any thread.
 */

#include <limits.h>

#include "sluice/wire.h"

#define ENVIRONMENT_PATH 256 /* of a socket or its folder: more than fits an address */

struct environment {
	char socket[ENVIRONMENT_PATH];	/* SLUICE_SOCKET */
	char runtime[ENVIRONMENT_PATH]; /* XDG_RUNTIME_DIR */
	char tenant[SLUICE_NAME_MAX];	/* SLUICE_TENANT */
	char log[16];			/* SLUICE_LOG */
	char profile[PATH_MAX];		/* SLUICE_PROFILE */
	char nvtx_next[PATH_MAX];	/* SLUICE_NVTX_NEXT */
	char connections[4];		/* CUDA_DEVICE_MAX_CONNECTIONS, the driver's: 1 to 32 */
};

const struct environment *environment(void);

/* In a child of fork, which may have set its own. */
void environment_forked(void);

#endif
