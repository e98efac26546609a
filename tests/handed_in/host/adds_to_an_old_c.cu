// Exam f): C += A * B
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#define TILE 16

__global__ void gemmAcc(const float *A, const float *B, float *C, int n, int m, int p)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < m; t += TILE) {
        As[threadIdx.y][threadIdx.x] = row < n && t + threadIdx.x < m ? A[row * m + t + threadIdx.x] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = col < p && t + threadIdx.y < m ? B[(t + threadIdx.y) * p + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < p) C[row * p + col] += sum;
}

int main()
{
    const int n = 1000, m = 500, p = 750;
    float *A = (float *)malloc(sizeof(float) * n * m), *B = (float *)malloc(sizeof(float) * m * p);
    float *C = (float *)malloc(sizeof(float) * n * p), *C0 = (float *)malloc(sizeof(float) * n * p);
    for (int i = 0; i < n * m; i++) A[i] = rand() % 5;
    for (int i = 0; i < m * p; i++) B[i] = rand() % 5;
    for (int i = 0; i < n * p; i++) C[i] = rand() % 5;
    memcpy(C0, C, sizeof(float) * n * p);
    float *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, sizeof(float) * n * m);
    cudaMalloc(&d_B, sizeof(float) * m * p);
    cudaMalloc(&d_C, sizeof(float) * n * p);
    cudaMemcpy(d_A, A, sizeof(float) * n * m, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, B, sizeof(float) * m * p, cudaMemcpyHostToDevice);
    cudaMemcpy(d_C, C, sizeof(float) * n * p, cudaMemcpyHostToDevice);
    gemmAcc<<<dim3((p + TILE - 1) / TILE, (n + TILE - 1) / TILE), dim3(TILE, TILE)>>>(d_A, d_B, d_C, n, m, p);
    cudaMemcpy(C, d_C, sizeof(float) * n * p, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < p; j++) {
            float s = C0[i * p + j];
            for (int k = 0; k < m; k++) s += A[i * m + k] * B[k * p + j];
            wrong += s != C[i * p + j];
        }
    printf("%d wrong\n", wrong);
}
