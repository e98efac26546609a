#include <cuda_runtime.h>
// Fortran order: A(m,k), B(k,n), C(m,n)
#define A_(i, j) A[(i) + (j) * m]
#define B_(i, j) B[(i) + (j) * k]
#define C_(i, j) C[(i) + (j) * n]
__global__ void gemm_f(const double *A, const double *B, double *C, int m, int n, int k)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    if (i >= m || j >= n) return;
    double t = 0.0;
    for (int p = 0; p < k; p++) t += A_(i, p) * B_(p, j);
    C_(i, j) = t;
}
extern "C" void gemm_f_(const double *A, const double *B, double *C, int m, int n, int k)
{
    dim3 block(32, 4);
    dim3 grid((m + 31) / 32, (n + 3) / 4);
    gemm_f<<<grid, block>>>(A, B, C, m, n, k);
}
