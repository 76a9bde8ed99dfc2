/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The per-thread default stream: the _ptsz and _ptds entries, called by name, since a source file
 * cannot choose its default stream once nvcc has included the runtime's header.
 */
#include <thread>
#include <vector>

#include "runtime_check.cuh"

extern "C" {
cudaError_t cudaLaunchKernel_ptsz(const void *function, dim3 grid, dim3 block, void **args,
				  size_t shared_bytes, cudaStream_t stream);
cudaError_t cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t count, cudaMemcpyKind kind,
				 cudaStream_t stream);
cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t count, cudaMemcpyKind kind);
cudaError_t cudaMemset_ptds(void *p, int value, size_t count);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus *ret_status);
cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream);
}

static __global__ void fill(int *p, int value)
{
	p[threadIdx.x] = value;
}

static cudaError_t launch(int *p, int value)
{
	void *args[] = {&p, &value};

	return cudaLaunchKernel_ptsz((const void *)fill, dim3(1), dim3(64), args, 0, 0);
}

static void work(int value, int *ret_wrong)
{
	int *p, back[64];

	if (cudaMalloc((void **)&p, sizeof(back)) != cudaSuccess)
		return;
	for (int i = 0; i < 10; i++) {
		if (launch(p, value + i) != cudaSuccess ||
		    cudaMemcpyAsync_ptsz(back, p, sizeof(back), cudaMemcpyDeviceToHost, 0) !=
			    cudaSuccess ||
		    cudaStreamSynchronize_ptsz(0) != cudaSuccess)
			return;
		if (back[0] != value + i || back[63] != value + i)
			return;
	}
	if (cudaFree(p) == cudaSuccess)
		*ret_wrong = 0;
}

/* The legacy stream cannot be captured; the per-thread one, under the same handle, can. */
static void captures(void)
{
	cudaStreamCaptureStatus status;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	int *p, back[64];

	OK(cudaMalloc((void **)&p, sizeof(back)));
	OK(cudaMemset_ptds(p, 0, sizeof(back)));
	OK(cudaStreamSynchronize_ptsz(0));
	FAILS(cudaErrorStreamCaptureUnsupported,
	      cudaStreamBeginCapture(0, cudaStreamCaptureModeThreadLocal));
	OK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
	OK(cudaStreamIsCapturing_ptsz(0, &status));
	EXPECT(status == cudaStreamCaptureStatusActive);
	OK(launch(p, 5));
	OK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
	OK(cudaMemcpy_ptds(back, p, sizeof(back), cudaMemcpyDeviceToHost));
	EXPECT(back[0] == 0);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch_ptsz(exec, 0));
	OK(cudaStreamSynchronize_ptsz(0));
	OK(cudaMemcpy_ptds(back, p, sizeof(back), cudaMemcpyDeviceToHost));
	EXPECT(back[63] == 5);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaFree(p));
}

int main(void)
{
	std::vector<int> wrong(4, 1);
	std::vector<std::thread> threads;
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	cudaArray_t array;

	for (int i = 0; i < 4; i++)
		threads.emplace_back(work, i * 100, &wrong[i]);
	for (std::thread &thread : threads)
		thread.join();
	for (int w : wrong)
		EXPECT(w == 0);
	captures();
	FAILS(cudaErrorNotSupported, cudaMallocArray(&array, &format, 8, 8));
	FAILS(cudaErrorNotSupported, cudaMallocArray(&array, &format, 8, 8));
	printf("checks: %u\n", checks);
	return 0;
}
