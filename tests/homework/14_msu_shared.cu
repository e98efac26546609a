// Задание 3. Перемножение матриц с использованием разделяемой памяти
// Курс "Параллельные вычисления на GPU"
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define BLOCK 32

// c = a * b, матрицы n x n, n произвольное
__global__ void matMult(const float *a, const float *b, int n, float *c)
{
    __shared__ float as[BLOCK][BLOCK + 1];   // +1, чтобы не было конфликтов банков
    __shared__ float bs[BLOCK][BLOCK + 1];

    int bx = blockIdx.x, by = blockIdx.y;
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = by * BLOCK + ty;    // строка
    int j = bx * BLOCK + tx;    // столбец
    float sum = 0.0f;

    int numTiles = n / BLOCK + (n % BLOCK != 0);
    for (int t = 0; t < numTiles; t++)
    {
        int aj = t * BLOCK + tx;
        int bi = t * BLOCK + ty;
        as[ty][tx] = 0.0f;
        bs[ty][tx] = 0.0f;
        if (i < n && aj < n) as[ty][tx] = a[i * n + aj];
        if (bi < n && j < n) bs[ty][tx] = b[bi * n + j];

        __syncthreads();    // ждём, пока все нити загрузят подматрицы

        for (int k = 0; k < BLOCK; k++)
            sum += as[ty][k] * bs[k][tx];

        __syncthreads();    // чтобы никто не затёр данные раньше времени
    }

    if (i < n && j < n)
        c[i * n + j] = sum;
}

int main(int argc, char *argv[])
{
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    int numBytes = n * n * sizeof(float);

    float *a = new float[n * n];
    float *b = new float[n * n];
    float *c = new float[n * n];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            a[i * n + j] = 1.0f / (i + j + 1);
            b[i * n + j] = (float)((i * j) % 10);
        }

    float *adev = NULL, *bdev = NULL, *cdev = NULL;
    cudaMalloc((void **)&adev, numBytes);
    cudaMalloc((void **)&bdev, numBytes);
    cudaMalloc((void **)&cdev, numBytes);

    dim3 threads(BLOCK, BLOCK);
    dim3 blocks(n / BLOCK + (n % BLOCK != 0), n / BLOCK + (n % BLOCK != 0));

    cudaEvent_t start, stop;
    float gpuTime = 0.0f;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);

    cudaEventRecord(start, 0);
    cudaMemcpy(adev, a, numBytes, cudaMemcpyHostToDevice);
    cudaMemcpy(bdev, b, numBytes, cudaMemcpyHostToDevice);
    matMult<<<blocks, threads>>>(adev, bdev, n, cdev);
    cudaMemcpy(c, cdev, numBytes, cudaMemcpyDeviceToHost);
    cudaEventRecord(stop, 0);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&gpuTime, start, stop);
    printf("Время на GPU: %.2f мс\n", gpuTime);

    // проверка одной строки и одного столбца
    int bad = 0;
    for (int j = 0; j < n; j++)
    {
        float s = 0.0f;
        for (int k = 0; k < n; k++) s += a[(n - 1) * n + k] * b[k * n + j];
        if (fabsf(s - c[(n - 1) * n + j]) > 1e-3f * fabsf(s) + 1e-3f) bad++;
    }
    printf("Ошибок: %d\n", bad);

    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaFree(adev);
    cudaFree(bdev);
    cudaFree(cdev);
    delete[] a;
    delete[] b;
    delete[] c;
    return 0;
}
