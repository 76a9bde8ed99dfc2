/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_HOOKS_H
#define SHIM_HOOKS_H

/*
 * Numbers and classes of the hooks in hooks.def. Pure data: no CUDA types, any thread.
 */

enum hook_class {
	HOOK_ENTRY,
	HOOK_LAUNCH, /* of kernels and graphs; this and the two other kinds of work pass the gate */
	HOOK_COPY,
	HOOK_MEMSET,
	HOOK_GRAPH, /* what becomes of executable graphs */
	HOOK_CAPTURE,
	HOOK_STREAM,
	HOOK_SYNC,
	HOOK_CTX,
	HOOK_MEM,
	HOOK_INFO,
};

enum hook_id {
#define HOOK(symbol, base, version, class) HOOK_ID_##symbol,
#include "hooks.def"
	HOOK_COUNT,
};

#endif
