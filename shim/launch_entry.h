/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_LAUNCH_ENTRY_H
#define SHIM_LAUNCH_ENTRY_H

/*
 * Kernel launches have five arguments on the stack: an entry in C loads and stores them all before it
 * jumps on, over several cache lines. What the entries in assembly (launch_entry_x86_64.S) read is
 * asserted in hook_launch.c.
 */

/* Under a sanitizer the C entries run, as on other machines. */
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LAUNCH_ENTRY_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LAUNCH_ENTRY_SANITIZED 1
#endif
#if defined(__x86_64__) && !defined(LAUNCH_ENTRY_SANITIZED)
#define LAUNCH_ENTRY_IN_ASSEMBLY 1
#endif

#define LAUNCH_ENTRY_PASSTHROUGH 0x02
#define LAUNCH_ENTRY_IDLE 0x20
#define LAUNCH_ENTRY_FLAGS 4096
#define LAUNCH_ENTRY_IDLE_DEVICE 4104
#define LAUNCH_ENTRY_IS_RAISED 4

#endif
