/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_MEM_POOL_H
#define SHIM_MEM_POOL_H

/*
 * Which device a memory pool is on; kept by the hooks of hook_mem_pool.c.
 */

/* In a child of fork: no pool is known. */
void mem_pool_forked(void);

#endif
