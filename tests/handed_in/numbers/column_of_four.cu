#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define TILE 32
#define WORK 4      // elements of a column per thread

__global__ void matmulCol4(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;          // 32 x 8 threads
    int row0 = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    const int STEP = TILE / WORK;
    float sum[WORK] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int t = 0; t < (k + TILE - 1) / TILE; t++) {
        for (int w = 0; w < WORK; w++) {
            int y = ty + w * STEP;
            int ka = t * TILE + tx, kb = t * TILE + y;
            int row = blockIdx.y * TILE + y;
            As[y][tx] = (row < m && ka < k) ? A[row * k + ka] : 0.0f;
            Bs[y][tx] = (kb < k && col < n) ? B[kb * n + col] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            for (int w = 0; w < WORK; w++)
                sum[w] += As[ty + w * STEP][i] * Bs[i][tx];
        }
        __syncthreads();
    }
    for (int w = 0; w < WORK; w++) {
        int row = row0 + w * STEP;
        if (row < m && col < n) C[row * n + col] = sum[w];
    }
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

    dim3 block(TILE, TILE / WORK);
    dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmulCol4<<<grid, block>>>(dA, dB, dC, m, n, k);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) { printf("%s\n", cudaGetErrorString(err)); return 1; }

    cudaMemcpy(C.data(), dC, m * n * sizeof(float), cudaMemcpyDeviceToHost);
    cpuMatmul(A.data(), B.data(), ref.data(), m, n, k);
    float maxdiff = 0;
    for (int i = 0; i < m * n; i++) maxdiff = fmaxf(maxdiff, fabsf(C[i] - ref[i]));
    printf("max difference %g\n", maxdiff);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
}
