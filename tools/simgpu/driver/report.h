/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_REPORT_H
#define SIMGPU_REPORT_H

/*
 * The counters of this process, and of a device in whole, as JSON, into the file that SIMGPU_REPORT names
 * (%p in it is the process id), when a context ends and when the process exits.
 */

struct exec;

void report_register(struct exec *exec); /* at exit, too */
void report_write(struct exec *exec);	 /* without exec->lock */
void report_forget(void);		 /* in a forked child */

#endif
