/*
 * Praktikum Hochleistungsrechnen, Blatt 7, Aufgabe 2
 * Matrix-Matrix-Multiplikation mit Kacheln im Shared Memory
 */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define KACHEL 16

#define PRUEFE(aufruf)                                                        \
    {                                                                         \
        cudaError_t fehler = (aufruf);                                        \
        if (fehler != cudaSuccess) {                                          \
            fprintf(stderr, "CUDA-Fehler: %s (Zeile %d)\n",                   \
                    cudaGetErrorString(fehler), __LINE__);                    \
            exit(1);                                                          \
        }                                                                     \
    }

// Jeder Thread berechnet ein Element von C
__global__ void matmulKacheln(const float *a, const float *b, float *c, int n)
{
    __shared__ float aKachel[KACHEL][KACHEL];
    __shared__ float bKachel[KACHEL][KACHEL];

    const int zeile  = blockIdx.y * KACHEL + threadIdx.y;
    const int spalte = blockIdx.x * KACHEL + threadIdx.x;
    float summe = 0.0f;

    for (int kachel = 0; kachel < n / KACHEL; ++kachel) {
        // Kacheln laden
        aKachel[threadIdx.y][threadIdx.x] = a[zeile * n + kachel * KACHEL + threadIdx.x];
        bKachel[threadIdx.y][threadIdx.x] = b[(kachel * KACHEL + threadIdx.y) * n + spalte];
        __syncthreads();

        // Teilprodukt aufsummieren
        for (int k = 0; k < KACHEL; ++k)
            summe += aKachel[threadIdx.y][k] * bKachel[k][threadIdx.x];
    }

    c[zeile * n + spalte] = summe;
}

// Referenz auf der CPU
static void matmulCpu(const float *a, const float *b, float *c, int n)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float summe = 0.0f;
            for (int k = 0; k < n; ++k)
                summe += a[i * n + k] * b[k * n + j];
            c[i * n + j] = summe;
        }
}

int main(int argc, char **argv)
{
    int n = 512;
    if (argc > 1) n = atoi(argv[1]);
    if (n % KACHEL != 0) {
        fprintf(stderr, "n muss ein Vielfaches von %d sein\n", KACHEL);
        return 1;
    }
    const size_t bytes = (size_t)n * n * sizeof(float);
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes);
    float *c = (float *)malloc(bytes), *ref = (float *)malloc(bytes);
    srand(4711);
    for (int i = 0; i < n * n; ++i) {
        a[i] = (float)rand() / RAND_MAX;
        b[i] = (float)rand() / RAND_MAX;
    }

    float *a_d, *b_d, *c_d;
    PRUEFE(cudaMalloc(&a_d, bytes));
    PRUEFE(cudaMalloc(&b_d, bytes));
    PRUEFE(cudaMalloc(&c_d, bytes));
    PRUEFE(cudaMemcpy(a_d, a, bytes, cudaMemcpyHostToDevice));
    PRUEFE(cudaMemcpy(b_d, b, bytes, cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);

    dim3 block(KACHEL, KACHEL);
    dim3 gitter(n / KACHEL, n / KACHEL);
    cudaEventRecord(start);
    matmulKacheln<<<gitter, block>>>(a_d, b_d, c_d, n);
    cudaEventRecord(stop);
    PRUEFE(cudaGetLastError());
    PRUEFE(cudaEventSynchronize(stop));
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);
    PRUEFE(cudaMemcpy(c, c_d, bytes, cudaMemcpyDeviceToHost));

    matmulCpu(a, b, ref, n);
    float maxFehler = 0;
    for (int i = 0; i < n * n; ++i)
        maxFehler = fmaxf(maxFehler, fabsf(c[i] - ref[i]) / ref[i]);
    printf("n = %d, Zeit = %.3f ms, %.2f GFLOP/s, max. rel. Fehler = %g\n",
           n, ms, 2.0 * n * n * n / ms * 1e-6, maxFehler);

    cudaFree(a_d); cudaFree(b_d); cudaFree(c_d);
    free(a); free(b); free(c); free(ref);
    return 0;
}
