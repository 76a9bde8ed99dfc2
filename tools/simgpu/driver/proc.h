/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PROC_H
#define SIMGPU_PROC_H

/*
 * Rows behind cuGetProcAddress, generated from the toolkit's headers by
 * tools/gen/driver_table.sh; sorted by name, then version, the legacy-stream form first.
 * Immutable.
 */

#include <stdbool.h>

struct proc_row {
	const char *name; /* base name, without _vN, _ptsz or _ptds */
	int version;	  /* 1000 * major + 10 * minor of the CUDA that introduced it */
	bool per_thread;  /* the _ptsz or _ptds form */
	void *address;
	void *refusal; /* equal to address: no file of the driver implements it */
	const char *symbol;
};

extern const struct proc_row proc_table[];
extern const unsigned int proc_rows;

/* The row that cuGetProcAddress answers with; NULL where there is none that is implemented.
 * *ret_known says whether the name is implemented in any version. */
const struct proc_row *proc_find(const char *name, int version, bool per_thread, bool *ret_known);

#endif
