/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 that writes down what it is asked for (QUERY_LOG: name, version and flags of each
 * cuGetProcAddress query) and has no device. Built by the test that uses it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_DEVICE 100
#define INVALID_VALUE 1

int cuInit(unsigned int flags)
{
	return NO_DEVICE;
}

int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

int cuGetExportTable(const void **table, const void *id)
{
	*table = NULL;
	return INVALID_VALUE;
}

static int refuse(void)
{
	return INVALID_VALUE;
}

static void note(const char *name, int version, unsigned long long flags)
{
	const char *path = secure_getenv("QUERY_LOG");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "%s %d %llu\n", name, version, flags);
	fclose(file);
}

int cuGetProcAddress_v2(const char *name, void **address, int version, unsigned long long flags,
			int *status)
{
	note(name, version, flags);
	*address = NULL;
	if (!strcmp(name, "cuInit"))
		*address = (void *)cuInit;
	else if (!strcmp(name, "cuDriverGetVersion"))
		*address = (void *)cuDriverGetVersion;
	else if (!strcmp(name, "cuGetExportTable"))
		*address = (void *)cuGetExportTable;
	else if (!strcmp(name, "cuGetProcAddress"))
		*address = (void *)cuGetProcAddress_v2;
	else if (*name)
		*address = (void *)refuse;
	return 0;
}

int cuGetProcAddress(const char *name, void **address, int version, unsigned long long flags)
{
	return cuGetProcAddress_v2(name, address, version, flags, NULL);
}
