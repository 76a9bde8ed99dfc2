/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_PROBE_H
#define SLUICE_PROBE_H

#include <stdbool.h>

/*
 * What a program started from here would meet: this executable runs itself once more with the
 * environment that the program would get, and reports what it finds. Nothing of the driver is
 * initialised.
 */

#define PROBE_ARGUMENT "--probe-child"

struct probe {
	bool ran;    /* the child started and answered */
	bool shim;   /* libsluice.so is in its map */
	bool driver; /* dlopen of libcuda.so.1 succeeded */
	bool hooked; /* cuInit looked up by handle is the shim's */
	char driver_path[512];
	char lookup_path[512]; /* whose cuInit it is */
	char loader_says[512]; /* first line of the child's stderr; empty: silent */
};

/* Uses the present environment. Returns 0 or -errno; a child that fails leaves ran false. */
int probe_run(struct probe *ret_probe);
int probe_child(void);

#endif
