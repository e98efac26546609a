#include <cstdio>
#include <cuda_runtime.h>
#define BM 64
#define BN 64
#define BK 16
#define TM 4
#define TN 4
// C = A * B, one block covers 64 x 64 elements of C
__global__ void matmul(const float *A, const float *B, float *C, int hoehe, int breite, int tiefe) {
    __shared__ float As[BM][BK], Bs[BK][BN];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    int r0 = blockIdx.y * BM, c0 = blockIdx.x * BN;
    float s[TM][TN] = {};
    for (int k0 = 0; k0 < tiefe; k0 += BK) {
        for (int i = t; i < BM * BK; i += 256) {
            int r = r0 + i / BK, k = k0 + i % BK;
            As[i / BK][i % BK] = r < hoehe && k < tiefe ? A[r * tiefe + k] : 0.0f;
        }
        for (int i = t; i < BK * BN; i += 256) {
            int k = k0 + i / BN, c = c0 + i % BN;
            Bs[i / BN][i % BN] = k < tiefe && c < breite ? B[k * breite + c] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < BK; k++)
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    s[i][j] += As[ty * TM + i][k] * Bs[k][tx * TN + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) {
            int r = r0 + ty * TM + i, c = c0 + tx * TN + j;
            if (r < hoehe && c < breite) C[r * breite + c] = s[i][j];
        }
}
int main() {
    int hoehe = 300, breite = 500, tiefe = 200;
    float *a, *b, *c;
    cudaMalloc(&a, hoehe * tiefe * 4); cudaMalloc(&b, tiefe * breite * 4); cudaMalloc(&c, hoehe * breite * 4);
    dim3 block(16, 16), grid((breite + 63) / 64 / 4, (hoehe + 63) / 64);
    matmul<<<grid, block>>>(a, b, c, hoehe, breite, tiefe);
    cudaDeviceSynchronize();
}
