#include <cuda_runtime.h>
#define EDGE 8

__global__ void tiled(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float tiles[2 * EDGE * EDGE];
    float *left = tiles, *right = tiles + EDGE * EDGE;
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * EDGE + y, col = blockIdx.x * EDGE + x;
    float sum = 0.f;
    for (int first = 0; first < k; first += EDGE) {
        if (row < m && first + x < k)
            left[y * EDGE + x] = a[row * k + first + x];
        right[y * EDGE + x] = first + y < k && col < n ? b[(first + y) * n + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < EDGE; ++i) sum += left[y * EDGE + i] * right[i * EDGE + x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

int main() {
    int m = 90, n = 72, k = 50;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    tiled<<<dim3((n + EDGE - 1) / EDGE, (m + EDGE - 1) / EDGE), dim3(EDGE, EDGE)>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}
