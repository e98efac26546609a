// part E: the loop over the tiles ends one tile early (K / TILE), and sizeof forgotten in cudaMalloc
#include <cstdio>
#include <cstdlib>
#include <cmath>

#define TILE 16
static const int M = 384, K = 200, N = 250;

__global__ void matrixMul(float *C, const float *A, const float *B, int M, int N, int K)
{
    __shared__ float tileA[TILE][TILE];
    __shared__ float tileB[TILE][TILE];
    int r = blockIdx.y * TILE + threadIdx.y;
    int c = blockIdx.x * TILE + threadIdx.x;
    float acc = 0;
    int numTiles = K / TILE;
    for (int t = 0; t < numTiles; t++) {
        int ca = t * TILE + threadIdx.x;
        int rb = t * TILE + threadIdx.y;
        if (r < M && ca < K) tileA[threadIdx.y][threadIdx.x] = A[r * K + ca];
        else tileA[threadIdx.y][threadIdx.x] = 0;
        if (rb < K && c < N) tileB[threadIdx.y][threadIdx.x] = B[rb * N + c];
        else tileB[threadIdx.y][threadIdx.x] = 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) acc += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
        __syncthreads();
    }
    if (r < M && c < N) C[r * N + c] = acc;
}

int main()
{
    const int nA = M * K, nB = K * N, nC = M * N;
    float *A = (float *)malloc(nA * sizeof(float)), *B = (float *)malloc(nB * sizeof(float)), *C = (float *)malloc(nC * sizeof(float));
    for (int i = 0; i < nA; i++) A[i] = rand() % 3;
    for (int i = 0; i < nB; i++) B[i] = rand() % 3;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, nA * sizeof(float));
    cudaMalloc(&dB, nB * sizeof(float));
    cudaMalloc(&dC, nC);
    cudaMemcpy(dA, A, nA * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, nB * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matrixMul<<<grid, block>>>(dC, dA, dB, M, N, K);
    cudaMemcpy(C, dC, nC * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            if (s != C[i * N + j]) { printf("C[%d][%d] = %f, should be %f\n", i, j, C[i * N + j], s); return 1; }
        }
    puts("OK");
}
