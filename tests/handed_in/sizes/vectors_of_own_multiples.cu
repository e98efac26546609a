// Aufgabe 6: float4 loads of both tiles, 64 threads load a 32x32 tile ... each thread computes 4 results in x
#include <cstdio>
#include <cstdlib>
#define T 32

__global__ void mm_f4(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[T][T];
    __shared__ float Bs[T][T];
    int tx = threadIdx.x;            // 0..7, four columns each
    int ty = threadIdx.y;            // 0..31
    int row = blockIdx.y * T + ty;
    int col = blockIdx.x * T + tx * 4;
    float4 acc = make_float4(0, 0, 0, 0);
    float4 zero = make_float4(0, 0, 0, 0);
    for (int t = 0; t < K; t += T) {
        float4 a = (row < M && t + tx * 4 < K) ? *(const float4 *)&A[row * K + t + tx * 4] : zero;
        float4 b = (t + ty < K && col < N) ? *(const float4 *)&B[(t + ty) * N + col] : zero;
        *(float4 *)&As[ty][tx * 4] = a;
        *(float4 *)&Bs[ty][tx * 4] = b;
        __syncthreads();
        for (int k = 0; k < T; k++) {
            float av = As[ty][k];
            float4 bv = *(float4 *)&Bs[k][tx * 4];
            acc.x += av * bv.x;
            acc.y += av * bv.y;
            acc.z += av * bv.z;
            acc.w += av * bv.w;
        }
        __syncthreads();
    }
    if (row < M && col < N) *(float4 *)&C[row * N + col] = acc;
}

int main(int argc, char **argv)
{
    int M = 150, N = 256, K = 96;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 thr(T / 4, T);
    dim3 grd((N + T - 1) / T, (M + T - 1) / T);
    mm_f4<<<grd, thr>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}
