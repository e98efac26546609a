// Práctica 4: Multiplicación de matrices rectangulares en CUDA
// Computación de Altas Prestaciones
#include <iostream>
#include <cstdlib>
#include <cmath>
using namespace std;

// A: filasA x colsA      B: colsA x colsB      C: filasA x colsB
__global__ void multiplica(float *A, float *B, float *C, int filasA, int colsA, int colsB)
{
    int fila = blockIdx.y * blockDim.y + threadIdx.y;
    int columna = blockIdx.x * blockDim.x + threadIdx.x;

    if (fila < filasA && columna < colsB)
    {
        float suma = 0.0f;
        for (int i = 0; i < colsA; i++)
        {
            suma += A[fila * colsA + i] * B[i * colsA + columna];
        }
        C[fila * colsB + columna] = suma;
    }
}

void inicializa(float *m, int n)
{
    for (int i = 0; i < n; i++)
        m[i] = rand() / (float)RAND_MAX;
}

bool comprueba(const float *A, const float *B, const float *C, int fa, int ca, int cb)
{
    for (int i = 0; i < fa; i++)
        for (int j = 0; j < cb; j++)
        {
            float s = 0;
            for (int k = 0; k < ca; k++)
                s += A[i * ca + k] * B[k * cb + j];
            if (fabs(s - C[i * cb + j]) > 1e-3)
                return false;
        }
    return true;
}

int main(int argc, char *argv[])
{
    int filasA = 200, colsA = 120, colsB = 300;
    if (argc > 3)
    {
        filasA = atoi(argv[1]);
        colsA = atoi(argv[2]);
        colsB = atoi(argv[3]);
    }

    float *h_A = new float[filasA * colsA];
    float *h_B = new float[colsA * colsB];
    float *h_C = new float[filasA * colsB];
    inicializa(h_A, filasA * colsA);
    inicializa(h_B, colsA * colsB);

    float *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, filasA * colsA * sizeof(float));
    cudaMalloc(&d_B, colsA * colsB * sizeof(float));
    cudaMalloc(&d_C, filasA * colsB * sizeof(float));

    cudaMemcpy(d_A, h_A, filasA * colsA * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, colsA * colsB * sizeof(float), cudaMemcpyHostToDevice);

    // Bloques de 32x8 hilos
    dim3 hilos(32, 8);
    dim3 bloques((colsB + hilos.x - 1) / hilos.x, (filasA + hilos.y - 1) / hilos.y);
    multiplica<<<bloques, hilos>>>(d_A, d_B, d_C, filasA, colsA, colsB);

    cudaMemcpy(h_C, d_C, filasA * colsB * sizeof(float), cudaMemcpyDeviceToHost);

    if (comprueba(h_A, h_B, h_C, filasA, colsA, colsB))
        cout << "Resultado correcto" << endl;
    else
        cout << "Resultado INCORRECTO" << endl;

    cudaFree(d_A);
    cudaFree(d_B);
    cudaFree(d_C);
    delete[] h_A;
    delete[] h_B;
    delete[] h_C;
    return 0;
}
