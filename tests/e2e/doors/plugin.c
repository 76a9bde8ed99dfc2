/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked to the driver, as a wheel's extension is. */
#include "where.h"

extern int cuMemAlloc_v2(unsigned long long *, size_t);
extern int cuDeviceGet(int *, int);
void plugin_report(void);

void plugin_report(void)
{
	say_where("plugin", "cuMemAlloc_v2", (void *)cuMemAlloc_v2);
	say_where("plugin", "cuDeviceGet", (void *)cuDeviceGet);
	say_where("plugin by RTLD_DEFAULT", "cuDeviceGet", dlsym(RTLD_DEFAULT, "cuDeviceGet"));
	say_where("plugin by RTLD_NEXT", "cuDeviceGet", dlsym(RTLD_NEXT, "cuDeviceGet"));
	say_where("plugin by RTLD_NEXT", "cuMemAlloc_v2", dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
}
