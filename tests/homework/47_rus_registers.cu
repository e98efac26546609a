// Лабораторная работа №5
// Умножение прямоугольных матриц: каждая нить считает 2x2 элемента
#include <iostream>
#include <iomanip>
#include <vector>
#include <random>
#include <cmath>

namespace {

const int NT = 16;          // нитей по стороне блока
const int S  = 2 * NT;      // сторона плитки результата

void proverka(cudaError_t kod, const char* gde)
{
    if (kod != cudaSuccess) {
        std::cerr << gde << ": " << cudaGetErrorString(kod) << std::endl;
        std::exit(1);
    }
}

__global__ void umnozhit(const float* A, const float* B, float* C,
                         int strok, int stolbcov, int obshaya)
{
    // A: strok x obshaya,  B: obshaya x stolbcov
    __shared__ float pa[S][NT];
    __shared__ float pb[NT][S];

    const int x = threadIdx.x, y = threadIdx.y;
    const int i0 = blockIdx.y * S + y;      // первая строка нити, вторая = i0 + NT
    const int j0 = blockIdx.x * S + x;      // первый столбец нити, второй = j0 + NT
    const int i1 = i0 + NT;
    const int j1 = j0 + NT;

    float c00 = 0, c01 = 0, c10 = 0, c11 = 0;

    for (int p = 0; p < obshaya; p += NT)
    {
        const bool okA = p + x < obshaya;
        const bool okB = p + y < obshaya;
        pa[y][x]      = (okA && i0 < strok) ? A[i0 * obshaya + p + x] : 0.0f;
        pa[y + NT][x] = (okA && i1 < strok) ? A[i1 * obshaya + p + x] : 0.0f;
        pb[y][x]      = (okB && j0 < stolbcov) ? B[(p + y) * stolbcov + j0] : 0.0f;
        pb[y][x + NT] = (okB && j1 < stolbcov) ? B[(p + y) * stolbcov + j1] : 0.0f;
        __syncthreads();

        for (int q = 0; q < NT; ++q)
        {
            const float a0 = pa[y][q], a1 = pa[y + NT][q];
            const float b0 = pb[q][x], b1 = pb[q][x + NT];
            c00 += a0 * b0;
            c01 += a0 * b1;
            c10 += a1 * b0;
            c11 += a1 * b1;
        }
        __syncthreads();
    }

    if (i0 < strok && j0 < stolbcov) C[i0 * stolbcov + j0] = c00;
    if (i0 < strok && j1 < stolbcov) C[i0 * stolbcov + j1] = c01;
    if (i1 < strok && j0 < stolbcov) C[i1 * stolbcov + j0] = c10;
    if (i1 < strok && j1 < stolbcov) C[i1 * stolbcov + j1] = c11;
}

} // namespace

int main()
{
    const int strok = 101, stolbcov = 333, obshaya = 207;
    std::mt19937 g(1);
    std::uniform_real_distribution<float> r(-1, 1);
    std::vector<float> A(strok * obshaya), B(obshaya * stolbcov), C(strok * stolbcov);
    for (float& v : A) v = r(g);
    for (float& v : B) v = r(g);

    float *dA, *dB, *dC;
    proverka(cudaMalloc(&dA, A.size() * sizeof(float)), "malloc A");
    proverka(cudaMalloc(&dB, B.size() * sizeof(float)), "malloc B");
    proverka(cudaMalloc(&dC, C.size() * sizeof(float)), "malloc C");
    proverka(cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice), "copy A");
    proverka(cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice), "copy B");

    dim3 niti(NT, NT);
    dim3 bloki((stolbcov + S - 1) / S, (strok + S - 1) / S);
    umnozhit<<<bloki, niti>>>(dA, dB, dC, strok, stolbcov, obshaya);
    proverka(cudaGetLastError(), "zapusk");
    proverka(cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost), "copy C");

    double maxOshibka = 0;
    for (int i = 0; i < strok; ++i)
        for (int j = 0; j < stolbcov; ++j) {
            double s = 0;
            for (int k = 0; k < obshaya; ++k)
                s += (double)A[i * obshaya + k] * B[k * stolbcov + j];
            maxOshibka = std::max(maxOshibka, std::fabs(s - C[i * stolbcov + j]));
        }
    std::cout << "Максимальная ошибка: " << std::scientific << maxOshibka << std::endl;
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    return 0;
}
