// Corso di Calcolo Parallelo - Esercizio: moltiplicazione di matrici
// con memoria condivisa (matrici quadrate di ordine qualsiasi)
#include <iostream>
#include <vector>
#include <cmath>
#include <cstdlib>

#define LATO 32

__global__ void moltiplica(const float* a, const float* b, float* c, int ordine)
{
    __shared__ float pezzoA[LATO][LATO];
    __shared__ float pezzoB[LATO][LATO];

    int riga    = blockIdx.y * LATO + threadIdx.y;
    int colonna = blockIdx.x * LATO + threadIdx.x;
    float ris = 0.f;

    for (int passo = 0; passo < (ordine + LATO - 1) / LATO; ++passo)
    {
        int ca = passo * LATO + threadIdx.x;
        int rb = passo * LATO + threadIdx.y;

        pezzoA[threadIdx.y][threadIdx.x] = (riga < ordine && ca < ordine)
                                         ? a[riga * ordine + ca] : 0.f;
        pezzoB[threadIdx.y][threadIdx.x] = (rb < ordine && colonna < ordine)
                                         ? b[rb * ordine + colonna] : 0.f;

        #pragma unroll
        for (int k = 0; k < LATO; ++k)
            ris += pezzoA[threadIdx.y][k] * pezzoB[k][threadIdx.x];

        __syncthreads();
    }

    if (riga < ordine && colonna < ordine)
        c[riga * ordine + colonna] = ris;
}

int main(int argc, char** argv)
{
    int ordine = (argc > 1) ? std::atoi(argv[1]) : 700;
    std::vector<float> a(ordine * ordine), b(ordine * ordine), c(ordine * ordine);
    for (int i = 0; i < ordine * ordine; ++i)
    {
        a[i] = std::rand() % 10;
        b[i] = std::rand() % 10;
    }

    float *dev_a, *dev_b, *dev_c;
    std::size_t dim = a.size() * sizeof(float);
    cudaMalloc(&dev_a, dim);
    cudaMalloc(&dev_b, dim);
    cudaMalloc(&dev_c, dim);
    cudaMemcpy(dev_a, a.data(), dim, cudaMemcpyHostToDevice);
    cudaMemcpy(dev_b, b.data(), dim, cudaMemcpyHostToDevice);

    int nblocchi = (ordine + LATO - 1) / LATO;
    moltiplica<<<dim3(nblocchi, nblocchi), dim3(LATO, LATO)>>>(dev_a, dev_b, dev_c, ordine);

    cudaMemcpy(c.data(), dev_c, dim, cudaMemcpyDeviceToHost);

    // controllo a campione
    int errori = 0;
    for (int prova = 0; prova < 2000; ++prova)
    {
        int i = std::rand() % ordine, j = std::rand() % ordine;
        float s = 0.f;
        for (int k = 0; k < ordine; ++k)
            s += a[i * ordine + k] * b[k * ordine + j];
        if (std::fabs(s - c[i * ordine + j]) > 0.1f)
            ++errori;
    }
    std::cout << "errori: " << errori << "/2000" << std::endl;

    cudaFree(dev_a);
    cudaFree(dev_b);
    cudaFree(dev_c);
    return 0;
}
