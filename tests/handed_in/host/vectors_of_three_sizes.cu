// Assignment 4, part 2: tiles in shared memory
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#define TILE 32

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void matmulTiled(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (k + TILE - 1) / TILE; t++) {
        int ka = t * TILE + tx;
        int kb = t * TILE + ty;
        As[ty][tx] = (row < m && ka < k) ? A[row * k + ka] : 0.0f;
        Bs[ty][tx] = (kb < k && col < n) ? B[kb * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}

void cpuMatmul(const std::vector<float> &A, const std::vector<float> &B, std::vector<float> &C, int m, int n, int k) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int p = 0; p < k; p++) s += (double)A[i * k + p] * B[p * n + j];
            C[i * n + j] = s;
        }
}

int main(int argc, char **argv) {
    if (argc != 4) { printf("usage: %s m n k\n", argv[0]); return 1; }
    int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);
    std::vector<float> A(m * k), B(k * n), C(m * n), ref(m * n);
    for (auto &x : A) x = rand() / (float)RAND_MAX - 0.5f;
    for (auto &x : B) x = rand() / (float)RAND_MAX - 0.5f;
    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, m * k * sizeof(float)));
    CHECK(cudaMalloc(&d_B, k * n * sizeof(float)));
    CHECK(cudaMalloc(&d_C, m * n * sizeof(float)));
    CHECK(cudaMemcpy(d_A, A.data(), m * k * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, B.data(), k * n * sizeof(float), cudaMemcpyHostToDevice));
    dim3 threads(TILE, TILE);
    dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmulTiled<<<blocks, threads>>>(d_A, d_B, d_C, m, n, k);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(C.data(), d_C, m * n * sizeof(float), cudaMemcpyDeviceToHost));
    cpuMatmul(A, B, ref, m, n, k);
    double worst = 0;
    for (int i = 0; i < m * n; i++) worst = fmax(worst, fabs(C[i] - ref[i]));
    printf("%s (max error %g)\n", worst < 1e-3 ? "PASS" : "FAIL", worst);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
}
