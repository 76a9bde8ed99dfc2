/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that does nothing: every name that the shim looks up succeeds at once. The calling
 * conventions of x86-64 and aarch64 let one function without parameters stand for all of them;
 * those that have something to answer are defined in the other files and win over these.
 */

#define HOOK(symbol, base, version, class) \
	int symbol(void); \
	__attribute__((weak)) int symbol(void) \
	{ \
		return 0; \
	}
#define USED(symbol) HOOK(symbol, , , )
#include "hooks.def"
