/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes memory chunk by chunk, until it has enough or is refused, marks the ends of each chunk from
 * the device, checks the marks and what cudaMemGetInfo says, and gives all of it back.
 */
#include <cuda.h>
#include <getopt.h>
#include <unistd.h>
#include <vector>

#include "check.cuh"
#include "common.h"

#define MIB (1024.0 * 1024.0)
#define MARK 64 /* words at each end of a chunk */

/* Each kind of memory: take() returns false where memory is refused. */
struct kind {
	const char *name;
	bool (*take)(size_t bytes, void **ret);
	void (*give)(void *p, size_t bytes);
	bool counted; /* the device's free memory falls by what was taken, at once */
};

static bool taken(cudaError_t error, const char *call)
{
	if (error == cudaErrorMemoryAllocation) {
		(void)cudaGetLastError();
		return false;
	}
	check_cuda(error, call, __FILE__, __LINE__);
	return true;
}

static bool take_plain(size_t bytes, void **ret)
{
	return taken(cudaMalloc(ret, bytes), "cudaMalloc");
}

static void give_plain(void *p, size_t bytes)
{
	CHECK(cudaFree(p));
}

#define ROWS 64

static bool take_pitched(size_t bytes, void **ret)
{
	size_t pitch;

	if (!taken(cudaMallocPitch(ret, &pitch, bytes / ROWS, ROWS), "cudaMallocPitch"))
		return false;
	if (pitch * ROWS < bytes) {
		fprintf(stderr, "memhog: pitch %zu is too small\n", pitch);
		exit(1);
	}
	return true;
}

static bool take_managed(size_t bytes, void **ret)
{
	return taken(cudaMallocManaged(ret, bytes), "cudaMallocManaged");
}

static bool take_async(size_t bytes, void **ret)
{
	if (!taken(cudaMallocAsync(ret, bytes, 0), "cudaMallocAsync"))
		return false;
	CHECK(cudaStreamSynchronize(0));
	return true;
}

static void give_async(void *p, size_t bytes)
{
	CHECK(cudaFreeAsync(p, 0));
	CHECK(cudaStreamSynchronize(0));
}

/* ---- virtual memory: the driver's calls, which the runtime hands out ---- */

static struct {
	decltype(&cuMemCreate) create;
	decltype(&cuMemAddressReserve) reserve;
	decltype(&cuMemMap) map;
	decltype(&cuMemSetAccess) access;
	decltype(&cuMemUnmap) unmap;
	decltype(&cuMemAddressFree) unreserve;
	decltype(&cuMemRelease) release;
} vmm;

template <typename T> static void find(T *ret, const char *name)
{
	cudaDriverEntryPointQueryResult status;

	CHECK(cudaGetDriverEntryPointByVersion(name, (void **)ret, 12000, cudaEnableDefault,
					       &status));
	if (status != cudaDriverEntryPointSuccess) {
		fprintf(stderr, "memhog: the driver has no %s\n", name);
		exit(1);
	}
}

static void find_vmm(void)
{
	find(&vmm.create, "cuMemCreate");
	find(&vmm.reserve, "cuMemAddressReserve");
	find(&vmm.map, "cuMemMap");
	find(&vmm.access, "cuMemSetAccess");
	find(&vmm.unmap, "cuMemUnmap");
	find(&vmm.unreserve, "cuMemAddressFree");
	find(&vmm.release, "cuMemRelease");
}

static void check_driver(CUresult result, const char *call)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "memhog: %s: error %d\n", call, (int)result);
	exit(1);
}

static bool take_vmm(size_t bytes, void **ret)
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;
	CUresult result;

	if (!vmm.create)
		find_vmm();
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	result = vmm.create(&handle, bytes, &prop, 0);
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return false;
	check_driver(result, "cuMemCreate");
	check_driver(vmm.reserve(&address, bytes, 0, 0, 0), "cuMemAddressReserve");
	check_driver(vmm.map(address, bytes, 0, handle, 0), "cuMemMap");
	check_driver(vmm.access(address, bytes, &access, 1), "cuMemSetAccess");
	check_driver(vmm.release(handle), "cuMemRelease"); /* the mapping keeps it */
	*ret = (void *)address;
	return true;
}

static void give_vmm(void *p, size_t bytes)
{
	check_driver(vmm.unmap((CUdeviceptr)p, bytes), "cuMemUnmap");
	check_driver(vmm.unreserve((CUdeviceptr)p, bytes), "cuMemAddressFree");
}

static const struct kind kinds[] = {
	{"plain", take_plain, give_plain, true},
	{"pitched", take_pitched, give_plain, true},
	{"managed", take_managed, give_plain, false},
	{"async", take_async, give_async, false}, /* pools keep and reuse memory */
	{"vmm", take_vmm, give_vmm, true},
};

static const struct kind *find_kind(const char *name)
{
	for (const struct kind &kind : kinds)
		if (!strcmp(kind.name, name))
			return &kind;
	fprintf(stderr, "--kind: \"%s\" is none of plain, pitched, managed, async, vmm\n", name);
	exit(2);
}

/* ---- marks ---- */

static __host__ __device__ uint32_t mark_of(uint32_t chunk, uint32_t word)
{
	return (chunk + 1) * 2654435761u ^ word * 40503u;
}

static __global__ void mark_ends(uint32_t *words, size_t count, uint32_t chunk)
{
	size_t at = blockIdx.x ? count - MARK + threadIdx.x : threadIdx.x;

	words[at] = mark_of(chunk, blockIdx.x * MARK + threadIdx.x);
}

static int check_marks(void *p, size_t bytes, uint32_t chunk, uint64_t *hash)
{
	uint32_t seen[2 * MARK];
	int wrong = 0;

	CHECK(cudaMemcpy(seen, p, MARK * 4, cudaMemcpyDefault));
	CHECK(cudaMemcpy(seen + MARK, (char *)p + bytes - MARK * 4, MARK * 4, cudaMemcpyDefault));
	for (uint32_t i = 0; i < 2 * MARK; i++)
		wrong += seen[i] != mark_of(chunk, i);
	*hash = hash_bytes(*hash, seen, sizeof(seen));
	return wrong != 0;
}

struct options {
	const struct kind *kind;
	size_t chunk, total; /* bytes; total 0: until refused */
	double hold_s;
	bool alone;
};

static size_t free_bytes(void)
{
	size_t free_now, total;

	CHECK(cudaMemGetInfo(&free_now, &total));
	if (free_now > total) {
		fprintf(stderr, "memhog: %zu bytes free of %zu\n", free_now, total);
		exit(1);
	}
	return free_now;
}

/* Where nobody else takes memory, free memory falls by the chunk, and by little more. */
static int check_fall(const struct options *o, size_t before, size_t after)
{
	if (!o->alone || !o->kind->counted)
		return 0;
	if (before >= after + o->chunk && before - after <= o->chunk + o->chunk / 2 + (4u << 20))
		return 0;
	fprintf(stderr, "memhog: a chunk of %zu bytes changed free memory from %zu to %zu\n",
		o->chunk, before, after);
	return 1;
}

static int run(const struct options *o)
{
	std::vector<void *> chunks;
	uint64_t hash = HASH_START;
	int wrong = 0;
	size_t start;
	void *p = NULL;

	CHECK(cudaFree(0)); /* the context takes memory, too */
	start = free_bytes();
	while (o->total == 0 || (chunks.size() + 1) * o->chunk <= o->total) {
		size_t before = free_bytes();

		if (!o->kind->take(o->chunk, &p))
			break;
		wrong += check_fall(o, before, free_bytes());
		mark_ends<<<2, MARK>>>((uint32_t *)p, o->chunk / 4, (uint32_t)chunks.size());
		CHECK(cudaGetLastError());
		chunks.push_back(p);
	}
	CHECK(cudaDeviceSynchronize());
	printf("memhog: %zu chunks of %.1f MiB, %s, %.1f MiB free\n", chunks.size(), o->chunk / MIB,
	       o->kind->name, free_bytes() / MIB);
	fflush(stdout);
	if (o->hold_s > 0)
		usleep((useconds_t)(o->hold_s * 1e6));
	for (size_t i = 0; i < chunks.size(); i++) {
		wrong += check_marks(chunks[i], o->chunk, (uint32_t)i, &hash);
		o->kind->give(chunks[i], o->chunk);
	}
	if (o->alone && o->kind->counted && free_bytes() != start) {
		fprintf(stderr, "memhog: %zu bytes free at the end, %zu at the start\n",
			free_bytes(), start);
		wrong++;
	}
	if (o->total && chunks.size() * o->chunk + o->chunk <= o->total)
		printf("memhog: refused before --total was reached\n");
	if (wrong)
		fprintf(stderr, "memhog: %d checks failed\n", wrong);
	print_result(hash);
	return wrong != 0;
}

static void usage(FILE *out)
{
	fputs("usage: memhog [--chunk MIB] [--total MIB] [--kind KIND] [--hold SECONDS] [--alone]\n"
	      "Takes GPU memory until --total or until refused, checks it, gives it back.\n"
	      "  --kind   plain (default), pitched, managed, async or vmm\n"
	      "  --hold   keep it that long before giving it back\n"
	      "  --alone  nobody else uses the GPU: check the free memory to the byte\n",
	      out);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"chunk", required_argument, NULL, 'c'},
						{"total", required_argument, NULL, 't'},
						{"kind", required_argument, NULL, 'k'},
						{"hold", required_argument, NULL, 'o'},
						{"alone", no_argument, NULL, 'a'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	struct options o = {&kinds[0], (size_t)64 << 20, 0, 0, false};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c': /* whole granules of 2 MiB, which virtual memory wants */
			o.chunk = ((size_t)option_number("chunk", optarg, 2, 1e6) + 1) / 2 * 2 << 20;
			break;
		case 't': o.total = (size_t)option_number("total", optarg, 0, 1e8) << 20; break;
		case 'k': o.kind = find_kind(optarg); break;
		case 'o': o.hold_s = option_number("hold", optarg, 0, 4000); break;
		case 'a': o.alone = true; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	}
	return run(&o);
}
