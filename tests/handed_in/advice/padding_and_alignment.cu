// exp 3, part 6: 4 x 4 in registers, all sizes
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

#define TM 4
#define TN 4
#define BM (BLOCK * TM)     // rows of C per block
#define BN (BLOCK * TN)     // columns of C per block
#define BK BLOCK            // depth of a tile

// one thread: 4 x 4 elements of C in registers
__global__ void matmul_reg(const float *a, const float *b, float *c, int M, int N, int K)
{
    __shared__ float ta[BM][BK];
    __shared__ float tb[BK][BN];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i0 = blockIdx.y * BM, j0 = blockIdx.x * BN;
    float acc[TM][TN] = {};

    for (int p0 = 0; p0 < K; p0 += BK) {
        for (int r = 0; r < TM; r++)
            ta[ty + r * BLOCK][tx] = (i0 + ty + r * BLOCK < M && p0 + tx < K) ? a[(i0 + ty + r * BLOCK) * K + p0 + tx] : 0.f;
        for (int r = 0; r < TN; r++)
            tb[ty][tx + r * BLOCK] = (p0 + ty < K && j0 + tx + r * BLOCK < N) ? b[(p0 + ty) * N + j0 + tx + r * BLOCK] : 0.f;
        __syncthreads();
        for (int p = 0; p < BK; p++) {
            float ra[TM], rb[TN];
            for (int r = 0; r < TM; r++) ra[r] = ta[ty * TM + r][p];
            for (int r = 0; r < TN; r++) rb[r] = tb[p][tx * TN + r];
            for (int r = 0; r < TM; r++)
                for (int q = 0; q < TN; q++)
                    acc[r][q] += ra[r] * rb[q];
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; r++)
        for (int q = 0; q < TN; q++)
            if (i0 + ty * TM + r < M && j0 + tx * TN + q < N)
                c[(i0 + ty * TM + r) * N + j0 + tx * TN + q] = acc[r][q];
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
    grid = dim3((N + BN - 1) / BN, (M + BM - 1) / BM);
    matmul_reg<<<grid, block>>>(da, db, dc, M, N, K);
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
