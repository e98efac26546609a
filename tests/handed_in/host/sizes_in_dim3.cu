#include <cuda_runtime.h>
template <int BLOCK_SIZE> __global__ void multiply(float *C, float *A, float *B, int wA, int wB) {
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int aBegin = wA * BLOCK_SIZE * by, aEnd = aBegin + wA - 1, bBegin = BLOCK_SIZE * bx;
    float Csub = 0;
    for (int a = aBegin, b = bBegin; a <= aEnd; a += BLOCK_SIZE, b += BLOCK_SIZE * wB) {
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[ty][tx] = A[a + wA * ty + tx];
        Bs[ty][tx] = B[b + wB * ty + tx];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k) Csub += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[wB * BLOCK_SIZE * by + BLOCK_SIZE * bx + wB * ty + tx] = Csub;
}
int main() {
    int block_size = 16;
    dim3 extentsA(320, 320, 1), extentsB(640, 320, 1);
    float *d_A, *d_B, *d_C;
    dim3 extentsC(extentsB.x, extentsA.y, 1);
    cudaMalloc(&d_A, extentsA.x * extentsA.y * sizeof(float)); cudaMalloc(&d_B, extentsB.x * extentsB.y * sizeof(float));
    cudaMalloc(&d_C, extentsC.x * extentsC.y * sizeof(float));
    dim3 threads(block_size, block_size), grid(extentsB.x / threads.x, extentsA.y / threads.y);
    multiply<16><<<grid, threads>>>(d_C, d_A, d_B, extentsA.x, extentsB.x);
}
