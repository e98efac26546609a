// exp 3, part 5: half, sums in float
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <time.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

#ifndef BLOCK
#define BLOCK 16
#endif

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void matmul_half(const __half *a, const __half *b, float *c, int M, int N, int K)
{
    __shared__ __half ta[BLOCK][BLOCK];
    __shared__ __half tb[BLOCK][BLOCK];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * BLOCK + ty;
    int j = blockIdx.x * BLOCK + tx;
    float s = 0.f;
    for (int t = 0; t < (K + BLOCK - 1) / BLOCK; t++) {
        int pa = t * BLOCK + tx;
        int pb = t * BLOCK + ty;
        ta[ty][tx] = (i < M && pa < K) ? a[i * K + pa] : __float2half(0.f);
        tb[ty][tx] = (pb < K && j < N) ? b[pb * N + j] : __float2half(0.f);
        __syncthreads();
        for (int p = 0; p < BLOCK; p++)
            s += __half2float(ta[ty][p]) * __half2float(tb[p][tx]);
        __syncthreads();
    }
    if (i < M && j < N) c[i * N + j] = s;
}

static void fill(__half *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = __float2half(2.f * rand() / RAND_MAX - 1.f);
}

static void reference(const __half *a, const __half *b, float *c, int M, int N, int K)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int p = 0; p < K; p++) s += (double)__half2float(a[i * K + p]) * __half2float(b[p * N + j]);
            c[i * N + j] = (float)s;
        }
}

int main(int argc, char **argv)
{
    int M = argc > 1 ? atoi(argv[1]) : 1024;
    int N = argc > 2 ? atoi(argv[2]) : 512;
    int K = argc > 3 ? atoi(argv[3]) : 768;
    int version = 5;

    size_t sa = (size_t)M * K * sizeof(__half), sb = (size_t)K * N * sizeof(__half), sc = (size_t)M * N * sizeof(float);
    __half *a = (__half *)malloc(sa), *b = (__half *)malloc(sb);
    float *c = (float *)malloc(sc), *ref = (float *)malloc(sc);
    srand(time(NULL));
    fill(a, (size_t)M * K);
    fill(b, (size_t)K * N);

    __half *da, *db;
    float *dc;
    CHECK(cudaMalloc((void **)&da, sa));
    CHECK(cudaMalloc((void **)&db, sb));
    CHECK(cudaMalloc((void **)&dc, sc));
    CHECK(cudaMemcpy(da, a, sa, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b, sb, cudaMemcpyHostToDevice));

    dim3 block(BLOCK, BLOCK);
    dim3 grid((N + BLOCK - 1) / BLOCK, (M + BLOCK - 1) / BLOCK);
    matmul_half<<<grid, block>>>(da, db, dc, M, N, K);
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
