#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define TILE 16

__global__ void matmulTiled(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (k + TILE - 1) / TILE; t++) {
        int ka = t * TILE + tx, kb = t * TILE + ty;
        As[ty][tx] = (row < m && ka < k) ? A[row * k + ka] : 0.0f;
        Bs[ty][tx] = (kb < k && col < n) ? B[kb * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += As[ty][i] * Bs[i][tx];
    }
    if (row < m && col < n)
        C[row * n + col] = sum;
}

void cpuMatmul(const float *A, const float *B, float *C, int m, int n, int k)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int l = 0; l < k; l++) s += A[i * k + l] * B[l * n + j];
            C[i * n + j] = s;
        }
}

int main(int argc, char **argv)
{
    int m = argc > 1 ? atoi(argv[1]) : 1000;
    int n = argc > 2 ? atoi(argv[2]) : 500;
    int k = argc > 3 ? atoi(argv[3]) : 700;

    std::vector<float> A(m * k), B(k * n), C(m * n), ref(m * n);
    for (auto &x : A) x = rand() / (float)RAND_MAX;
    for (auto &x : B) x = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    cudaMalloc(&dA, m * k * sizeof(float));
    cudaMalloc(&dB, k * n * sizeof(float));
    cudaMalloc(&dC, m * n * sizeof(float));
    cudaMemcpy(dA, A.data(), m * k * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B.data(), k * n * sizeof(float), cudaMemcpyHostToDevice);

    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmulTiled<<<grid, block>>>(dA, dB, dC, m, n, k);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) { printf("%s\n", cudaGetErrorString(err)); return 1; }

    cudaMemcpy(C.data(), dC, m * n * sizeof(float), cudaMemcpyHostToDevice);
    cpuMatmul(A.data(), B.data(), ref.data(), m, n, k);
    float maxdiff = 0;
    for (int i = 0; i < m * n; i++) maxdiff = fmaxf(maxdiff, fabsf(C[i] - ref[i]));
    printf("max difference %g\n", maxdiff);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
}
