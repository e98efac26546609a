// Lab 06, step 6: shared memory allocated at the launch
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define A_WIDTH 512
#define A_HEIGHT 256
#define B_WIDTH 384
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT
#define BLOCK_SIZE 16

#define CUDA_CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)


// two tiles of block_size x block_size in one linear allocation, made at the launch
__global__ void matrixMulKernelDyn(const float *A, const float *B, float *C, int wA, int wB)
{
    extern __shared__ float sData[];
    int bs = blockDim.x;
    float *As = sData;
    float *Bs = sData + bs * bs;
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * bs + tx, y = blockIdx.y * bs + ty;
    float Csub = 0.0f;

    for (int i = 0; i < wA / bs; i++) {
        As[ty * bs + tx] = A[y * wA + i * bs + tx];
        Bs[ty * bs + tx] = B[(i * bs + ty) * wB + x];
        __syncthreads();
        for (int k = 0; k < bs; k++)
            Csub += As[ty * bs + k] * Bs[k * bs + tx];
        __syncthreads();
    }
    C[y * wB + x] = Csub;
}

size_t requiredSMSize(int block_size)
{
    return 2 * block_size * block_size * sizeof(float);
}

void matrixMulCPU(const float *A, const float *B, float *C)
{
    for (int i = 0; i < C_HEIGHT; i++)
        for (int j = 0; j < C_WIDTH; j++) {
            float s = 0.0f;
            for (int k = 0; k < A_WIDTH; k++) s += A[i * A_WIDTH + k] * B[k * B_WIDTH + j];
            C[i * C_WIDTH + j] = s;
        }
}

int matrixMulTest(const float *C, const float *ref)
{
    int errors = 0;
    for (int i = 0; i < C_HEIGHT * C_WIDTH; i++)
        if (fabsf(C[i] - ref[i]) > 1e-4f * fabsf(ref[i])) errors++;   // the GPU fuses, the CPU does not
    return errors;
}

int main(int argc, char **argv)
{
    float *h_A = (float *)malloc(A_WIDTH * A_HEIGHT * sizeof(float));
    float *h_B = (float *)malloc(B_WIDTH * B_HEIGHT * sizeof(float));
    float *h_C = (float *)malloc(C_WIDTH * C_HEIGHT * sizeof(float));
    float *h_ref = (float *)malloc(C_WIDTH * C_HEIGHT * sizeof(float));
    for (int i = 0; i < A_WIDTH * A_HEIGHT; i++) h_A[i] = (float)rand() / RAND_MAX;
    for (int i = 0; i < B_WIDTH * B_HEIGHT; i++) h_B[i] = (float)rand() / RAND_MAX;

    float *d_A, *d_B, *d_C;
    CUDA_CHECK(cudaMalloc((void **)&d_A, A_WIDTH * A_HEIGHT * sizeof(float)));
    CUDA_CHECK(cudaMalloc((void **)&d_B, B_WIDTH * B_HEIGHT * sizeof(float)));
    CUDA_CHECK(cudaMalloc((void **)&d_C, C_WIDTH * C_HEIGHT * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(d_A, h_A, A_WIDTH * A_HEIGHT * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_B, h_B, B_WIDTH * B_HEIGHT * sizeof(float), cudaMemcpyHostToDevice));

    int block_size = argc > 1 ? atoi(argv[1]) : BLOCK_SIZE;
    dim3 threads(block_size, block_size);
    dim3 grid(C_WIDTH / block_size, C_HEIGHT / block_size);
    matrixMulKernelDyn<<<grid, threads, requiredSMSize(block_size)>>>(d_A, d_B, d_C, A_WIDTH, B_WIDTH);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(h_C, d_C, C_WIDTH * C_HEIGHT * sizeof(float), cudaMemcpyDeviceToHost));

    matrixMulCPU(h_A, h_B, h_ref);
    int errors = matrixMulTest(h_C, h_ref);
    printf(errors ? "%d errors\n" : "passed (%d errors)\n", errors);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C); free(h_ref);
    return errors != 0;
}
