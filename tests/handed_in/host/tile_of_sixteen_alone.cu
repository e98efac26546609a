#include <cuda_runtime.h>
#include <cstdlib>
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K, int tile) {
    extern __shared__ float s[];
    float *sA = s, *sB = s + 256;
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * tile + y, c = blockIdx.x * tile + x;
    float v = 0;
    for (int t = 0; t < K; t += tile) {
        sA[y * tile + x] = r < M && t + x < K ? A[r * K + t + x] : 0.f;
        sB[y * tile + x] = t + y < K && c < N ? B[(t + y) * N + c] : 0.f;
        __syncthreads();
        for (int k = 0; k < tile; k++) v += sA[y * tile + k] * sB[k * tile + x];
        __syncthreads();
    }
    if (r < M && c < N) C[r * N + c] = v;
}
int main(int argc, char **argv) {
    int M = 100, N = 90, K = 70, tile;
    tile = 16;
    if (argc > 1) tile = atoi(argv[1]);
    float *a, *b, *c;
    cudaMalloc(&a, M * K * 4); cudaMalloc(&b, K * N * 4); cudaMalloc(&c, M * N * 4);
    mm<<<dim3((N + tile - 1) / tile, (M + tile - 1) / tile), dim3(tile, tile), 2 * tile * tile * sizeof(float)>>>(a, b, c, M, N, K, tile);
    cudaDeviceSynchronize();
}
