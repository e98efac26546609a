#include <cuda_fp16.h>
#include <cstdint>
__device__ void ldm4(uint32_t (&r)[4], const half *p) {
    uint32_t s = (uint32_t)__cvta_generic_to_shared(p);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(s));
}
__device__ void ldm2t(uint32_t (&r)[2], const half *p) {
    uint32_t s = (uint32_t)__cvta_generic_to_shared(p);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(s));
}
__global__ void tc(const half *A, const half *B, half *C, int M, int N, int K) {
    __shared__ __align__(16) half a[32][16], b[16][16];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int m0 = blockIdx.y * 32, n0 = blockIdx.x * 16;
    float d[2][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int i = threadIdx.x; i < 64; i += 64) *(int4 *)&a[i / 2][i % 2 * 8] = *(const int4 *)&A[(m0 + i / 2) * K + k0 + i % 2 * 8];
        if (threadIdx.x < 32) *(int4 *)&b[threadIdx.x / 2][threadIdx.x % 2 * 8] = *(const int4 *)&B[(k0 + threadIdx.x / 2) * N + n0 + threadIdx.x % 2 * 8];
        __syncthreads();
        uint32_t ra[4];
        ldm4(ra, &a[warp * 16 + lane % 16][lane / 16 * 8]);
        for (int j = 0; j < 2; j++) {
            uint32_t rb[2];
            ldm2t(rb, &b[lane % 16][j * 8]);
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; j++) {
        int r = m0 + warp * 16 + lane / 4, c = n0 + j * 8 + lane % 4 * 2;
        *(half2 *)&C[r * N + c] = __floats2half2_rn(d[j][0], d[j][1]);
        *(half2 *)&C[(r + 8) * N + c] = __floats2half2_rn(d[j][2], d[j][3]);
    }
}

int main() {
    const int M = 256, N = 256, K = 256;
    half *A, *B; half *C;
    cudaMalloc(&A, sizeof(half) * M * K);
    cudaMalloc(&B, sizeof(half) * K * N);
    cudaMalloc(&C, sizeof(half) * M * N);
    tc<<<dim3(N / 16, M / 32), 64>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}
