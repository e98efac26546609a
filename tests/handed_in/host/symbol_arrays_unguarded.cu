// Square matrices in __device__ arrays, whose addresses the host asks for.
#include <cstdio>
#include <cstdlib>

#define SIDE 500
#define EDGE 16

__device__ float left[SIDE][SIDE];
__device__ float right[SIDE][SIDE];
__device__ float result[SIDE][SIDE];
float host_left[SIDE][SIDE], host_right[SIDE][SIDE], host_result[SIDE][SIDE];

__global__ void product() {
    __shared__ float a[EDGE][EDGE], b[EDGE][EDGE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.y * EDGE + y, j = blockIdx.x * EDGE + x;
    float sum = 0;
    for (int part = 0; part < (SIDE + EDGE - 1) / EDGE; ++part) {
        a[y][x] = left[i][part * EDGE + x];
        b[y][x] = right[part * EDGE + y][j];
        __syncthreads();
        for (int k = 0; k < EDGE; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    result[i][j] = sum;
}

int main() {
    for (int i = 0; i < SIDE; ++i)
        for (int j = 0; j < SIDE; ++j) host_left[i][j] = rand() % 10, host_right[i][j] = rand() % 10;
    float *of_left, *of_right, *of_result;
    cudaGetSymbolAddress((void **)&of_left, left);
    cudaGetSymbolAddress((void **)&of_right, right);
    cudaGetSymbolAddress((void **)&of_result, result);
    const size_t bytes = SIDE * SIDE * sizeof(float);
    cudaMemcpy(of_left, host_left, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(of_right, host_right, bytes, cudaMemcpyHostToDevice);
    product<<<dim3((SIDE + EDGE - 1) / EDGE, (SIDE + EDGE - 1) / EDGE), dim3(EDGE, EDGE)>>>();
    cudaMemcpy(host_result, of_result, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", host_result[0][0]);
    return 0;
}
