// Übung 9: Erste Schritte mit CUDA
// Aufgabe: C = A * B für quadratische Matrizen, ein Thread pro Element,
// eindimensionale Blöcke
#include <iostream>
#include <vector>
#include <random>
#include <chrono>
#include <cmath>

using Matrix = std::vector<float>;

__global__ void matMul(const float* A, const float* B, float* C, const unsigned n)
{
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n * n)
        return;

    const unsigned zeile = id / n;
    const unsigned spalte = id % n;

    float wert = 0.0f;
    for (unsigned k = 0; k < n; ++k)
        wert += A[zeile * n + k] * B[spalte * n + k];

    C[zeile * n + spalte] = wert;
}

Matrix zufallsMatrix(unsigned n, unsigned seed)
{
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> verteilung(0.0f, 1.0f);
    Matrix m(n * n);
    for (auto& eintrag : m)
        eintrag = verteilung(generator);
    return m;
}

Matrix gpuMatMul(const Matrix& A, const Matrix& B, unsigned n)
{
    Matrix C(n * n);
    const size_t groesse = n * n * sizeof(float);
    float *dA, *dB, *dC;
    cudaMalloc(&dA, groesse);
    cudaMalloc(&dB, groesse);
    cudaMalloc(&dC, groesse);
    cudaMemcpy(dA, A.data(), groesse, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B.data(), groesse, cudaMemcpyHostToDevice);

    const unsigned threadsProBlock = 256;
    const unsigned bloecke = (n * n + threadsProBlock - 1) / threadsProBlock;
    const auto start = std::chrono::high_resolution_clock::now();
    matMul<<<bloecke, threadsProBlock>>>(dA, dB, dC, n);
    cudaDeviceSynchronize();
    const auto ende = std::chrono::high_resolution_clock::now();
    std::cout << "GPU: " << std::chrono::duration<double, std::milli>(ende - start).count()
              << " ms\n";

    cudaMemcpy(C.data(), dC, groesse, cudaMemcpyDeviceToHost);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    return C;
}

int main(int argc, char* argv[])
{
    const unsigned n = argc > 1 ? std::stoul(argv[1]) : 500;
    const Matrix A = zufallsMatrix(n, 1);
    const Matrix B = zufallsMatrix(n, 2);
    const Matrix C = gpuMatMul(A, B, n);

    float fehler = 0.0f;
    for (unsigned i = 0; i < n; ++i)
        for (unsigned j = 0; j < n; ++j) {
            float soll = 0.0f;
            for (unsigned k = 0; k < n; ++k)
                soll += A[i * n + k] * B[k * n + j];
            fehler = std::max(fehler, std::abs(soll - C[i * n + j]));
        }
    std::cout << "Maximaler Fehler: " << fehler << std::endl;
}
