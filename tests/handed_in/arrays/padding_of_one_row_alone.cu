// Exercise 6, first try with padding
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define PAD 1

template <int TILE>
__global__ void mm3(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float sA[TILE * TILE];
    __shared__ float sB[TILE * TILE + PAD];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        sA[ty * TILE + tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.f;
        sB[tx * (TILE + PAD) + ty] = (k0 + ty < K && col < N) ? B[(k0 + ty) * N + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            acc += sA[ty * TILE + k] * sB[tx * (TILE + PAD) + k];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}

template <int TILE>
void run(const float *dA, const float *dB, float *dC, int M, int N, int K)
{
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    mm3<TILE><<<grid, block>>>(dA, dB, dC, M, N, K);
}

int main(int argc, char **argv)
{
    int M = 120, K = 200, N = 360;
    int tile = argc > 1 ? atoi(argv[1]) : 16;
    std::vector<float> A(M * K), B(K * N), C(M * N);
    for (auto &x : A) x = rand() % 100 / 100.f;
    for (auto &x : B) x = rand() % 100 / 100.f;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, A.size() * sizeof(float));
    cudaMalloc(&dB, B.size() * sizeof(float));
    cudaMalloc(&dC, C.size() * sizeof(float));
    cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice);
    switch (tile) {
    case 16: run<16>(dA, dB, dC, M, N, K); break;
    case 32: run<32>(dA, dB, dC, M, N, K); break;
    default: printf("tile 16 or 32\n"); return 1;
    }
    cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost);
    double err = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            err = fmax(err, fabs(s - C[i * N + j]));
        }
    printf("tile %d: max error %g\n", tile, err);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
}
