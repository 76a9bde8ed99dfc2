/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that knows nothing of the driver and loads libraries that do: host MODE LIBRARY.
 * Mode "deep" loads with RTLD_DEEPBIND, "local" with RTLD_LOCAL, "global" with RTLD_GLOBAL. Each
 * library's plugin_report says where its calls end.
 */
#include <stdlib.h>

#include "where.h"

int main(int argc, char **argv)
{
	int flags = RTLD_NOW;
	void (*report)(void);
	void *plugin;

	if (argc != 3)
		return 2;
	flags |= !strcmp(argv[1], "deep")     ? RTLD_DEEPBIND
		 : !strcmp(argv[1], "global") ? RTLD_GLOBAL
					      : RTLD_LOCAL;
	plugin = dlopen(argv[2], flags);
	if (!plugin) {
		printf("%s\n", dlerror());
		return 1;
	}
	report = (void (*)(void))dlsym(plugin, "plugin_report");
	if (!report)
		return 1;
	report();
	return 0;
}
