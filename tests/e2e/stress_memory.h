/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STRESS_MEMORY_H
#define TESTS_STRESS_MEMORY_H

/*
 * Steps of the stress program: every kind of memory, freed in every way. Included once.
 */

#include "stress_worker.h"

static void use(struct worker *w, CUdeviceptr address, size_t bytes)
{
	unsigned char seen[16], value = (unsigned char)roll(w, 256);

	CHECK(cuMemsetD8(address, value, bytes));
	CHECK(cuMemcpyDtoH(seen, address + bytes - sizeof(seen), sizeof(seen)));
	for (unsigned int i = 0; i < sizeof(seen); i++)
		w->wrong += seen[i] != value;
}

static void do_plain_memory(struct worker *w)
{
	size_t bytes = 4096 + roll(w, 1 << 20), pitch;
	CUdeviceptr address;

	switch (roll(w, 3)) {
	case 0:
		if (!ALLOC(cuMemAlloc(&address, bytes)))
			return;
		break;
	case 1:
		if (!ALLOC(cuMemAllocPitch(&address, &pitch, 1000 + roll(w, 1000), 64, 4)))
			return;
		bytes = pitch * 64;
		break;
	default:
		if (!ALLOC(cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL)))
			return;
	}
	use(w, address, bytes);
	CHECK(cuMemFree(address));
}

static void do_stream_memory(struct worker *w)
{
	size_t bytes = 4096 + roll(w, 1 << 20);
	CUstream stream = stream_new(w);
	unsigned int how = roll(w, 4);
	CUdeviceptr address;

	/* Any combination of how it is allocated and how it is freed. */
	if (ALLOC(how & 1 ? cuMemAlloc(&address, bytes)
			  : cuMemAllocAsync(&address, bytes, stream))) {
		CHECK(cuStreamSynchronize(stream));
		use(w, address, bytes);
		if (how & 2)
			CHECK(cuMemFree(address));
		else
			CHECK(cuMemFreeAsync(address, stream));
	}
	launch_on(w, stream);
	look(w, stream);
	CHECK(cuStreamDestroy(stream));
}

static void do_pool(struct worker *w)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	size_t bytes = 4096 + roll(w, 1 << 18);
	CUstream stream = stream_new(w);
	CUdeviceptr address;
	CUmemoryPool pool;

	CHECK(cuMemPoolCreate(&pool, &props));
	if (ALLOC(cuMemAllocFromPoolAsync(&address, bytes, pool, stream))) {
		CHECK(cuStreamSynchronize(stream));
		/* A pool that goes before what was allocated from it. */
		CHECK(cuMemPoolDestroy(pool));
		use(w, address, bytes);
		CHECK(cuMemFreeAsync(address, stream));
		CHECK(cuStreamSynchronize(stream));
	} else {
		CHECK(cuMemPoolDestroy(pool));
	}
	CHECK(cuStreamDestroy(stream));
}

static void do_mapped_memory(struct worker *w)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUmemAccessDesc access = {.location = prop.location,
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle[2];
	size_t piece;
	CUdeviceptr base;

	CHECK(cuMemGetAllocationGranularity(&piece, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	if (!ALLOC(cuMemCreate(&handle[0], piece, &prop, 0)))
		return;
	if (!ALLOC(cuMemCreate(&handle[1], piece, &prop, 0))) {
		CHECK(cuMemRelease(handle[0]));
		return;
	}
	CHECK(cuMemAddressReserve(&base, 2 * piece, 0, 0, 0));
	CHECK(cuMemMap(base, piece, 0, handle[0], 0));
	CHECK(cuMemMap(base + piece, piece, 0, handle[1], 0));
	CHECK(cuMemSetAccess(base, 2 * piece, &access, 1));
	/* Half of them before, half behind the mapping. */
	CHECK(cuMemRelease(handle[0]));
	use(w, base, piece);
	use(w, base + piece, piece);
	if (roll(w, 2)) {
		CHECK(cuMemUnmap(base, 2 * piece));
	} else {
		CHECK(cuMemUnmap(base + piece, piece));
		CHECK(cuMemUnmap(base, piece));
	}
	CHECK(cuMemRelease(handle[1]));
	CHECK(cuMemAddressFree(base, 2 * piece));
}

#endif
