// Esercitazione 3: prodotto matrice-matrice in doppia precisione
// Versione 1: memoria globale.  Versione 2: shared memory a blocchi.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <sys/time.h>
#include <cuda_runtime.h>

#define NB 16          // lato del blocco
#define ORDINE 1024    // multiplo di NB

static double secondi(void)
{
    struct timeval t;
    gettimeofday(&t, NULL);
    return t.tv_sec + 1e-6 * t.tv_usec;
}

// versione con memoria globale
__global__ void prodotto_globale(const double *a, const double *b, double *c, int n)
{
    int j = threadIdx.x + blockIdx.x * blockDim.x;
    int i = threadIdx.y + blockIdx.y * blockDim.y;
    double somma = 0.0;
    for (int k = 0; k < n; k++)
        somma += a[i * n + k] * b[k * n + j];
    c[i * n + j] = somma;
}

// versione con shared memory
__global__ void prodotto_shared(const double *a, const double *b, double *c, int n)
{
    __shared__ double as[NB][NB];
    __shared__ double bs[NB][NB];

    int it = threadIdx.y, jt = threadIdx.x;
    int ib = blockIdx.y,  jb = blockIdx.x;

    double somma = 0.0;
    for (int kb = 0; kb < n / NB; kb++) {
        int a_offset = ib * n * NB + kb * NB;
        int b_offset = kb * n * NB + jb * NB;
        as[it][jt] = a[a_offset + it * n + jt];
        bs[it][jt] = b[b_offset + it * n + jt];
        __syncthreads();

        for (int k = 0; k < NB; k++)
            somma += as[it][k] * bs[k][jt];
        __syncthreads();
    }
    int c_offset = ib * n * NB + jb * NB;
    c[c_offset + it * n + jt] = somma;
}

int main(void)
{
    const int n = ORDINE;
    const size_t byte = sizeof(double) * n * n;
    double *a = (double *)malloc(byte), *b = (double *)malloc(byte);
    double *c1 = (double *)malloc(byte), *c2 = (double *)malloc(byte);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = 1.0 / (1.0 + i + j);
            b[i * n + j] = cos(0.01 * i * j);
        }

    double *da, *db, *dc;
    cudaMalloc((void **)&da, byte);
    cudaMalloc((void **)&db, byte);
    cudaMalloc((void **)&dc, byte);
    cudaMemcpy(da, a, byte, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, byte, cudaMemcpyHostToDevice);

    dim3 threads(NB, NB);
    dim3 blocchi(n / NB, n / NB);

    double t = secondi();
    prodotto_globale<<<blocchi, threads>>>(da, db, dc, n);
    cudaDeviceSynchronize();
    t = secondi() - t;
    printf("globale: %f s  %f GFlops\n", t, 2.0 * n * n * n / t * 1e-9);
    cudaMemcpy(c1, dc, byte, cudaMemcpyDeviceToHost);

    t = secondi();
    prodotto_shared<<<blocchi, threads>>>(da, db, dc, n);
    cudaDeviceSynchronize();
    t = secondi() - t;
    printf("shared:  %f s  %f GFlops\n", t, 2.0 * n * n * n / t * 1e-9);
    cudaMemcpy(c2, dc, byte, cudaMemcpyDeviceToHost);

    double diff = 0.0;
    for (int i = 0; i < n * n; i++) diff = fmax(diff, fabs(c1[i] - c2[i]));
    printf("differenza massima: %e\n", diff);

    cudaFree(da); cudaFree(db); cudaFree(dc);
    free(a); free(b); free(c1); free(c2);
    return 0;
}
