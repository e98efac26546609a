// exercise 5: K is split over blockIdx.z, a second kernel adds the parts
#include <cstdio>
#include <cstdlib>
#define BLOCK_SIZE 16
#define PARTS 4

struct Matrix { int width, height; float *elements; };

__global__ void splitk(Matrix A, Matrix B, Matrix C, float *parts)
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BLOCK_SIZE + ty;
    int col = blockIdx.x * BLOCK_SIZE + tx;
    int len = (A.width + gridDim.z - 1) / gridDim.z;
    int first = blockIdx.z * len;
    int last = min(first + len, A.width);
    float sum = 0;
    for (int k0 = first; k0 < last; k0 += BLOCK_SIZE) {
        As[ty][tx] = row < A.height && k0 + tx < last ? A.elements[row * A.width + k0 + tx] : 0;
        Bs[ty][tx] = col < B.width && k0 + ty < last ? B.elements[(k0 + ty) * B.width + col] : 0;
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; k++) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < C.height && col < C.width) parts[(blockIdx.z * C.height + row) * C.width + col] = sum;
}

__global__ void add_parts(Matrix C, const float *parts, int n_parts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int size = C.width * C.height;
    if (i >= size) return;
    float s = 0;
    for (int p = 0; p < n_parts; p++) s += parts[p * size + i];
    C.elements[i] = s;
}

int main(int argc, char **argv)
{
    int m = 1000, k = 1000, n = 1000;
    Matrix A, B, C;
    A.height = m; A.width = k;
    B.height = k; B.width = n;
    C.height = m; C.width = n;
    cudaMalloc(&A.elements, m * k * sizeof(float));
    cudaMalloc(&B.elements, k * n * sizeof(float));
    cudaMalloc(&C.elements, m * n * sizeof(float));
    float *parts;
    cudaMalloc(&parts, PARTS * m * n * sizeof(float));
    dim3 block(BLOCK_SIZE, BLOCK_SIZE);
    dim3 grid((n + BLOCK_SIZE - 1) / BLOCK_SIZE, (m + BLOCK_SIZE - 1) / BLOCK_SIZE, PARTS);
    splitk<<<grid, block>>>(A, B, C, parts);
    add_parts<<<(m * n + 255) / 256, 256>>>(C, parts, PARTS);
    cudaDeviceSynchronize();
    return 0;
}
