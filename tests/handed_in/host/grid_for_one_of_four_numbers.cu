// Experiment 2, method 2, second try: the elements of a thread lie 16 apart
#include <iostream>
#include <vector>
#include <cstdlib>
#include <cuda_runtime.h>
using namespace std;

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        cerr << "GPUassert: " << cudaGetErrorString(code) << " " << file << " " << line << endl;
        exit(code);
    }
}

constexpr int T = 16;           // threads per edge of a block

template <int TILE_SIZE>
__global__ void matmulReg(const int *A, const int *B, int *C, int n)
{
    const int row = blockIdx.y * T * TILE_SIZE + threadIdx.y;
    const int col = blockIdx.x * T * TILE_SIZE + threadIdx.x;
    int a_vec[TILE_SIZE];
    int b_vec[TILE_SIZE];
    int res[TILE_SIZE][TILE_SIZE];
    for (int i = 0; i < TILE_SIZE; i++)
        for (int j = 0; j < TILE_SIZE; j++)
            res[i][j] = 0;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < TILE_SIZE; i++) {
            a_vec[i] = A[(row + i * T) * n + k];
            b_vec[i] = B[k * n + col + i * T];
        }
        for (int i = 0; i < TILE_SIZE; i++)
            for (int j = 0; j < TILE_SIZE; j++)
                res[i][j] += a_vec[i] * b_vec[j];
    }
    for (int i = 0; i < TILE_SIZE; i++)
        for (int j = 0; j < TILE_SIZE; j++)
            C[(row + i * T) * n + col + j * T] = res[i][j];
}

template <int TILE_SIZE>
void measure(const int *d_A, const int *d_B, int *d_C, int n, vector<int> &C, const vector<int> &ref)
{
    dim3 block(T, T);
    dim3 grid(n / T, n / T);
    cudaEvent_t begin, end;
    gpuErrchk(cudaEventCreate(&begin));
    gpuErrchk(cudaEventCreate(&end));
    float mean = 0;
    for (int i = 0; i < 5; i++) {
        gpuErrchk(cudaEventRecord(begin));
        matmulReg<TILE_SIZE><<<grid, block>>>(d_A, d_B, d_C, n);
        gpuErrchk(cudaEventRecord(end));
        gpuErrchk(cudaEventSynchronize(end));
        float t;
        gpuErrchk(cudaEventElapsedTime(&t, begin, end));
        mean += t / 5;
    }
    gpuErrchk(cudaMemcpy(C.data(), d_C, C.size() * sizeof(int), cudaMemcpyDeviceToHost));
    cout << "TILE_SIZE " << TILE_SIZE << ": " << mean << " ms " << (C == ref ? "Success!" : "WRONG") << endl;
}

int main()
{
    const int n = 1024;
    vector<int> A(n * n), B(n * n), C(n * n), ref(n * n, 0);
    for (auto &x : A) x = rand() % 16;
    for (auto &x : B) x = rand() % 16;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                ref[i * n + j] += A[i * n + k] * B[k * n + j];
    int *d_A, *d_B, *d_C;
    gpuErrchk(cudaMalloc(&d_A, n * n * sizeof(int)));
    gpuErrchk(cudaMalloc(&d_B, n * n * sizeof(int)));
    gpuErrchk(cudaMalloc(&d_C, n * n * sizeof(int)));
    gpuErrchk(cudaMemcpy(d_A, A.data(), A.size() * sizeof(int), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(d_B, B.data(), B.size() * sizeof(int), cudaMemcpyHostToDevice));
    measure<1>(d_A, d_B, d_C, n, C, ref);
    measure<2>(d_A, d_B, d_C, n, C, ref);
    measure<4>(d_A, d_B, d_C, n, C, ref);
    measure<8>(d_A, d_B, d_C, n, C, ref);
    cudaFree(d_A);
    cudaFree(d_B);
    cudaFree(d_C);
}
