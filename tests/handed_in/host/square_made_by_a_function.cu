// same as 1, but main only knows n x n
#include <cstdio>
#include <cstdlib>
struct Matrix { int width, height; float *elements; };

__global__ void mul(Matrix A, Matrix B, Matrix C)
{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= C.height || j >= C.width) return;
    float s = 0;
    for (int k = 0; k < A.width; k++) s += A.elements[i * A.width + k] * B.elements[k * B.width + j];
    C.elements[i * C.width + j] = s;
}

Matrix device(int h, int w)
{
    Matrix m;
    m.height = h;
    m.width = w;
    cudaMalloc((void **)&m.elements, (size_t)h * w * sizeof(float));
    return m;
}

int main()
{
    int n = 1000;
    Matrix A = device(n, n), B = device(n, n), C = device(n, n);
    dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    mul<<<grid, block>>>(A, B, C);
    cudaDeviceSynchronize();
}
