// Exercise 7b: C = A * B with tiles
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#define TILE 16

__global__ void matmulTiled(const float *A, const float *B, float *C, int m, int k, int n)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE + tx;
    int row = blockIdx.y * TILE + ty;
    float sum = 0.0f;
    for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
        int ac = t * TILE + tx;
        int br = t * TILE + ty;
        As[ty][tx] = (row < m && ac < k) ? A[row * k + ac] : 0.0f;
        Bs[ty][tx] = (br < k && col < n) ? B[br * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        C[row * n + col] = sum;
}

void gpuMatmul(const float *A, const float *B, float *C, int m, int k, int n)
{
    float *dA, *dB, *dC;
    cudaMalloc(&dA, m * k * sizeof(float));
    cudaMalloc(&dB, k * n * sizeof(float));
    cudaMalloc(&dC, m * n * sizeof(float));
    cudaMemcpy(dA, A, m * k * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, k * n * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmulTiled<<<grid, block>>>(dA, dB, dC, m, k, n);
    cudaMemcpy(C, dC, m * n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
}

bool test(int m, int k, int n)
{
    std::vector<float> A(m * k), B(k * n), C(m * n);
    for (auto &x : A) x = rand() / (float)RAND_MAX;
    for (auto &x : B) x = rand() / (float)RAND_MAX;
    gpuMatmul(A.data(), B.data(), C.data(), m, k, n);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int l = 0; l < k; ++l) s += A[i * k + l] * B[l * n + j];
            if (fabs(s - C[i * n + j]) > 1e-3f) {
                printf("wrong at %d %d: %f %f\n", i, j, s, C[i * n + j]);
                return false;
            }
        }
    return true;
}

int main()
{
    printf("%d\n", test(256, 128, 192));
    printf("%d\n", test(200, 100, 150));
}
