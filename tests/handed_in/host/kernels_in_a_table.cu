// exp 3, part 2: two kernels, function pointer
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <time.h>
#include <cuda_runtime.h>

#ifndef BLOCK
#define BLOCK 16
#endif

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

typedef void (*kernel_t)(const float *, const float *, float *, int, int, int);

__global__ void matmul_naive(const float *a, const float *b, float *c, int M, int N, int K)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < M && j < N) {
        float s = 0.f;
        for (int p = 0; p < K; p++)
            s += a[i * K + p] * b[p * N + j];
        c[i * N + j] = s;
    }
}

__global__ void matmul_shared(const float *a, const float *b, float *c, int M, int N, int K)
{
    __shared__ float ta[BLOCK][BLOCK];
    __shared__ float tb[BLOCK][BLOCK];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * BLOCK + ty;
    int j = blockIdx.x * BLOCK + tx;
    float s = 0.f;
    for (int t = 0; t < (K + BLOCK - 1) / BLOCK; t++) {
        int pa = t * BLOCK + tx;
        int pb = t * BLOCK + ty;
        ta[ty][tx] = (i < M && pa < K) ? a[i * K + pa] : 0.f;
        tb[ty][tx] = (pb < K && j < N) ? b[pb * N + j] : 0.f;
        __syncthreads();
        for (int p = 0; p < BLOCK; p++)
            s += ta[ty][p] * tb[p][tx];
        __syncthreads();
    }
    if (i < M && j < N) c[i * N + j] = s;
}

static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = 2.f * rand() / RAND_MAX - 1.f;
}

static void reference(const float *a, const float *b, float *c, int M, int N, int K)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int p = 0; p < K; p++) s += (double)a[i * K + p] * b[p * N + j];
            c[i * N + j] = (float)s;
        }
}

int main(int argc, char **argv)
{
    int M = argc > 1 ? atoi(argv[1]) : 1024;
    int N = argc > 2 ? atoi(argv[2]) : 512;
    int K = argc > 3 ? atoi(argv[3]) : 768;
    int version = argc > 4 ? atoi(argv[4]) : 0;

    size_t sa = (size_t)M * K * sizeof(float), sb = (size_t)K * N * sizeof(float), sc = (size_t)M * N * sizeof(float);
    float *a = (float *)malloc(sa), *b = (float *)malloc(sb), *c = (float *)malloc(sc), *ref = (float *)malloc(sc);
    srand(time(NULL));
    fill(a, (size_t)M * K);
    fill(b, (size_t)K * N);

    float *da, *db, *dc;
    CHECK(cudaMalloc((void **)&da, sa));
    CHECK(cudaMalloc((void **)&db, sb));
    CHECK(cudaMalloc((void **)&dc, sc));
    CHECK(cudaMemcpy(da, a, sa, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b, sb, cudaMemcpyHostToDevice));

    dim3 block(BLOCK, BLOCK);
    dim3 grid((N + BLOCK - 1) / BLOCK, (M + BLOCK - 1) / BLOCK);
    kernel_t table[2] = { matmul_naive, matmul_shared };
    kernel_t kernel = table[version];
    kernel<<<grid, block>>>(da, db, dc, M, N, K);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(c, dc, sc, cudaMemcpyDeviceToHost));

    reference(a, b, ref, M, N, K);
    double err = 0;
    for (int i = 0; i < M * N; i++) err = fmax(err, fabs(c[i] - ref[i]));
    printf("version %d: max error %g\n", version, err);
    cudaFree(da); cudaFree(db); cudaFree(dc);
    free(a); free(b); free(c); free(ref);
    return 0;
}
