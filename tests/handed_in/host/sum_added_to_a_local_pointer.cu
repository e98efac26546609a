// C += A * B with C zeroed first: no split, no race
#include <cstdlib>
struct Matrix { int width, height; float *elements; };
__global__ void addmm(Matrix A, Matrix B, Matrix C)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= C.height || col >= C.width) return;
    float s = 0;
    for (int k = 0; k < A.width; k++) s += A.elements[row * A.width + k] * B.elements[k * B.width + col];
    float *p = C.elements; p[row * C.width + col] = p[row * C.width + col] + s;
}
int main()
{
    int m = 300, k = 200, n = 400;
    Matrix A, B, C;
    A.height = m; A.width = k;
    B.height = k; B.width = n;
    C.height = m; C.width = n;
    cudaMalloc(&A.elements, m * k * sizeof(float));
    cudaMalloc(&B.elements, k * n * sizeof(float));
    cudaMalloc(&C.elements, m * n * sizeof(float));
    cudaMemset(C.elements, 0, m * n * sizeof(float));
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    addmm<<<grid, block>>>(A, B, C);
    cudaDeviceSynchronize();
}
