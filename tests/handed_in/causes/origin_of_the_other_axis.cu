#include <cuda_runtime.h>
#define BM 32
#define BN 32
#define BK 8
#define TM 4
// 1-D blocks; each thread computes TM rows of one column.
__global__ void regs(int R, int S, int Q, const double *P, const double *V, double *O) {
    __shared__ double sP[BM * BK];
    __shared__ double sV[BK * BN];
    const int tCol = threadIdx.x % BN;
    const int tRow = threadIdx.x / BN;
    const int r0 = blockIdx.y * BM, c0 = blockIdx.x * BN;
    double acc[TM] = {0.0};
    for (int q = 0; q < Q; q += BK) {
        for (int e = threadIdx.x; e < BM * BK; e += blockDim.x) {
            int r = e / BK, c = e % BK;
            sP[e] = (r0 + r < R && q + c < Q) ? P[(r0 + r) * Q + q + c] : 0.0;
        }
        for (int e = threadIdx.x; e < BK * BN; e += blockDim.x) {
            int r = e / BN, c = e % BN;
            sV[e] = (q + r < Q && c0 + c < S) ? V[(q + r) * S + r0 + c] : 0.0;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            double v = sV[k * BN + tCol];
            for (int m = 0; m < TM; ++m)
                acc[m] += sP[(tRow * TM + m) * BK + k] * v;
        }
        __syncthreads();
    }
    for (int m = 0; m < TM; ++m) {
        int r = r0 + tRow * TM + m;
        if (r < R && c0 + tCol < S) O[r * S + c0 + tCol] = acc[m];
    }
}
extern "C" void multiply(const double *P, const double *V, double *O, int R, int S, int Q) {
    dim3 grid((S + BN - 1) / BN, (R + BM - 1) / BM);
    regs<<<grid, BN * BM / TM>>>(R, S, Q, P, V, O);
    cudaDeviceSynchronize();
}
