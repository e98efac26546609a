// Wrong: K / TILE is rounded down, and the second row of a thread is read where the first is.
// Homework 4, exercise 3: two rows per thread, tile 32 x 16
#include <cstdio>
#include <cstdlib>
#include <cmath>

#define TILE 16
#define ROWS 32      // rows of C per block: 2 per thread

__global__ void matmul_two(const float *A, const float *B, float *C, int M, int K, int N)
{
    __shared__ float As[ROWS][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * ROWS + ty;
    int row1 = row0 + TILE;
    int col = blockIdx.x * TILE + tx;
    float sum0 = 0.0f, sum1 = 0.0f;
    int tiles = K / TILE;
    for (int t = 0; t < tiles; t++) {
        int ka = t * TILE + tx, kb = t * TILE + ty;
        As[ty][tx]        = (row0 < M && ka < K) ? A[row0 * K + ka] : 0.0f;
        As[ty + TILE][tx] = (row1 < M && ka < K) ? A[row1 * K + ka] : 0.0f;
        Bs[ty][tx]        = (kb < K && col < N) ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float b = Bs[k][tx];
            sum0 += As[ty][k] * b;
            sum1 += As[ty][k] * b;
        }
        __syncthreads();
    }
    if (row0 < M && col < N) C[row0 * N + col] = sum0;
    if (row1 < M && col < N) C[row1 * N + col] = sum1;
}

int main()
{
    const int M = 200, K = 120, N = 280;
    float *A = new float[M * K], *B = new float[K * N], *C = new float[M * N];
    for (int i = 0; i < M * K; i++) A[i] = (float)(rand() % 100) / 100;
    for (int i = 0; i < K * N; i++) B[i] = (float)(rand() % 100) / 100;
    float *d_A, *d_B, *d_C;
    cudaMalloc((void **)&d_A, M * K * sizeof(float));
    cudaMalloc((void **)&d_B, K * N * sizeof(float));
    cudaMalloc((void **)&d_C, M * N * sizeof(float));
    cudaMemcpy(d_A, A, M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, B, K * N * sizeof(float), cudaMemcpyHostToDevice);
    dim3 threads(TILE, TILE);
    dim3 blocks((N + TILE - 1) / TILE, (M + ROWS - 1) / ROWS);
    matmul_two<<<blocks, threads>>>(d_A, d_B, d_C, M, K, N);
    cudaDeviceSynchronize();
    cudaMemcpy(C, d_C, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            if (fabs(s - C[i * N + j]) > 1e-3) bad++;
        }
    printf("%d wrong\n", bad);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    delete[] A; delete[] B; delete[] C;
}
