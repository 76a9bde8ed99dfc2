/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WHERE_H
#define WHERE_H

/* In which library an address lies: what the programs and libraries of this folder report. */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static inline void say_where(const char *who, const char *what, void *address)
{
	const char *slash;
	Dl_info info;

	if (!address || !dladdr(address, &info)) {
		printf("%s %s: nowhere\n", who, what);
		return;
	}
	slash = strrchr(info.dli_fname, '/');
	printf("%s %s: %s\n", who, what, slash ? slash + 1 : info.dli_fname);
}

#endif
