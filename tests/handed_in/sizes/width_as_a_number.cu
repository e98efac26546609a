// The width of the matrices is a number in the kernel, in steps and in the end of the loop.
#include <cstdio>

__global__ void multiply96(const float *left, const float *right, float *out) {
    const int width = 96;
    __shared__ float l[8][8];
    __shared__ float r[8][8];
    int first = width * 8 * blockIdx.y, last = first + width - 1;
    float total = 0.0f;
    for (int p = first, q = 8 * blockIdx.x; p <= last; p += 8, q += 8 * width) {
        l[threadIdx.y][threadIdx.x] = left[p + width * threadIdx.y + threadIdx.x];
        r[threadIdx.y][threadIdx.x] = right[q + width * threadIdx.y + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 8; i++) total += l[threadIdx.y][i] * r[i][threadIdx.x];
        __syncthreads();
    }
    out[first + 8 * blockIdx.x + width * threadIdx.y + threadIdx.x] = total;
}

int main() {
    const int size = 96;
    float *left, *right, *out;
    cudaMalloc(&left, size * size * sizeof(float));
    cudaMalloc(&right, size * size * sizeof(float));
    cudaMalloc(&out, size * size * sizeof(float));
    multiply96<<<dim3(size / 8, size / 8), dim3(8, 8)>>>(left, right, out);
    cudaDeviceSynchronize();
}
