/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may ask of the runtime API, one thing after the other, with exact answers. */
#include <cstring>
#include <vector>

#include "runtime_check.cuh"

__device__ int counter[4];
__constant__ int offsets[2] = {10, 20};
__managed__ int shared_word = 5;

static __global__ void count(int by)
{
	counter[threadIdx.x] += by + offsets[threadIdx.x % 2];
}

static __global__ void touch_managed(void)
{
	shared_word = shared_word * 2;
}

static __global__ void fill(int *p, int value)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

static __global__ void add_one(int *p, size_t pitch_words, int width)
{
	if (threadIdx.x < width)
		p[blockIdx.x * pitch_words + threadIdx.x]++;
}

static __global__ void dynamic_shared(int *out)
{
	extern __shared__ int words[];

	words[threadIdx.x] = threadIdx.x;
	__syncthreads();
	out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}

static void symbols(void)
{
	int values[4] = {1, 2, 3, 4}, more[2] = {100, 200};
	void *address;
	size_t bytes;

	OK(cudaMemcpyToSymbol(counter, values, sizeof(values)));
	count<<<1, 4>>>(1);
	OK(cudaMemcpyFromSymbol(values, counter, sizeof(values)));
	EXPECT(values[0] == 12 && values[1] == 23 && values[2] == 14 && values[3] == 25);
	OK(cudaMemcpyToSymbol(offsets, more, sizeof(more)));
	count<<<1, 4>>>(0);
	OK(cudaMemcpyFromSymbol(values, counter, 2 * sizeof(int), 2 * sizeof(int)));
	EXPECT(values[0] == 114 && values[1] == 225);
	OK(cudaGetSymbolSize(&bytes, counter));
	EXPECT(bytes == sizeof(counter));
	OK(cudaGetSymbolAddress(&address, counter));
	OK(cudaMemcpy(values, address, sizeof(values), cudaMemcpyDeviceToHost));
	EXPECT(values[2] == 114);
	FAILS(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, values));
	FAILS(cudaErrorInvalidValue, cudaMemcpyFromSymbol(values, counter, 8, 12));
	FAILS(cudaErrorInvalidMemcpyDirection,
	      cudaMemcpyToSymbol(counter, values, 4, 0, cudaMemcpyDeviceToHost));
	(void)cudaGetLastError();
}

static void managed(void)
{
	int *p;

	EXPECT(shared_word == 5);
	touch_managed<<<1, 1>>>();
	OK(cudaDeviceSynchronize());
	EXPECT(shared_word == 10);
	OK(cudaMallocManaged((void **)&p, 64 * sizeof(int)));
	fill<<<1, 64>>>(p, 3);
	OK(cudaDeviceSynchronize());
	EXPECT(p[0] == 3 && p[63] == 3);
	OK(cudaFree(p));
}

static void shapes(void)
{
	const int width = 20, height = 5;
	std::vector<int> host(width * height, 7), back(width * height);
	size_t pitch;
	int *p;

	OK(cudaMallocPitch((void **)&p, &pitch, width * sizeof(int), height));
	EXPECT(pitch >= width * sizeof(int) && pitch % 32 == 0);
	OK(cudaMemcpy2D(p, pitch, host.data(), width * 4, width * 4, height,
			cudaMemcpyHostToDevice));
	add_one<<<height, 32>>>(p, pitch / 4, width);
	OK(cudaMemcpy2D(back.data(), width * 4, p, pitch, width * 4, height, cudaMemcpyDefault));
	EXPECT(back[0] == 8 && back[width * height - 1] == 8);
	OK(cudaMemset2D(p, pitch, 1, width * 4, height - 1));
	OK(cudaMemcpy2D(back.data(), width * 4, p, pitch, width * 4, height, cudaMemcpyDefault));
	EXPECT(back[0] == 0x01010101 && back[width * height - 1] == 8);
	FAILS(cudaErrorInvalidPitchValue,
	      cudaMemcpy2D(p, 4, host.data(), 80, 80, 1, cudaMemcpyHostToDevice));
	EXPECT(cudaGetLastError() == cudaErrorInvalidPitchValue);
	EXPECT(cudaGetLastError() == cudaSuccess);
	OK(cudaFree(p));
}

static void volumes(void)
{
	cudaExtent extent = make_cudaExtent(12, 3, 2);
	std::vector<unsigned char> host(12 * 3 * 2), back(host.size());
	cudaMemcpy3DParms p = {};
	cudaPitchedPtr device;

	for (size_t i = 0; i < host.size(); i++)
		host[i] = (unsigned char)i;
	OK(cudaMalloc3D(&device, extent));
	p.srcPtr = make_cudaPitchedPtr(host.data(), 12, 12, 3);
	p.dstPtr = device;
	p.extent = extent;
	p.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&p));
	OK(cudaMemset3D(device, 0xee, make_cudaExtent(4, 2, 2)));
	p.srcPtr = device;
	p.dstPtr = make_cudaPitchedPtr(back.data(), 12, 12, 3);
	p.kind = cudaMemcpyDeviceToHost;
	OK(cudaMemcpy3D(&p));
	EXPECT(back[0] == 0xee && back[3] == 0xee && back[4] == 4 && back[15] == 0xee);
	EXPECT(back[24] == 24 && back[36] == 0xee && back[71] == 71);
	OK(cudaFree(device.ptr));
}

static void pointers(void)
{
	cudaPointerAttributes a;
	int local = 0, *p;

	OK(cudaMalloc((void **)&p, 64));
	OK(cudaPointerGetAttributes(&a, p));
	EXPECT(a.type == cudaMemoryTypeDevice && a.device == 0 && a.devicePointer == p);
	OK(cudaFree(p));
	OK(cudaMallocHost((void **)&p, 64));
	OK(cudaPointerGetAttributes(&a, p));
	EXPECT(a.type == cudaMemoryTypeHost && a.hostPointer == p);
	OK(cudaFreeHost(p));
	OK(cudaMallocManaged((void **)&p, 64));
	OK(cudaPointerGetAttributes(&a, p));
	EXPECT(a.type == cudaMemoryTypeManaged);
	OK(cudaFree(p));
	OK(cudaPointerGetAttributes(&a, &local));
	EXPECT(a.type == cudaMemoryTypeUnregistered);
	OK(cudaFree(NULL));
	OK(cudaMalloc((void **)&p, 0));
	EXPECT(p == NULL);
}

static void devices(void)
{
	cudaDeviceProp prop, want = {};
	int n = 0, device = -1, value, chosen = -1;
	char bus[32];
	size_t free_bytes, total_bytes;

	OK(cudaGetDeviceCount(&n));
	EXPECT(n >= 1);
	OK(cudaGetDevice(&device));
	EXPECT(device == 0);
	OK(cudaGetDeviceProperties(&prop, 0));
	EXPECT(strlen(prop.name) > 0 && prop.warpSize == 32 && prop.multiProcessorCount > 1);
	OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	EXPECT(value == prop.multiProcessorCount);
	OK(cudaMemGetInfo(&free_bytes, &total_bytes));
	EXPECT(free_bytes <= total_bytes && total_bytes == prop.totalGlobalMem);
	OK(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
	OK(cudaDeviceGetByPCIBusId(&device, bus));
	EXPECT(device == 0);
	want.major = 7;
	OK(cudaChooseDevice(&chosen, &want));
	EXPECT(chosen == 0);
	FAILS(cudaErrorInvalidDevice, cudaSetDevice(n));
	FAILS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&prop, -1));
	(void)cudaGetLastError();
	OK(cudaDriverGetVersion(&value));
	EXPECT(value >= 13000);
	OK(cudaRuntimeGetVersion(&value));
	EXPECT(value == CUDART_VERSION);
}

static void functions(void)
{
	cudaFuncAttributes attributes;
	cudaKernel_t kernel;
	const char *name;
	int blocks, *out, back[64], value;
	void *args[] = {&out};

	OK(cudaFuncGetAttributes(&attributes, fill));
	EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
	EXPECT(blocks >= 1);
	OK(cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
				60000));
	OK(cudaFuncGetAttributes(&attributes, dynamic_shared));
	EXPECT(attributes.maxDynamicSharedSizeBytes == 60000);
	OK(cudaMalloc((void **)&out, sizeof(back)));
	dynamic_shared<<<1, 64, 60000>>>(out);
	OK(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDefault));
	EXPECT(back[0] == 63 && back[63] == 0);
	value = 4;
	OK(cudaGetKernel(&kernel, (const void *)fill));
	void *fill_args[] = {&out, &value};
	OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(64), fill_args, 0, 0));
	OK(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDefault));
	EXPECT(back[0] == 4 && back[63] == 4);
	OK(cudaFuncGetName(&name, (const void *)fill));
	EXPECT(strstr(name, "fill") != NULL);
	FAILS(cudaErrorInvalidDeviceFunction,
	      cudaLaunchKernel(&value, dim3(1), dim3(1), args, 0, 0));
	FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, &value));
	dynamic_shared<<<1, 4096>>>(out);
	EXPECT(cudaGetLastError() != cudaSuccess);
	EXPECT(cudaPeekAtLastError() == cudaSuccess);
	OK(cudaFree(out));
}

static int host_calls;

static void on_host(void *data)
{
	host_calls += *(int *)data;
}

static void graphs(void)
{
	cudaKernelNodeParams kernel = {};
	cudaMemsetParams set = {};
	cudaHostNodeParams host = {};
	cudaGraphNode_t set_node, kernel_node, copy_node, host_node, nodes[4];
	cudaGraphNodeType type;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	size_t count = 4;
	int *p, back[64], value = 9, by = 2;
	void *args[] = {&p, &value};

	OK(cudaMalloc((void **)&p, sizeof(back)));
	OK(cudaGraphCreate(&graph, 0));
	set.dst = p;
	set.elementSize = 1;
	set.width = sizeof(back);
	set.height = 1;
	OK(cudaGraphAddMemsetNode(&set_node, graph, NULL, 0, &set));
	kernel.func = (void *)fill;
	kernel.gridDim = dim3(1);
	kernel.blockDim = dim3(32);
	kernel.kernelParams = args;
	OK(cudaGraphAddKernelNode(&kernel_node, graph, &set_node, 1, &kernel));
	OK(cudaGraphAddMemcpyNode1D(&copy_node, graph, &kernel_node, 1, back, p, sizeof(back),
				    cudaMemcpyDeviceToHost));
	host.fn = on_host;
	host.userData = &by;
	OK(cudaGraphAddHostNode(&host_node, graph, &copy_node, 1, &host));
	OK(cudaGraphGetNodes(graph, nodes, &count));
	EXPECT(count == 4);
	OK(cudaGraphNodeGetType(kernel_node, &type));
	EXPECT(type == cudaGraphNodeTypeKernel);
	OK(cudaGraphKernelNodeGetParams(kernel_node, &kernel));
	EXPECT(kernel.func == (void *)fill && kernel.blockDim.x == 32);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaStreamSynchronize(0));
	EXPECT(back[0] == 9 && back[31] == 9 && back[32] == 0 && host_calls == 2);
	value = 11;
	kernel.kernelParams = args;
	OK(cudaGraphExecKernelNodeSetParams(exec, kernel_node, &kernel));
	OK(cudaGraphLaunch(exec, 0));
	OK(cudaStreamSynchronize(0));
	EXPECT(back[31] == 11 && host_calls == 4);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaFree(p));
}

static void streams(void)
{
	cudaStream_t stream;
	cudaEvent_t start, stop;
	int least, greatest, priority, *p, back[64];
	unsigned int flags;
	float ms = -1;

	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	EXPECT(greatest <= least);
	OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
	OK(cudaStreamGetPriority(stream, &priority));
	OK(cudaStreamGetFlags(stream, &flags));
	EXPECT(priority == greatest && flags == cudaStreamNonBlocking);
	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&stop));
	OK(cudaMallocAsync((void **)&p, sizeof(back), stream));
	OK(cudaEventRecord(start, stream));
	fill<<<1, 64, 0, stream>>>(p, 1);
	OK(cudaEventRecord(stop, stream));
	OK(cudaMemcpyAsync(back, p, sizeof(back), cudaMemcpyDeviceToHost, stream));
	OK(cudaFreeAsync(p, stream));
	OK(cudaStreamSynchronize(stream));
	OK(cudaStreamQuery(stream));
	OK(cudaEventElapsedTime(&ms, start, stop));
	EXPECT(ms >= 0 && back[5] == 1);
	OK(cudaEventDestroy(start));
	OK(cudaEventDestroy(stop));
	OK(cudaStreamDestroy(stream));
	FAILS(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 77));
	(void)cudaGetLastError();
}

static void resets(void)
{
	int values[4] = {1, 2, 3, 4};

	OK(cudaMemcpyToSymbol(counter, values, sizeof(values)));
	OK(cudaDeviceReset());
	OK(cudaMemcpyFromSymbol(values, counter, sizeof(values)));
	EXPECT(values[0] == 0 && values[3] == 0);
	count<<<1, 4>>>(1);
	OK(cudaMemcpyFromSymbol(values, counter, sizeof(values)));
	EXPECT(values[0] == 11 && values[1] == 21);
}

static void refusals(void)
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	cudaArray_t array;

	EXPECT(format.x == 32 && format.f == cudaChannelFormatKindFloat);
	FAILS(cudaErrorNotSupported, cudaMallocArray(&array, &format, 8, 8));
	FAILS(cudaErrorNotSupported, cudaMallocArray(&array, &format, 8, 8));
	EXPECT(cudaGetLastError() == cudaErrorNotSupported);
	EXPECT(!strcmp(cudaGetErrorName(cudaErrorNotSupported), "cudaErrorNotSupported"));
	EXPECT(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
}

/* Last: it spoils the context. */
static void faults(void)
{
	int *p;

	fill<<<1, 32>>>((int *)8, 1);
	FAILS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
	EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
	FAILS(cudaErrorIllegalAddress, cudaMalloc((void **)&p, 64));
	EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
	OK(cudaDeviceReset());
	OK(cudaMalloc((void **)&p, 64));
	OK(cudaFree(p));
}

int main(void)
{
	symbols();
	managed();
	shapes();
	volumes();
	pointers();
	devices();
	functions();
	graphs();
	streams();
	refusals();
	resets();
	faults();
	printf("checks: %u\n", checks);
	return 0;
}
