/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another preloaded library. It wraps malloc by RTLD_NEXT, as memory profilers do, and an entry of
 * the driver, and says whom it found. With -DTAKES_DLSYM it also puts itself before dlsym, found
 * by dlvsym as such libraries do.
 */
#include "where.h"

#include <stdlib.h>

static unsigned long mallocs;

void *malloc(size_t bytes)
{
	static void *(*next)(size_t);

	if (!next)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	mallocs++;
	return next(bytes);
}

int cuMemGetInfo_v2(size_t *, size_t *);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	void *next = dlsym(RTLD_NEXT, "cuMemGetInfo_v2");

	say_where("interposer by RTLD_NEXT", "cuMemGetInfo_v2", next);
	return next ? ((int (*)(size_t *, size_t *))next)(free_bytes, total_bytes) : -1;
}

#ifdef TAKES_DLSYM
static unsigned long look_ups;

void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (!next)
		next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
	look_ups++;
	return next(handle, name);
}
#endif

__attribute__((destructor)) static void report(void)
{
	printf("interposer saw mallocs: %s\n", mallocs ? "yes" : "no");
#ifdef TAKES_DLSYM
	printf("interposer saw look-ups: %s\n", look_ups ? "yes" : "no");
#endif
}
