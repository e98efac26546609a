/* dgemm-like routine, column-major like the Fortran BLAS:
 *     C := alpha * A * B + beta * C
 * A is m x k (lda >= m), B is k x n (ldb >= k), C is m x n (ldc >= m)
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define IDX(i, j, ld) ((size_t)(j) * (ld) + (i))
#define NB 16

__global__ void my_dgemm_nn(int m, int n, int k,
                            double alpha, const double *A, int lda,
                            const double *B, int ldb,
                            double beta, double *C, int ldc)
{
    __shared__ double sA[NB][NB + 1];
    __shared__ double sB[NB][NB + 1];

    /* threadIdx.x runs down the columns: coalesced in column-major */
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int i = blockIdx.x * NB + tx;
    const int j = blockIdx.y * NB + ty;

    double sum = 0.0;
    for (int l0 = 0; l0 < k; l0 += NB) {
        /* sA[column][row], sB[column][row] */
        sA[ty][tx] = (i < m && l0 + ty < k) ? A[IDX(i, l0 + ty, lda)] : 0.0;
        sB[ty][tx] = (l0 + tx < k && j < n) ? B[IDX(l0 + tx, j, ldb)] : 0.0;
        __syncthreads();
        for (int l = 0; l < NB; l++)
            sum += sA[l][tx] * sB[ty][l];
        __syncthreads();
    }

    if (i < m && j < n) {
        if (beta == 0.0)
            C[IDX(i, j, ldc)] = alpha * sum;
        else
            C[IDX(i, j, ldc)] = alpha * sum + beta * C[IDX(i, j, ldc)];
    }
}

void my_dgemm(int m, int n, int k, double alpha, const double *dA, int lda,
              const double *dB, int ldb, double beta, double *dC, int ldc)
{
    dim3 threads(NB, NB);
    dim3 grid((m + NB - 1) / NB, (n + NB - 1) / NB);
    my_dgemm_nn<<<grid, threads>>>(m, n, k, alpha, dA, lda, dB, ldb, beta, dC, ldc);
}

int main(void)
{
    const int m = 203, n = 151, k = 97;
    const int lda = 208, ldb = 112, ldc = 208;
    const double alpha = 1.5, beta = -0.5;
    double *A = (double *)calloc((size_t)lda * k, sizeof(double));
    double *B = (double *)calloc((size_t)ldb * n, sizeof(double));
    double *C = (double *)calloc((size_t)ldc * n, sizeof(double));
    double *R = (double *)calloc((size_t)ldc * n, sizeof(double));
    for (int j = 0; j < k; j++) for (int i = 0; i < m; i++) A[IDX(i, j, lda)] = drand48();
    for (int j = 0; j < n; j++) for (int i = 0; i < k; i++) B[IDX(i, j, ldb)] = drand48();
    for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) C[IDX(i, j, ldc)] = drand48();

    double *dA, *dB, *dC;
    cudaMalloc(&dA, sizeof(double) * lda * k);
    cudaMalloc(&dB, sizeof(double) * ldb * n);
    cudaMalloc(&dC, sizeof(double) * ldc * n);
    cudaMemcpy(dA, A, sizeof(double) * lda * k, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, sizeof(double) * ldb * n, cudaMemcpyHostToDevice);
    cudaMemcpy(dC, C, sizeof(double) * ldc * n, cudaMemcpyHostToDevice);

    my_dgemm(m, n, k, alpha, dA, lda, dB, ldb, beta, dC, ldc);
    cudaMemcpy(R, dC, sizeof(double) * ldc * n, cudaMemcpyDeviceToHost);

    double err = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double s = 0;
            for (int l = 0; l < k; l++) s += A[IDX(i, l, lda)] * B[IDX(l, j, ldb)];
            s = alpha * s + beta * C[IDX(i, j, ldc)];
            err = fmax(err, fabs(s - R[IDX(i, j, ldc)]));
        }
    printf("max error %e\n", err);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(A); free(B); free(C); free(R);
    return err > 1e-10;
}
