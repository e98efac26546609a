// %%writefile matmul.cu
// Part 3 of the notebook: tiling. Run with  !nvcc -arch=sm_75 -o matmul matmul.cu && ./matmul

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <time.h>

#define TILE_DIM 16
#define SIZE 256

__global__ void tiled_matmul(float *a, float *b, float *c, int size) {
    __shared__ float tile_a[TILE_DIM][TILE_DIM];
    __shared__ float tile_b[TILE_DIM][TILE_DIM];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_DIM + ty;
    int col = blockIdx.x * TILE_DIM + tx;
    float acc = 0.0;

    for (int t = 0; t < size / TILE_DIM; t++) {
        tile_a[ty][tx] = a[row * size + t * TILE_DIM + tx];
        tile_b[tx][ty] = b[(t * TILE_DIM + ty) * size + col];
        __syncthreads();

        for (int k = 0; k < TILE_DIM; k++) {
            acc += tile_a[ty][k] * tile_b[k][tx];
        }
        __syncthreads();
    }
    c[row * size + col] = acc;
}

int main() {
    size_t bytes = SIZE * SIZE * sizeof(float);
    float *a, *b, *c;
    cudaMallocManaged(&a, bytes);
    cudaMallocManaged(&b, bytes);
    cudaMallocManaged(&c, bytes);

    srand(time(NULL));
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = (float)(rand() % 100) / 10.0;
        b[i] = (float)(rand() % 100) / 10.0;
    }

    // 🚀 launch
    dim3 block(TILE_DIM, TILE_DIM);
    dim3 grid(SIZE / TILE_DIM, SIZE / TILE_DIM);
    clock_t start = clock();
    tiled_matmul<<<grid, block>>>(a, b, c, SIZE);
    cudaDeviceSynchronize();
    clock_t end = clock();
    printf("Time: %f ms\n", 1000.0 * (end - start) / CLOCKS_PER_SEC);

    // compare with CPU
    int mismatches = 0;
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
            float ref = 0;
            for (int k = 0; k < SIZE; k++) {
                ref += a[i * SIZE + k] * b[k * SIZE + j];
            }
            if (fabs(ref - c[i * SIZE + j]) > 0.5) mismatches++;
        }
    }
    printf("Mismatches: %d\n", mismatches);

    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return 0;
}
