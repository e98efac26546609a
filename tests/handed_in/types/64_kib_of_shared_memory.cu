// Two strips of 32 x 256 floats are 64 KiB: a launch fails unless the program asks for more than 48 KiB.
#include <cuda_runtime.h>

#define EDGE 32
#define DEPTH 256

__global__ void strips(const float *a, const float *b, float *c, int n) {
    extern __shared__ float memory[];
    float *rows = memory, *columns = memory + EDGE * DEPTH;
    const int y = threadIdx.y, x = threadIdx.x;
    const int i = blockIdx.y * EDGE + y, j = blockIdx.x * EDGE + x;
    float sum = 0;
    for (int first = 0; first < n; first += DEPTH) {
        for (int k = x; k < DEPTH; k += EDGE) rows[y * DEPTH + k] = i < n && first + k < n ? a[i * n + first + k] : 0;
        for (int k = y; k < DEPTH; k += EDGE) columns[k * EDGE + x] = j < n && first + k < n ? b[(first + k) * n + j] : 0;
        __syncthreads();
        for (int k = 0; k < DEPTH; ++k) sum += rows[y * DEPTH + k] * columns[k * EDGE + x];
        __syncthreads();
    }
    if (i < n && j < n) c[i * n + j] = sum;
}

int main() {
    const int n = 300;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * n * sizeof(float));
    cudaMalloc(&c, n * n * sizeof(float));
    const int bytes = 2 * EDGE * DEPTH * sizeof(float);
    strips<<<dim3((n + EDGE - 1) / EDGE, (n + EDGE - 1) / EDGE), dim3(EDGE, EDGE), bytes>>>(a, b, c, n);
    cudaDeviceSynchronize();
}
