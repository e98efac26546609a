// Exercise 6: precision by a typedef. Change "float" to "double" here:
typedef double real;

#include <cstdio>
#include <cstdlib>
#include <chrono>

struct Matrix {
    int rows, cols;
    real *data;
};

#define CHECK(x) do { cudaError_t e = x; if (e != cudaSuccess) { \
    fprintf(stderr, "CUDA error %s at line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

static Matrix allocMatrix(int r, int c)
{
    Matrix m = {r, c, (real *)malloc(sizeof(real) * r * c)};
    return m;
}

template <int BS>
__global__ void matMulTiled(Matrix A, Matrix B, Matrix C)
{
    __shared__ real As[BS][BS];
    __shared__ real Bs[BS][BS];
    int row = blockIdx.y * BS + threadIdx.y;
    int col = blockIdx.x * BS + threadIdx.x;
    real acc = 0;

    for (int t = 0; t < (A.cols + BS - 1) / BS; t++) {
        As[threadIdx.y][threadIdx.x] = 0;
        Bs[threadIdx.y][threadIdx.x] = 0;
        if (row < A.rows && t * BS + threadIdx.x < A.cols)
            As[threadIdx.y][threadIdx.x] = A.data[row * A.cols + t * BS + threadIdx.x];
        if (col < B.cols && t * BS + threadIdx.y < B.rows)
            Bs[threadIdx.y][threadIdx.x] = B.data[(t * BS + threadIdx.y) * B.cols + col];
        __syncthreads();
        for (int k = 0; k < BS; k++)
            acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < C.rows && col < C.cols)
        C.data[row * C.cols + col] = acc;
}

int main()
{
    int M = 256, N = 128, K = 192;
    Matrix A = allocMatrix(M, K), B = allocMatrix(K, N), C = allocMatrix(M, N);
    for (int i = 0; i < M * K; i++) A.data[i] = rand() / (real)RAND_MAX;
    for (int i = 0; i < K * N; i++) B.data[i] = rand() / (real)RAND_MAX;

    Matrix dA{M, K, nullptr}, dB{K, N, nullptr}, dC{M, N, nullptr};
    CHECK(cudaMalloc(&dA.data, M * K * sizeof(real)));
    CHECK(cudaMalloc(&dB.data, K * N * sizeof(float)));     // forgot this one
    CHECK(cudaMalloc(&dC.data, M * N * sizeof(real)));
    CHECK(cudaMemcpy(dA.data, A.data, M * K * sizeof(real), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB.data, B.data, K * N * sizeof(real), cudaMemcpyHostToDevice));

    const int BS = 16;
    dim3 block(BS, BS), grid((N + BS - 1) / BS, (M + BS - 1) / BS);
    auto t0 = std::chrono::steady_clock::now();
    matMulTiled<BS><<<grid, block>>>(dA, dB, dC);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    auto t1 = std::chrono::steady_clock::now();
    printf("%.3f ms\n", std::chrono::duration<double, std::milli>(t1 - t0).count());

    CHECK(cudaMemcpy(C.data, dC.data, M * N * sizeof(real), cudaMemcpyDeviceToHost));
    cudaFree(dA.data); cudaFree(dB.data); cudaFree(dC.data);
    free(A.data); free(B.data); free(C.data);
    return 0;
}
