// Aufgabe 4: rectangular, C(m x p) = A(m x n) * B(n x p), any size
#include <cstdio>
#include <cstdlib>
#define TW 32

__global__ void rectMul(float *A, float *B, float *C, int m, int n, int p)
{
    __shared__ float tA[TW][TW], tB[TW][TW];
    const int i = threadIdx.y + TW * blockIdx.y;
    const int j = threadIdx.x + TW * blockIdx.x;
    float s = 0.f;
    for (int t = 0; t < n; t += TW) {
        tA[threadIdx.y][threadIdx.x] = i < m && t + threadIdx.x < n ? A[i * n + t + threadIdx.x] : 0.f;
        tB[threadIdx.y][threadIdx.x] = j < p && t + threadIdx.y < n ? B[(t + threadIdx.y) * p + j] : 0.f;
        __syncthreads();
        for (int k = 0; k < TW; k++)
            s += tA[threadIdx.y][k] * tB[k][threadIdx.x];
        __syncthreads();
    }
    if (i < m && j < p) C[i * p + j] = s;
}

int main(int argc, char **argv)
{
    if (argc < 4) { printf("usage: %s m n p\n", argv[0]); return 1; }
    int m = atoi(argv[1]), n = atoi(argv[2]), p = atoi(argv[3]);
    float *A, *B, *C;
    cudaMallocManaged(&A, m * n * sizeof(float));
    cudaMallocManaged(&B, n * p * sizeof(float));
    cudaMallocManaged(&C, m * p * sizeof(float));
    for (int x = 0; x < m * n; x++) A[x] = drand48();
    for (int x = 0; x < n * p; x++) B[x] = drand48();
    dim3 thr(TW, TW), blk((p + TW - 1) / TW, (m + TW - 1) / TW);
    rectMul<<<blk, thr>>>(A, B, C, m, n, p);
    cudaDeviceSynchronize();
}
