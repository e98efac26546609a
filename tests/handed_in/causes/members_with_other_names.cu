#include <cuda_runtime.h>

const int KACHEL = 16;

struct Matrix { int zeilen, spalten; float *daten; };

__global__ void produkt(Matrix a, Matrix b, Matrix erg) {
    __shared__ float aKachel[KACHEL][KACHEL], bKachel[KACHEL][KACHEL];
    int tx = threadIdx.x, ty = threadIdx.y;
    int zeile = blockIdx.y * KACHEL + ty, spalte = blockIdx.x * KACHEL + tx;
    float summe = 0.f;
    for (int ph = 0; ph < (a.spalten + KACHEL - 1) / KACHEL; ph++) {
        int as = ph * KACHEL + tx, bz = ph * KACHEL + ty;
        aKachel[ty][tx] = zeile < a.zeilen && as < a.spalten ? a.daten[zeile * a.spalten + as] : 0.f;
        bKachel[ty][tx] = bz < b.spalten && spalte < b.spalten ? b.daten[bz * b.spalten + spalte] : 0.f;
        __syncthreads();
        for (int k = 0; k < KACHEL; k++) summe += aKachel[ty][k] * bKachel[k][tx];
        __syncthreads();
    }
    if (zeile < erg.zeilen && spalte < erg.spalten) erg.daten[zeile * erg.spalten + spalte] = summe;
}

int main() {
    int m = 100, k = 75, n = 130;
    Matrix a{m, k, nullptr}, b{k, n, nullptr}, e{m, n, nullptr};
    cudaMalloc(&a.daten, m * k * sizeof(float));
    cudaMalloc(&b.daten, k * n * sizeof(float));
    cudaMalloc(&e.daten, m * n * sizeof(float));
    dim3 grid((n + KACHEL - 1) / KACHEL, (m + KACHEL - 1) / KACHEL);
    produkt<<<grid, dim3(KACHEL, KACHEL)>>>(a, b, e);
    cudaDeviceSynchronize();
}
