// Matrix multiplication without shared memory, Matrix structs passed by value
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

// Matrices are stored in row-major order:
// M(row, col) = *(M.elements + row * M.width + col)
typedef struct {
    int width;
    int height;
    float *elements;
} Matrix;

// Thread block size
#define BLOCK_SIZE 16

// Matrix multiplication kernel called by MatMul()
__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C)
{
    // Each thread computes one element of C
    // by accumulating results into Cvalue
    float Cvalue = 0;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= C.height || col >= C.width) return;
    for (int e = 0; e < A.width; ++e)
        Cvalue += A.elements[row * A.width + e] * B.elements[e * B.width + col];
    C.elements[row * C.width + col] = Cvalue;
}

Matrix AllocateHost(int height, int width)
{
    Matrix m;
    m.height = height;
    m.width = width;
    m.elements = (float *)malloc(sizeof(float) * height * width);
    return m;
}

Matrix AllocateDeviceLike(const Matrix h)
{
    Matrix d = h;
    cudaMalloc((void **)&d.elements, sizeof(float) * h.height * h.width);
    return d;
}

void ToDevice(Matrix d, const Matrix h)
{
    cudaMemcpy(d.elements, h.elements, sizeof(float) * h.height * h.width, cudaMemcpyHostToDevice);
}

void ToHost(Matrix h, const Matrix d)
{
    cudaMemcpy(h.elements, d.elements, sizeof(float) * h.height * h.width, cudaMemcpyDeviceToHost);
}

// C = A * B
void MatMul(const Matrix A, const Matrix B, Matrix C)
{
    Matrix d_A = AllocateDeviceLike(A);
    Matrix d_B = AllocateDeviceLike(B);
    Matrix d_C = AllocateDeviceLike(C);
    ToDevice(d_A, A);
    ToDevice(d_B, B);

    // Invoke kernel
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid((C.width + dimBlock.x - 1) / dimBlock.x,
                 (C.height + dimBlock.y - 1) / dimBlock.y);
    MatMulKernel<<<dimGrid, dimBlock>>>(d_B, d_A, d_C);

    ToHost(C, d_C);
    cudaFree(d_A.elements);
    cudaFree(d_B.elements);
    cudaFree(d_C.elements);
}

int main(int argc, char **argv)
{
    int n = 400;
    if (argc > 1) n = atoi(argv[1]);
    Matrix A = AllocateHost(n, n), B = AllocateHost(n, n), C = AllocateHost(n, n);
    for (int i = 0; i < n * n; i++) {
        A.elements[i] = (float)rand() / RAND_MAX;
        B.elements[i] = (float)rand() / RAND_MAX;
    }
    MatMul(A, B, C);

    double maxdiff = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int k = 0; k < n; k++)
                s += (double)A.elements[i * n + k] * B.elements[k * n + j];
            maxdiff = fmax(maxdiff, fabs(s - C.elements[i * n + j]));
        }
    printf("max difference to the CPU result: %f\n", maxdiff);
    free(A.elements);
    free(B.elements);
    free(C.elements);
    return 0;
}
