/* Block CUDA, attempt 1, with the guards that cudamm asked for */
#include <cstdio>
#include <cstdlib>
#include <vector>

#define LBLK 32
#define RM(r, c, w) ((r) * (w) + (c))

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}

static int updiv(int n, int d) { return (n + d - 1) / d; }

__global__ void blockOne(int N, float *dA, float *dB, float *dC)
{
    int i = (blockIdx.y * blockDim.y + threadIdx.y) * LBLK;   // first row of my sub-matrix
    int j = (blockIdx.x * blockDim.x + threadIdx.x) * LBLK;   // first column
    if (i >= N || j >= N) return;

    float subA[LBLK * LBLK];
    float subB[LBLK * LBLK];
    float subC[LBLK * LBLK];

    for (int bi = 0; bi < LBLK; bi++)
        for (int bj = 0; bj < LBLK; bj++)
            subC[RM(bi, bj, LBLK)] = 0;

    for (int k = 0; k < N; k += LBLK) {
        for (int bi = 0; bi < LBLK; bi++)
            for (int bj = 0; bj < LBLK; bj++) {
                if (i + bi < N && k + bj < N)
                    subA[RM(bi, bj, LBLK)] = dA[RM(i + bi, k + bj, N)];
                else subA[RM(bi, bj, LBLK)] = 0;
                if (k + bi < N && j + bj < N)
                    subB[RM(bi, bj, LBLK)] = dB[RM(k + bi, j + bj, N)];
                else subB[RM(bi, bj, LBLK)] = 0;
            }
        for (int bi = 0; bi < LBLK; bi++)
            for (int bj = 0; bj < LBLK; bj++) {
                float sum = 0;
                for (int bk = 0; bk < LBLK; bk++)
                    sum += subA[RM(bi, bk, LBLK)] * subB[RM(bk, bj, LBLK)];
                subC[RM(bi, bj, LBLK)] += sum;
            }
    }
    for (int bi = 0; bi < LBLK; bi++)
        for (int bj = 0; bj < LBLK; bj++)
            if (i + bi < N && j + bj < N)
                dC[RM(i + bi, j + bj, N)] = subC[RM(bi, bj, LBLK)];
}

void multiply(int N, const float *A, const float *B, float *C)
{
    float *dA, *dB, *dC;
    size_t sz = sizeof(float) * N * N;
    gpuErrchk(cudaMalloc((void **)&dA, sz));
    gpuErrchk(cudaMalloc((void **)&dB, sz));
    gpuErrchk(cudaMalloc((void **)&dC, sz));
    gpuErrchk(cudaMemcpy(dA, A, sz, cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(dB, B, sz, cudaMemcpyHostToDevice));
    dim3 threads(LBLK, LBLK);
    dim3 blocks(updiv(N, LBLK * LBLK), updiv(N, LBLK * LBLK));
    printf("%d x %d blocks\n", blocks.x, blocks.y);
    blockOne<<<blocks, threads>>>(N, dA, dB, dC);
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());
    gpuErrchk(cudaMemcpy(C, dC, sz, cudaMemcpyDeviceToHost));
    gpuErrchk(cudaFree(dA)); gpuErrchk(cudaFree(dB)); gpuErrchk(cudaFree(dC));
}

int main()
{
    const int N = 1024;
    std::vector<float> A(N * N, 1.0f), B(N * N, 2.0f), C(N * N);
    multiply(N, A.data(), B.data(), C.data());
    printf("%f (should be %f)\n", C[0], 2.0f * N);
}
