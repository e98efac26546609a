// Each warp computes 16 x 16 elements of C with mma.sync. ldmatrix reads tiles whose chunks of 8 halves are swizzled.
//
// param:    SWIZZLED = 1 in 0, 1
// threads:  128
// grid:     N / 32, M / 32
// args:     A, B, C, M, N, K
// requires: M % 32 == 0, N % 32 == 0, K % 32 == 0

#include <cuda_fp16.h>

#define CHUNK(row, chunk) ((row) * 32 + (SWIZZLED ? (chunk) ^ (row) / 2 % 4 : (chunk)) * 8)

__global__ void mma_swizzled(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ __align__(128) half As[32 * 32];  // 32 rows of 4 chunks of 8 halves
    __shared__ __align__(128) half Bs[32 * 32];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int row = blockIdx.y * 32, column = blockIdx.x * 32, warp_row = warp / 2 * 16, warp_column = warp % 2 * 16;
    float c[2][4] = {};
    for (int k0 = 0; k0 < K; k0 += 32) {
        const int r = t / 4, chunk = t % 4;
        __align__(16) half2 a2[4], b2[4];
        for (int i = 0; i < 4; ++i) {
            const float2 a = *(const float2 *)&A[(row + r) * K + k0 + chunk * 8 + 2 * i];
            const float2 b = *(const float2 *)&B[(k0 + r) * N + column + chunk * 8 + 2 * i];
            a2[i] = __floats2half2_rn(a.x, a.y);
            b2[i] = __float22half2_rn(b);
        }
        *(uint4 *)&As[CHUNK(r, chunk)] = *(uint4 *)a2;
        *(uint4 *)&Bs[CHUNK(r, chunk)] = *(uint4 *)b2;
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            unsigned a[4], b[4];
            unsigned address = __cvta_generic_to_shared(&As[CHUNK(warp_row + lane % 16, k / 8 + lane / 16)]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                         : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(address));
            address = __cvta_generic_to_shared(&Bs[CHUNK(k + lane % 16, warp_column / 8 + lane / 16)]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                         : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(address));
            for (int n = 0; n < 2; ++n)
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                             "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
                             : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
                             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * n]), "r"(b[2 * n + 1]));
        }
        __syncthreads();
    }
    for (int n = 0; n < 2; ++n)
        for (int i = 0; i < 4; ++i)
            C[(row + warp_row + lane / 4 + i / 2 * 8) * N + column + warp_column + n * 8 + lane % 4 * 2 + i % 2] = c[n][i];
}
