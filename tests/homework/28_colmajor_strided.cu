// Column-major SGEMM where one thread owns one element of C.
// C is m x n, A is m x k, B is k x n; everything packed (ld = number of rows).
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

using std::vector;

__device__ __forceinline__ int at(int row, int col, int nrows) { return col * nrows + row; }

__global__ void sgemm_cm(int m, int n, int k,
                         const float* __restrict__ A,
                         const float* __restrict__ B,
                         float* __restrict__ C)
{
    const int row = threadIdx.x + blockIdx.x * blockDim.x;   // fastest index: consecutive in memory
    const int col = threadIdx.y + blockIdx.y * blockDim.y;
    if (row >= m || col >= n) return;

    float acc = 0.f;
    #pragma unroll 4
    for (int p = 0; p < k; ++p)
        acc = fmaf(A[at(row, p, m)], B[at(p, col, k)], acc);
    C[at(row, col, m)] = acc;
}

template <class T>
T* to_device(const vector<T>& v)
{
    T* p = nullptr;
    cudaMalloc(&p, v.size() * sizeof(T));
    cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}

int main(int argc, char** argv)
{
    const int m = argc > 1 ? std::stoi(argv[1]) : 257;
    const int n = argc > 2 ? std::stoi(argv[2]) : 129;
    const int k = argc > 3 ? std::stoi(argv[3]) : 333;

    std::default_random_engine eng(2024);
    std::uniform_real_distribution<float> u(0.f, 1.f);
    vector<float> A(m * k), B(k * n), C(m * n, -1.f);
    std::generate(A.begin(), A.end(), [&] { return u(eng); });
    std::generate(B.begin(), B.end(), [&] { return u(eng); });

    float* dA = to_device(A);
    float* dB = to_device(B);
    float* dC = to_device(C);

    dim3 block(64, 4);
    dim3 grid((m - 1) / block.x + 1, (n - 1) / block.y + 1);
    sgemm_cm<<<grid, block>>>(m, n, k, dA, dB, dC);
    cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost);

    float worst = 0.f;
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
            double r = 0;
            for (int p = 0; p < k; ++p) r += double(A[p * m + i]) * B[j * k + p];
            worst = std::max(worst, std::fabs(float(r) - C[j * m + i]) / float(r));
        }
    std::cout << "largest relative error: " << worst << std::endl;

    for (float* p : {dA, dB, dC}) cudaFree(p);
    return worst < 1e-4f ? 0 : 1;
}
