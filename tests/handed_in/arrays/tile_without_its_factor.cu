// Exercise 4: every thread computes 4 elements of one row, TILE columns apart
#include <cstdio>
#include <cstdlib>
#define TILE 16
#define COARSE 4
#define cudaCheck(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line) {
    if (code != cudaSuccess) { fprintf(stderr, "GPU: %s %s %d\n", cudaGetErrorString(code), file, line); exit(code); }
}

__global__ void mmCoarse(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col0 = blockIdx.x * TILE * COARSE + tx;
    float acc[COARSE] = {0};
    for (int k0 = 0; k0 < k; k0 += TILE) {
        as[ty][tx] = (row < m && k0 + tx < k) ? a[row * k + k0 + tx] : 0.0f;
        for (int j = 0; j < COARSE; j++) {
            int col = col0 + j * TILE;
            bs[ty][tx + j * TILE] = (k0 + ty < k && col < n) ? b[(k0 + ty) * n + col] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            float av = as[ty][i];
            for (int j = 0; j < COARSE; j++)
                acc[j] += av * bs[i][tx + j * TILE];
        }
        __syncthreads();
    }
    for (int j = 0; j < COARSE; j++) {
        int col = col0 + j * TILE;
        if (row < m && col < n) c[row * n + col] = acc[j];
    }
}

int main()
{
    int m = 256, n = 256, k = 256;
    float *a, *b, *c;
    cudaCheck(cudaMallocManaged(&a, m * k * sizeof(float)));
    cudaCheck(cudaMallocManaged(&b, k * n * sizeof(float)));
    cudaCheck(cudaMallocManaged(&c, m * n * sizeof(float)));
    for (int i = 0; i < m * k; i++) a[i] = 1.0f;
    for (int i = 0; i < k * n; i++) b[i] = 2.0f;
    dim3 block(TILE, TILE);
    dim3 grid((n + TILE * COARSE - 1) / (TILE * COARSE), (m + TILE - 1) / TILE);
    mmCoarse<<<grid, block>>>(a, b, c, m, n, k);
    cudaCheck(cudaPeekAtLastError());
    cudaCheck(cudaDeviceSynchronize());
    printf("c[0] = %f (should be %f)\n", c[0], 2.0f * k);
    cudaFree(a); cudaFree(b); cudaFree(c);
    return 0;
}
