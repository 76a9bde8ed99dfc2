/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that opens the driver in its constructor, and another one that only its own RUNPATH
 * finds; then lets the driver go and takes it again.
 */
#include "where.h"

void plugin_report(void);

static void *early;

__attribute__((constructor(101))) static void open_early(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	early = driver ? dlsym(driver, "cuMemAlloc_v2") : NULL;
	say_where("constructor", "cuMemAlloc_v2", early);
	if (driver)
		dlclose(driver);
}

void plugin_report(void)
{
	void *inner = dlopen("libinner.so", RTLD_NOW);
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *init = driver ? dlsym(driver, "cuInit") : NULL;

	printf("by its RUNPATH: %s\n", inner ? "found" : dlerror());
	say_where("again", "cuInit", init);
	printf("init: %d\n", init ? ((int (*)(unsigned int))init)(0) : -1);
}
