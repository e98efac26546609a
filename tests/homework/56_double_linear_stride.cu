#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>

// double precision, 1-D launch, grid-stride loop over all elements of C.
// 64 bit indices because the big test does not fit into 31 bits.

static inline void ok(cudaError_t e) { if (e != cudaSuccess) { std::puts(cudaGetErrorString(e)); std::abort(); } }

__global__ void dmul(std::int64_t hA, std::int64_t wA, std::int64_t wB,
                     const double* A, const double* B, double* C)
{
    const std::int64_t total = hA * wB;
    const std::int64_t step = (std::int64_t)gridDim.x * blockDim.x;
    for (std::int64_t e = (std::int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < total; e += step)
    {
        const std::int64_t i = e / wB, j = e % wB;
        double s = 0.0;
        for (std::int64_t k = 0; k < wA; ++k)
            s += A[i * wA + k] * B[k * wB + j];
        C[e] = s;
    }
}

int main(int argc, char** argv)
{
    std::int64_t hA = 511, wA = 64, wB = 257;
    if (argc > 3) { hA = atoll(argv[1]); wA = atoll(argv[2]); wB = atoll(argv[3]); }

    double *A, *B, *C;
    ok(cudaMallocManaged(&A, hA * wA * sizeof(double)));
    ok(cudaMallocManaged(&B, wA * wB * sizeof(double)));
    ok(cudaMallocManaged(&C, hA * wB * sizeof(double)));
    for (std::int64_t i = 0; i < hA * wA; ++i) A[i] = 1.0 / (1 + i % 97);
    for (std::int64_t i = 0; i < wA * wB; ++i) B[i] = (i % 31) - 15.0;

    int dev = 0, sms = 0;
    ok(cudaGetDevice(&dev));
    ok(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev));
    dmul<<<4 * sms, 256>>>(hA, wA, wB, A, B, C);
    ok(cudaGetLastError());
    ok(cudaDeviceSynchronize());

    double worst = 0;
    for (std::int64_t i = 0; i < hA; ++i)
        for (std::int64_t j = 0; j < wB; ++j)
        {
            double s = 0;
            for (std::int64_t k = 0; k < wA; ++k) s += A[i * wA + k] * B[k * wB + j];
            worst = std::fmax(worst, std::fabs(s - C[i * wB + j]));
        }
    std::printf("worst %.2e\n", worst);
    ok(cudaFree(A)); ok(cudaFree(B)); ok(cudaFree(C));
    return worst < 1e-9 ? 0 : 1;
}
