/* SPDX-License-Identifier: Apache-2.0 */
/* Linked to the driver: asks for memory by name and by look-up. */
#include "where.h"

extern int cuInit(unsigned int);
extern int cuMemGetInfo_v2(size_t *, size_t *);

int main(void)
{
	size_t free_bytes = 0, total_bytes = 0;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	printf("init: %d\n", cuInit(0));
	printf("info: %d\n", cuMemGetInfo_v2(&free_bytes, &total_bytes));
	printf("total: %zu\n", total_bytes);
	say_where("program by dlopen", "cuMemAlloc_v2", dlsym(driver, "cuMemAlloc_v2"));
	say_where("program by dlopen", "cuDeviceGet", dlsym(driver, "cuDeviceGet"));
	return 0;
}
