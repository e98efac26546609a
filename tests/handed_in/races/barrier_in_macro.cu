#include <cuda_runtime.h>
#define EDGE 8
#define WAIT() __syncthreads()

__global__ void square(float *P, const float *L, const float *R, unsigned width) {
    __shared__ float left[EDGE][EDGE], right[EDGE][EDGE];
    const unsigned x = threadIdx.x, y = threadIdx.y;
    const unsigned col = blockIdx.x * EDGE + x, row = blockIdx.y * EDGE + y;
    float value = 0;
    for (unsigned p = 0; p < (width + EDGE - 1) / EDGE; ++p) {
        left[y][x] = row < width && p * EDGE + x < width ? L[row * width + p * EDGE + x] : 0;
        right[y][x] = col < width && p * EDGE + y < width ? R[(p * EDGE + y) * width + col] : 0;
        WAIT();
        for (unsigned q = 0; q < EDGE; ++q) value += left[y][q] * right[q][x];
    }
    if (row < width && col < width) P[row * width + col] = value;
}

int main() {
    unsigned width = 60;
    float *l, *r, *p;
    cudaMalloc(&l, width * width * sizeof(float));
    cudaMalloc(&r, width * width * sizeof(float));
    cudaMalloc(&p, width * width * sizeof(float));
    dim3 grid((width + EDGE - 1) / EDGE, (width + EDGE - 1) / EDGE);
    square<<<grid, dim3(EDGE, EDGE)>>>(p, l, r, width);
    cudaDeviceSynchronize();
}
