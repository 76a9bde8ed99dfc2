/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charging of every kind of memory, on a driver of this file's own that knows what it holds: after
 * each step the escrow word must say the same, whatever failed in between.
 */
#include "mem.h"
#include "mem_array.h"
#include "sluice/clock.h"
#include "unit/fake_link.h"

#include <check.h>
#include <limits.h>
#include <pthread.h>

#define UNIT SLUICE_ESCROW_UNIT
#define MIB (1ull << 20)

/* ---- the driver ------------------------------------------------------------------------------ */

#define BLOCKS 4096

/* One allocation, of whatever kind; released when no reference is left. */
struct block {
	uint64_t address; /* or handle */
	uint64_t bytes;
	CUcontext context; /* NULL: goes with none */
	unsigned int handle_refs, mapped;
	int device;
};

static struct driver {
	struct block block[BLOCKS];
	uint64_t next;
	CUcontext current;
	int devices;
	int primary_active;
	unsigned int calls;
	unsigned int fail_at; /* the call of this number fails; 0: none */
	CUstreamCaptureStatus capture;
	void (*on_destroyed)(void); /* before the destroy returns */
} driver;

static struct CUctx_st {
	int device;
} contexts[4];

static bool fails(void)
{
	return ++driver.calls == driver.fail_at;
}

static struct block *find(uint64_t address)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (driver.block[i].bytes && driver.block[i].address == address)
			return &driver.block[i];
	return NULL;
}

static struct block *make(uint64_t bytes, int device, CUcontext context)
{
	for (unsigned int i = 0; i < BLOCKS; i++) {
		if (driver.block[i].bytes)
			continue;
		driver.next += 0x1000000;
		driver.block[i] = (struct block){.address = driver.next,
						 .bytes = bytes,
						 .context = context,
						 .handle_refs = 1,
						 .device = device};
		return &driver.block[i];
	}
	ck_abort_msg("the test's driver is full");
}

static uint64_t held(int device)
{
	uint64_t units = 0;

	for (unsigned int i = 0; i < BLOCKS; i++)
		if (driver.block[i].bytes && driver.block[i].device == device)
			units += (driver.block[i].bytes + UNIT - 1) / UNIT;
	return units * UNIT;
}

static CUresult current(CUcontext *context)
{
	*context = driver.current;
	return CUDA_SUCCESS;
}

static CUresult current_device(CUdevice *device)
{
	if (!driver.current)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = driver.current->device;
	return CUDA_SUCCESS;
}

static CUresult alloc(CUdeviceptr *address, size_t bytes)
{
	if (fails())
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!driver.current)
		return CUDA_ERROR_INVALID_CONTEXT;
	*address = make(bytes, driver.current->device, driver.current)->address;
	return CUDA_SUCCESS;
}

static CUresult alloc_managed(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
	return alloc(address, bytes);
}

#define PITCH 1024u /* more than the shim guesses */

static CUresult alloc_pitch(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
			    unsigned int element)
{
	*pitch = (width + PITCH - 1) / PITCH * PITCH;
	return alloc(address, *pitch * height);
}

static CUresult alloc_async(CUdeviceptr *address, size_t bytes, CUstream stream)
{
	if (fails())
		return CUDA_ERROR_OUT_OF_MEMORY;
	*address = make(bytes, driver.current->device, NULL)->address;
	return CUDA_SUCCESS;
}

static CUresult alloc_pool(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	if (fails())
		return CUDA_ERROR_OUT_OF_MEMORY;
	*address = make(bytes, (int)(uintptr_t)pool & 1, NULL)->address;
	return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr address)
{
	struct block *block = find(address);

	if (fails() || !block)
		return CUDA_ERROR_INVALID_VALUE;
	block->bytes = 0;
	return CUDA_SUCCESS;
}

static CUresult release_async(CUdeviceptr address, CUstream stream)
{
	return release(address);
}

static CUresult pool_create(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	static uintptr_t last = 0x1000;

	last += 16;
	*pool = (CUmemoryPool)(last | (uintptr_t)props->location.id);
	return CUDA_SUCCESS;
}

static CUresult pool_destroy(CUmemoryPool pool)
{
	return fails() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t size,
		       const CUmemAllocationProp *prop, unsigned long long flags)
{
	if (fails())
		return CUDA_ERROR_OUT_OF_MEMORY;
	*handle = make(size,
		       prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? prop->location.id : -1,
		       NULL)
			  ->address;
	return CUDA_SUCCESS;
}

static void settle(struct block *block)
{
	if (!block->handle_refs && !block->mapped)
		block->bytes = 0;
}

static CUresult release_handle(CUmemGenericAllocationHandle handle)
{
	struct block *block = find(handle);

	if (fails() || !block || !block->handle_refs)
		return CUDA_ERROR_INVALID_VALUE;
	block->handle_refs--;
	settle(block);
	return CUDA_SUCCESS;
}

/* Mappings lie at handle + 0x100000 * n, one for each n. */
static struct block *mapped_at(CUdeviceptr address)
{
	return find(address & ~0xffffffull);
}

static CUresult map(CUdeviceptr address, size_t size, size_t offset,
		    CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct block *block = find(handle);

	if (fails() || !block)
		return CUDA_ERROR_INVALID_VALUE;
	block->mapped++;
	return CUDA_SUCCESS;
}

static CUresult unmap(CUdeviceptr address, size_t size)
{
	struct block *block = mapped_at(address);

	if (fails() || !block || !block->mapped)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < size / MIB; i++)
		block->mapped--;
	settle(block);
	return CUDA_SUCCESS;
}

static CUresult retain(CUmemGenericAllocationHandle *handle, void *address)
{
	struct block *block = mapped_at((uintptr_t)address);

	if (fails() || !block)
		return CUDA_ERROR_INVALID_VALUE;
	block->handle_refs++;
	*handle = block->address;
	return CUDA_SUCCESS;
}

static CUresult array_create(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *about)
{
	if (fails())
		return CUDA_ERROR_OUT_OF_MEMORY;
	*array = (CUarray)(uintptr_t)make(about->Width * (about->Height ? about->Height : 1) * 4 *
						  about->NumChannels,
					  driver.current->device, driver.current)
			 ->address;
	return CUDA_SUCCESS;
}

static CUresult array_destroy(CUarray array)
{
	return release((uintptr_t)array);
}

static void drop_context(CUcontext context)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (driver.block[i].context == context)
			driver.block[i].bytes = 0;
}

static CUresult context_create(CUcontext *context, unsigned int flags, CUdevice device)
{
	*context = driver.current = &contexts[2 + device];
	return CUDA_SUCCESS;
}

static CUresult context_destroy(CUcontext context)
{
	if (fails())
		return CUDA_ERROR_INVALID_CONTEXT;
	drop_context(context);
	driver.current = NULL;
	if (driver.on_destroyed)
		driver.on_destroyed();
	return CUDA_SUCCESS;
}

static CUresult primary_state(CUdevice device, unsigned int *flags, int *active)
{
	*active = driver.primary_active;
	return CUDA_SUCCESS;
}

static CUresult primary_release(CUdevice device)
{
	if (fails())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (--driver.primary_active)
		return CUDA_SUCCESS;
	drop_context(&contexts[device]);
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (!driver.block[i].context && driver.block[i].device == device)
			driver.block[i].bytes = 0;
	return CUDA_SUCCESS;
}

static CUresult memory_info(size_t *free_bytes, size_t *total_bytes)
{
	*total_bytes = 1024 * MIB;
	*free_bytes = 1024 * MIB - held(0);
	return CUDA_SUCCESS;
}

static CUresult total_memory(size_t *bytes, CUdevice device)
{
	*bytes = 1024 * MIB;
	return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	*status = driver.capture;
	return CUDA_SUCCESS;
}

/* ---- the arbiter ----------------------------------------------------------------------------- */

static _Atomic uint64_t words[2];
static uint64_t limit_bytes;
static uint64_t told_used; /* what a query is told; UINT64_MAX: nobody answers */

int link_mem_request(uint32_t device_index, uint32_t units, uint64_t deadline_ns)
{
	uint64_t granted = sluice_escrow_granted(words[device_index]);

	if (granted + units > limit_bytes / UNIT)
		return -ENOMEM;
	sluice_escrow_grant(&words[device_index], units);
	return 0;
}

int link_mem_query(uint32_t device_index, uint64_t *ret_max_bytes, uint64_t *ret_used_bytes)
{
	if (told_used == UINT64_MAX)
		return -ENOTCONN;
	*ret_max_bytes = limit_bytes;
	*ret_used_bytes = told_used;
	return 0;
}

static uint64_t used(unsigned int device)
{
	uint64_t word = words[device];

	return (uint64_t)(sluice_escrow_granted(word) - sluice_escrow_credit(word)) * UNIT;
}

static void set_up(void)
{
	memset(&driver, 0, sizeof(driver));
	mem_forked();
	words[0] = words[1] = 0;
	limit_bytes = 256 * MIB;
	shim.mem_deadline_ns = SLUICE_NS_PER_S;
	shim.device_count = 2;
	(void)fake_device(0, &words[0]);
	(void)fake_device(1, &words[1]);
	contexts[1].device = contexts[3].device = 1;
	driver.current = &contexts[0];
	driver.devices = 2;
	driver.primary_active = 1;
	driver.next = 0x7f0000000000;
	real.cuCtxGetCurrent = current;
	real.cuCtxGetDevice = current_device;
	real.cuMemAlloc_v2 = alloc;
	real.cuMemAllocManaged = alloc_managed;
	real.cuMemAllocPitch_v2 = alloc_pitch;
	real.cuMemAllocAsync = alloc_async;
	real.cuMemAllocFromPoolAsync = alloc_pool;
	real.cuMemFree_v2 = release;
	real.cuMemFreeAsync = release_async;
	real.cuMemPoolCreate = pool_create;
	real.cuMemPoolDestroy = pool_destroy;
	real.cuMemCreate = create;
	real.cuMemRelease = release_handle;
	real.cuMemMap = map;
	real.cuMemUnmap = unmap;
	real.cuMemRetainAllocationHandle = retain;
	real.cuArrayCreate_v2 = array_create;
	real.cuArrayDestroy = array_destroy;
	real.cuCtxCreate_v2 = context_create;
	real.cuCtxDestroy_v2 = context_destroy;
	real.cuDevicePrimaryCtxGetState = primary_state;
	real.cuDevicePrimaryCtxRelease_v2 = primary_release;
	real.cuMemGetInfo_v2 = memory_info;
	real.cuDeviceTotalMem_v2 = total_memory;
	real.cuStreamIsCapturing = is_capturing;
}

static void agree(void)
{
	for (int device = 0; device < 2; device++)
		ck_assert_uint_eq(used((unsigned int)device), held(device));
}

/* ---- tests ------------------------------------------------------------------------------------ */

START_TEST(bytes_are_charged_rounded_and_given_back_once)
{
	CUdeviceptr a, b;

	set_up();
	ck_assert_int_eq(cuMemAlloc_v2(&a, 1), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), UNIT);
	ck_assert_int_eq(cuMemAllocManaged(&b, 3 * UNIT + 1, 1), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 5 * UNIT);
	agree();
	ck_assert_int_eq(cuMemFree_v2(a), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(used(0), 4 * UNIT);
	ck_assert_int_eq(cuMemFree_v2(b), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 0);
	agree();
}
END_TEST

START_TEST(a_quota_refuses_before_the_driver_is_asked)
{
	CUdeviceptr a, b;
	unsigned int calls;

	set_up();
	ck_assert_int_eq(cuMemAlloc_v2(&a, 200 * MIB), CUDA_SUCCESS);
	calls = driver.calls;
	ck_assert_int_eq(cuMemAlloc_v2(&b, 57 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(driver.calls, calls);
	ck_assert_int_eq(cuMemAlloc_v2(&b, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(cuMemAlloc_v2(&b, 56 * MIB), CUDA_SUCCESS);
	agree();
}
END_TEST

START_TEST(a_call_that_fails_changes_nothing)
{
	CUdeviceptr a;

	set_up();
	driver.fail_at = 1;
	ck_assert_int_eq(cuMemAlloc_v2(&a, MIB), CUDA_ERROR_OUT_OF_MEMORY);
	agree();
	ck_assert_int_eq(cuMemAlloc_v2(&a, MIB), CUDA_SUCCESS);
	driver.fail_at = driver.calls + 1;
	ck_assert_int_eq(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
	agree();
	ck_assert_int_eq(cuMemFree_v2(a), CUDA_SUCCESS);
	agree();
	/* Nothing is current: the driver says so, nothing is charged. */
	driver.current = NULL;
	ck_assert_int_eq(cuMemAlloc_v2(&a, MIB), CUDA_ERROR_INVALID_CONTEXT);
	agree();
}
END_TEST

START_TEST(a_pitch_is_charged_as_the_driver_made_it)
{
	CUdeviceptr a;
	size_t pitch;

	set_up();
	ck_assert_int_eq(cuMemAllocPitch_v2(&a, &pitch, 100, 64, 4), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 64 * PITCH);
	agree();
	ck_assert_int_eq(cuMemFree_v2(a), CUDA_SUCCESS);
	/* The guess fits, what the driver took does not: it goes back. */
	limit_bytes = 64 * 600;
	words[0] = 0;
	ck_assert_int_eq(cuMemAllocPitch_v2(&a, &pitch, 100, 64, 4), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(held(0), 0);
	agree();
}
END_TEST

START_TEST(stream_ordered_memory_is_charged_to_the_pools_device)
{
	CUmemPoolProps props = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
	CUmemoryPool pool;
	CUdeviceptr a, b;

	set_up();
	ck_assert_int_eq(cuMemAllocAsync(&a, MIB, NULL), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemAllocFromPoolAsync(&b, 2 * MIB, pool, NULL), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), MIB);
	ck_assert_uint_eq(used(1), 2 * MIB);
	agree();
	ck_assert_int_eq(cuMemPoolDestroy(pool), CUDA_SUCCESS);
	agree();
	/* Either free takes either memory. */
	ck_assert_int_eq(cuMemFree_v2(a), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemFreeAsync(b, NULL), CUDA_SUCCESS);
	agree();
	/* In a capture it is the graph's. */
	shim_capture_opened();
	driver.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	ck_assert_int_eq(cuMemAllocAsync(&a, MIB, NULL), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 0);
	shim_capture_closed();
}
END_TEST

START_TEST(physical_memory_lives_until_its_last_handle_and_mapping)
{
	CUmemAllocationProp prop = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
	CUmemGenericAllocationHandle a, again, other;

	set_up();
	/* By its location: neither the current context nor having one matters. */
	driver.current = NULL;
	ck_assert_int_eq(cuMemCreate(&a, 2 * MIB, &prop, 0), CUDA_SUCCESS);
	ck_assert_uint_eq(used(1), 2 * MIB);
	ck_assert_int_eq(cuMemMap(a, MIB, 0, a, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemMap(a + MIB, MIB, 0, a, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemRelease(a), CUDA_SUCCESS);
	agree();
	ck_assert_int_eq(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(a + MIB + 5)),
			 CUDA_SUCCESS);
	ck_assert_int_eq(cuMemUnmap(a, 2 * MIB), CUDA_SUCCESS);
	ck_assert_uint_eq(used(1), 2 * MIB);
	agree();
	driver.fail_at = driver.calls + 1;
	ck_assert_int_eq(cuMemRelease(again), CUDA_ERROR_INVALID_VALUE);
	agree();
	ck_assert_int_eq(cuMemRelease(again), CUDA_SUCCESS);
	ck_assert_uint_eq(used(1), 0);
	agree();
	/* Memory of the host is nobody's quota. */
	prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
	ck_assert_int_eq(cuMemCreate(&other, 2 * MIB, &prop, 0), CUDA_SUCCESS);
	agree();
	ck_assert_int_eq(cuMemRelease(other), CUDA_SUCCESS);
	agree();
}
END_TEST

START_TEST(a_handle_value_that_comes_again_is_another_allocation)
{
	CUmemAllocationProp prop = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemGenericAllocationHandle a, b;
	struct block *block;

	set_up();
	ck_assert_int_eq(cuMemCreate(&a, 2 * MIB, &prop, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemMap(a, MIB, 0, a, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemRelease(a), CUDA_SUCCESS);
	/* The driver gives the value again while the old memory is still mapped. */
	block = find(a);
	driver.next = a - 0x1000000;
	block->address = a + 0x800000000;
	ck_assert_int_eq(cuMemCreate(&b, 4 * MIB, &prop, 0), CUDA_SUCCESS);
	ck_assert_uint_eq(b, a);
	ck_assert_uint_eq(used(0), 6 * MIB);
	ck_assert_int_eq(cuMemRelease(b), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 2 * MIB);
	block->address = a;
	ck_assert_int_eq(cuMemUnmap(a, MIB), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 0);
}
END_TEST

START_TEST(arrays_are_charged_by_their_descriptors)
{
	CUDA_ARRAY_DESCRIPTOR about = {
		.Width = 512, .Height = 512, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
	CUDA_ARRAY3D_DESCRIPTOR mipmap = {.Width = 4,
					  .Height = 4,
					  .Depth = 4,
					  .Format = CU_AD_FORMAT_UNSIGNED_INT8,
					  .NumChannels = 1};
	CUarray a;

	set_up();
	ck_assert_int_eq(cuArrayCreate_v2(&a, &about), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 4 * MIB);
	agree();
	ck_assert_int_eq(cuArrayDestroy(a), CUDA_SUCCESS);
	agree();
	ck_assert_uint_eq(mem_array_bytes(&mipmap, 1), 64);
	ck_assert_uint_eq(mem_array_bytes(&mipmap, 3), 64 + 8 + 1);
	ck_assert_uint_eq(mem_array_bytes(&mipmap, 33), 64 + 8 + 31);
	mipmap.Flags = CUDA_ARRAY3D_LAYERED;
	ck_assert_uint_eq(mem_array_bytes(&mipmap, 3), 64 + 16 + 4);
	mipmap.Flags = CUDA_ARRAY3D_SPARSE;
	ck_assert_uint_eq(mem_array_bytes(&mipmap, 3), 0);
	mipmap = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = SIZE_MAX, .Height = SIZE_MAX, .Format = CU_AD_FORMAT_UNORM_INT16X4};
	ck_assert_uint_eq(mem_array_bytes(&mipmap, 1), UINT64_MAX);
}
END_TEST

START_TEST(a_context_takes_its_memory_with_it)
{
	CUcontext own;
	CUdeviceptr a, b, c, d;

	set_up();
	ck_assert_int_eq(cuMemAlloc_v2(&a, MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemAlloc_v2(&b, 2 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemAllocAsync(&c, 4 * MIB, NULL), CUDA_SUCCESS);
	driver.fail_at = driver.calls + 1;
	ck_assert_int_eq(cuCtxDestroy_v2(own), CUDA_ERROR_INVALID_CONTEXT);
	agree();
	ck_assert_int_eq(cuMemAlloc_v2(&d, 8 * MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuCtxDestroy_v2(own), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 5 * MIB);
	agree();
	driver.current = &contexts[0];
	ck_assert_int_eq(cuMemAlloc_v2(&d, 16 * MIB), CUDA_SUCCESS);
	/* The primary context and the pools end with the last release. */
	driver.primary_active = 2;
	ck_assert_int_eq(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 21 * MIB);
	ck_assert_int_eq(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 0);
	agree();
}
END_TEST

static void *allocate_again(void *address)
{
	driver.current = &contexts[0];
	ck_assert_int_eq(cuMemAlloc_v2(address, 2 * MIB), CUDA_SUCCESS);
	return NULL;
}

static CUdeviceptr again;

static void another_thread_allocates(void)
{
	pthread_t thread;

	driver.next -= 0x1000000;
	ck_assert(!pthread_create(&thread, NULL, allocate_again, &again));
	ck_assert(!pthread_join(thread, NULL));
}

START_TEST(an_address_that_comes_again_at_once_is_charged_once)
{
	CUcontext own;
	CUdeviceptr a;

	set_up();
	ck_assert_int_eq(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemAlloc_v2(&a, MIB), CUDA_SUCCESS);
	driver.on_destroyed = another_thread_allocates;
	ck_assert_int_eq(cuCtxDestroy_v2(own), CUDA_SUCCESS);
	ck_assert_uint_eq(again, a);
	ck_assert_uint_eq(used(0), 2 * MIB);
	ck_assert_int_eq(cuMemFree_v2(again), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 0);
	agree();
}
END_TEST

START_TEST(a_handle_that_comes_again_is_another_context)
{
	CUcontext own;
	CUdeviceptr a;

	set_up();
	for (unsigned int i = 0; i < 3000; i++) {
		ck_assert_int_eq(cuCtxCreate_v2(&own, 0, 1), CUDA_SUCCESS);
		ck_assert_int_eq(cuMemAlloc_v2(&a, MIB), CUDA_SUCCESS);
		ck_assert_uint_eq(used(1), MIB);
		ck_assert_int_eq(cuCtxDestroy_v2(own), CUDA_SUCCESS);
		ck_assert_uint_eq(used(1), 0);
	}
	agree();
}
END_TEST

START_TEST(what_is_not_ours_passes_untouched)
{
	CUdeviceptr a, b;

	set_up();
	shim_thread.busy = 1;
	ck_assert_int_eq(cuMemAlloc_v2(&a, MIB), CUDA_SUCCESS);
	shim_thread.busy = 0;
	ck_assert_uint_eq(used(0), 0);
	ck_assert_int_eq(cuMemFree_v2(a), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 0);
	/* A device that the arbiter refused. */
	atomic_store(&shim.device[1].state, SHIM_DEVICE_NEW);
	driver.current = &contexts[1];
	ck_assert_int_eq(cuMemAlloc_v2(&a, MIB), CUDA_SUCCESS);
	ck_assert_int_eq(cuMemAlloc_v2(&b, MIB), CUDA_SUCCESS);
	ck_assert_uint_eq(fake_registrations, 1);
	ck_assert_uint_eq(used(1), 0);
	/* Inert, no session at all. */
	driver.current = &contexts[0];
	shim_set_flags(SHIM_PASSTHROUGH, 0);
	ck_assert_int_eq(cuMemAlloc_v2(&a, MIB), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 0);
	ck_assert_uint_eq(held(0), MIB);
}
END_TEST

START_TEST(a_tenant_sees_its_quota_and_not_the_device)
{
	size_t free_bytes, total_bytes;

	set_up();
	limit_bytes = 256 * MIB;
	told_used = 100 * MIB;
	ck_assert_int_eq(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
	ck_assert_uint_eq(free_bytes, 156 * MIB);
	ck_assert_uint_eq(total_bytes, 256 * MIB);
	ck_assert_int_eq(cuDeviceTotalMem_v2(&total_bytes, 0), CUDA_SUCCESS);
	ck_assert_uint_eq(total_bytes, 256 * MIB);
	told_used = 300 * MIB;
	ck_assert_int_eq(cuMemGetInfo_v2(&free_bytes, NULL), CUDA_SUCCESS);
	ck_assert_uint_eq(free_bytes, 0);
	ck_assert_int_eq(cuMemGetInfo_v2(NULL, NULL), CUDA_SUCCESS);
	/* Never more than is there. */
	limit_bytes = 4096 * MIB;
	told_used = 0;
	(void)make(1000 * MIB, 0, NULL);
	ck_assert_int_eq(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
	ck_assert_uint_eq(free_bytes, 24 * MIB);
	ck_assert_uint_eq(total_bytes, 1024 * MIB);
	/* No quota, and no answer: the driver's numbers. */
	limit_bytes = UINT64_MAX;
	ck_assert_int_eq(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
	ck_assert_uint_eq(total_bytes, 1024 * MIB);
	limit_bytes = MIB;
	told_used = UINT64_MAX;
	ck_assert_int_eq(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
	ck_assert_uint_eq(total_bytes, 1024 * MIB);
}
END_TEST

/* ---- random steps, with failing calls ----------------------------------------------------------- */

static uint64_t seed = 424242;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void free_some(void)
{
	struct block *block = &driver.block[draw() % 64];

	if (!block->bytes)
		return;
	if (block->context || draw() % 2)
		(void)cuMemFree_v2(block->address);
	else
		(void)cuMemFreeAsync(block->address, NULL);
}

static void alloc_some(void)
{
	CUdeviceptr address;
	size_t pitch;
	size_t bytes = 1 + draw() % (24 * MIB);

	switch (draw() % 4) {
	case 0: (void)cuMemAlloc_v2(&address, bytes); break;
	case 1: (void)cuMemAllocPitch_v2(&address, &pitch, bytes / 64, 64, 4); break;
	case 2: (void)cuMemAllocManaged(&address, bytes, 1); break;
	default: (void)cuMemAllocAsync(&address, bytes, NULL); break;
	}
}

START_TEST(random_steps_and_failures_keep_the_account)
{
	set_up();
	for (unsigned int i = 0; i < 20000; i++) {
		driver.fail_at = draw() % 8 ? 0 : driver.calls + 1;
		driver.current = &contexts[draw() % 2];
		if (draw() % 2)
			alloc_some();
		else
			free_some();
		driver.fail_at = 0;
		agree();
		ck_assert_uint_le(held(0), limit_bytes);
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (driver.block[i].bytes)
			ck_assert_int_eq(cuMemFree_v2(driver.block[i].address), CUDA_SUCCESS);
	ck_assert_uint_eq(used(0), 0);
	ck_assert_uint_eq(used(1), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_mem");
	TCase *tcase = tcase_create("mem");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, bytes_are_charged_rounded_and_given_back_once);
	tcase_add_test(tcase, a_quota_refuses_before_the_driver_is_asked);
	tcase_add_test(tcase, a_call_that_fails_changes_nothing);
	tcase_add_test(tcase, a_pitch_is_charged_as_the_driver_made_it);
	tcase_add_test(tcase, stream_ordered_memory_is_charged_to_the_pools_device);
	tcase_add_test(tcase, physical_memory_lives_until_its_last_handle_and_mapping);
	tcase_add_test(tcase, a_handle_value_that_comes_again_is_another_allocation);
	tcase_add_test(tcase, arrays_are_charged_by_their_descriptors);
	tcase_add_test(tcase, a_context_takes_its_memory_with_it);
	tcase_add_test(tcase, an_address_that_comes_again_at_once_is_charged_once);
	tcase_add_test(tcase, a_handle_that_comes_again_is_another_context);
	tcase_add_test(tcase, what_is_not_ours_passes_untouched);
	tcase_add_test(tcase, a_tenant_sees_its_quota_and_not_the_device);
	tcase_add_test(tcase, random_steps_and_failures_keep_the_account);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
