/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds two vectors with the driver API: context, module from PTX text, memory, copies, a launch.
 */
#include <cuda.h>
#include <getopt.h>

#include "common.h"

/* c[i] = a[i] + b[i] */
static const char ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry vecadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<7>;\n"
	"	.reg .f32 %f<4>;\n"
	"	.reg .b64 %rd<9>;\n"
	"	ld.param.u64 %rd1, [a];\n"
	"	ld.param.u64 %rd2, [b];\n"
	"	ld.param.u64 %rd3, [c];\n"
	"	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"	setp.ge.u32 %p1, %r5, %r1;\n"
	"	@%p1 bra done;\n"
	"	cvta.to.global.u64 %rd4, %rd1;\n"
	"	cvta.to.global.u64 %rd5, %rd2;\n"
	"	cvta.to.global.u64 %rd6, %rd3;\n"
	"	mul.wide.u32 %rd7, %r5, 4;\n"
	"	add.s64 %rd4, %rd4, %rd7;\n"
	"	add.s64 %rd5, %rd5, %rd7;\n"
	"	add.s64 %rd6, %rd6, %rd7;\n"
	"	ld.global.f32 %f1, [%rd4];\n"
	"	ld.global.f32 %f2, [%rd5];\n"
	"	add.f32 %f3, %f1, %f2;\n"
	"	st.global.f32 [%rd6], %f3;\n"
	"done:\n"
	"	ret;\n"
	"}\n";

#define BLOCK 128

struct vectors {
	size_t n;
	float *a, *b, *c;
	CUdeviceptr da, db, dc;
};

#define CHECK(call) check((call), #call)

static void check(CUresult result, const char *call)
{
	const char *why = NULL;

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorString(result, &why);
	fprintf(stderr, "vecadd: %s: %s (%d)\n", call, why ? why : "unknown error", (int)result);
	exit(1);
}

static void make_vectors(struct vectors *v, uint64_t seed)
{
	size_t bytes = v->n * sizeof(float);

	v->a = (float *)malloc(bytes);
	v->b = (float *)malloc(bytes);
	v->c = (float *)malloc(bytes);
	if (!v->a || !v->b || !v->c) {
		fprintf(stderr, "vecadd: no memory for %zu elements\n", v->n);
		exit(1);
	}
	for (size_t i = 0; i < v->n; i++) {
		v->a[i] = (float)(random_next(&seed) & 0xffff);
		v->b[i] = (float)random_unit(&seed);
	}
	CHECK(cuMemAlloc(&v->da, bytes));
	CHECK(cuMemAlloc(&v->db, bytes));
	CHECK(cuMemAlloc(&v->dc, bytes));
}

static void free_vectors(struct vectors *v)
{
	CHECK(cuMemFree(v->da));
	CHECK(cuMemFree(v->db));
	CHECK(cuMemFree(v->dc));
	free(v->a);
	free(v->b);
	free(v->c);
}

static void add(struct vectors *v, CUfunction function, CUstream stream)
{
	size_t bytes = v->n * sizeof(float);
	unsigned int n = (unsigned int)v->n;
	void *params[] = {&v->da, &v->db, &v->dc, &n};

	CHECK(cuMemcpyHtoDAsync(v->da, v->a, bytes, stream));
	CHECK(cuMemcpyHtoDAsync(v->db, v->b, bytes, stream));
	CHECK(cuMemsetD8Async(v->dc, 0xff, bytes, stream));
	CHECK(cuLaunchKernel(function, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream,
			     params, NULL));
	CHECK(cuMemcpyDtoHAsync(v->c, v->dc, bytes, stream));
	CHECK(cuStreamSynchronize(stream));
}

static size_t wrong(const struct vectors *v)
{
	size_t count = 0;

	for (size_t i = 0; i < v->n; i++)
		count += v->c[i] != v->a[i] + v->b[i];
	return count;
}

static void usage(FILE *out)
{
	fputs("usage: vecadd [--elements N] [--rounds N] [--seed N]\n"
	      "Adds two vectors with the CUDA driver API and checks the sum on the host.\n",
	      out);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"elements", required_argument, NULL, 'e'},
						{"rounds", required_argument, NULL, 'r'},
						{"seed", required_argument, NULL, 's'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	struct vectors v = {.n = 4096};
	unsigned int rounds = 4;
	uint64_t seed = 1, hash = HASH_START;
	size_t bad = 0;
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUstream stream;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'e': v.n = (size_t)option_number("elements", optarg, 1, 1e9); break;
		case 'r': rounds = (unsigned int)option_number("rounds", optarg, 1, 1e9); break;
		case 's': seed = (uint64_t)option_number("seed", optarg, 0, 1e15); break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	}
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "vecadd"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	make_vectors(&v, seed);
	for (unsigned int i = 0; i < rounds && !bad; i++) {
		add(&v, function, stream);
		bad = wrong(&v);
		hash = hash_bytes(hash, v.c, v.n * sizeof(float));
		memcpy(v.a, v.c, v.n * sizeof(float));
	}
	free_vectors(&v);
	CHECK(cuStreamDestroy(stream));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	if (bad)
		fprintf(stderr, "vecadd: %zu of %zu sums are wrong\n", bad, v.n);
	print_result(hash);
	return bad != 0;
}
