/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generic.c for the names beyond the shim's: apart from it, since a name may come to be in both
 * lists.
 */

#define NAME(symbol, base, version) \
	int symbol(void); \
	__attribute__((weak)) int symbol(void) \
	{ \
		return 0; \
	}
#include "names.def"
