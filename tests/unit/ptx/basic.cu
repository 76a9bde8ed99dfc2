/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose results test_ptx_kernels.c computes again in C. */

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy_stride(float a, const float *x, float *y, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = a * x[i] + y[i];
}

#define TILE 16

extern "C" __global__ void sgemm_tiled(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[TILE][TILE];
	__shared__ float bs[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y;
	int column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < n; t += TILE) {
		as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

__device__ float warp_sum(float x)
{
	for (int step = 16; step; step /= 2)
		x += __shfl_down_sync(0xffffffff, x, step);
	return x;
}

extern "C" __global__ void reduce_sum(const float *x, float *out, int n)
{
	__shared__ float part[32];
	float sum = 0;

	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
		sum += x[i];
	sum = warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 32) {
		sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
		sum = warp_sum(sum);
		if (threadIdx.x == 0)
			atomicAdd(out, sum);
	}
}

extern "C" __global__ void scan_block(const int *in, int *out, int n)
{
	extern __shared__ int temp[];
	int t = threadIdx.x;

	temp[t] = t < n ? in[t] : 0;
	for (int step = 1; step < blockDim.x; step *= 2) {
		__syncthreads();
		int add = t >= step ? temp[t - step] : 0;
		__syncthreads();
		temp[t] += add;
	}
	if (t < n)
		out[t] = temp[t];
}

extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n)
{
	__shared__ unsigned local[256];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
		atomicAdd(&local[data[i]], 1u);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void softmax_rows(const float *in, float *out, int columns)
{
	__shared__ float shared[64];
	const float *row = in + blockIdx.x * columns;
	float most = -INFINITY;
	float sum = 0;

	for (int i = threadIdx.x; i < columns; i += 32)
		most = fmaxf(most, row[i]);
	for (int step = 16; step; step /= 2)
		most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
	for (int i = threadIdx.x; i < columns; i += 32)
		sum += expf(row[i] - most);
	shared[threadIdx.x] = sum;
	__syncwarp();
	for (int step = 16; step; step /= 2) {
		if (threadIdx.x < step)
			shared[threadIdx.x] += shared[threadIdx.x + step];
		__syncwarp();
	}
	for (int i = threadIdx.x; i < columns; i += 32)
		out[blockIdx.x * columns + i] = expf(row[i] - most) / shared[0];
}

extern "C" __global__ void layernorm_rows(const float *in, float *out, float eps, int columns)
{
	const float *row = in + blockIdx.x * columns;
	float sum = 0;
	float squares = 0;

	for (int i = threadIdx.x; i < columns; i += 32) {
		sum += row[i];
		squares += row[i] * row[i];
	}
	for (int step = 16; step; step /= 2) {
		sum += __shfl_xor_sync(0xffffffff, sum, step);
		squares += __shfl_xor_sync(0xffffffff, squares, step);
	}
	float mean = sum / columns;
	float scale = rsqrtf(squares / columns - mean * mean + eps);
	for (int i = threadIdx.x; i < columns; i += 32)
		out[blockIdx.x * columns + i] = (row[i] - mean) * scale;
}

/* An arithmetic loop without memory: for measuring. */
extern "C" __global__ void alu_loop(float *out, int n)
{
	float a = threadIdx.x * 0.001f;
	float b = 1.0f;
	float c = 0.5f;
	float d = 0.25f;

#pragma unroll 16
	for (int i = 0; i < n; i++) {
		a = a * 0.999f + b;
		b = b * 1.001f - c;
		c = c * 0.5f + d;
		d = d + 0.125f * a;
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}
