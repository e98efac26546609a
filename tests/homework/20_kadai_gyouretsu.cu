/*
 * 並列計算演習 課題5: 行列積
 * スレッド1つが C の要素1つを計算する
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define N     1024
#define BSIZE 32

__global__ void gyouretsu_seki(double *a, double *b, double *c)
{
    int i, j, k;
    double wa;

    i = blockIdx.y * BSIZE + threadIdx.y;   /* 行番号 */
    j = blockIdx.x * BSIZE + threadIdx.x;   /* 列番号 */

    for (k = 0; k < N; k++) {
        wa += a[i * N + k] * b[k * N + j];
    }
    c[i * N + j] = wa;
}

int main(void)
{
    int i, j, k;
    double *a, *b, *c;          /* ホスト側 */
    double *d_a, *d_b, *d_c;    /* デバイス側 */
    size_t size = sizeof(double) * N * N;

    a = (double *)malloc(size);
    b = (double *)malloc(size);
    c = (double *)malloc(size);

    /* 初期化 */
    for (i = 0; i < N; i++) {
        for (j = 0; j < N; j++) {
            a[i * N + j] = (double)rand() / RAND_MAX;
            b[i * N + j] = (double)rand() / RAND_MAX;
        }
    }

    cudaMalloc((void **)&d_a, size);
    cudaMalloc((void **)&d_b, size);
    cudaMalloc((void **)&d_c, size);

    cudaMemcpy(d_a, a, size, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b, size, cudaMemcpyHostToDevice);

    dim3 grid(N / BSIZE, N / BSIZE);
    dim3 block(BSIZE, BSIZE);

    gyouretsu_seki<<<grid, block>>>(d_a, d_b, d_c);
    cudaDeviceSynchronize();

    cudaMemcpy(c, d_c, size, cudaMemcpyDeviceToHost);

    /* 検算 (先頭の 16 行だけ) */
    double gosa = 0.0;
    for (i = 0; i < 16; i++) {
        for (j = 0; j < N; j++) {
            double s = 0.0;
            for (k = 0; k < N; k++) {
                s += a[i * N + k] * b[k * N + j];
            }
            gosa = fmax(gosa, fabs(s - c[i * N + j]));
        }
    }
    printf("最大誤差 = %e\n", gosa);

    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
    free(a);
    free(b);
    free(c);
    return 0;
}
