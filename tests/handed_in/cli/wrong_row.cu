#include <cuda_runtime.h>

#define TILE_EDGE 16

template <typename scalar_type, int EDGE_OF_TILE>
__global__ void multiply_two_row_major_matrices(scalar_type *__restrict__ destination, const scalar_type *__restrict__ left, const scalar_type *__restrict__ right, const int height, const int width, const int depth) {
    const int y = blockIdx.y * EDGE_OF_TILE + threadIdx.y;
    const int x = blockIdx.x * EDGE_OF_TILE + threadIdx.x;
    if (y < height && x < width) {
        scalar_type total = 0;
        for (int step = 0; step < depth; ++step)
            total += left[y * width + step] * right[step * width + x];
        destination[y * width + x] = total;
    }
}

void product(float *c, const float *a, const float *b, int height, int width, int depth) {
    dim3 threads(TILE_EDGE, TILE_EDGE);
    dim3 blocks((width + TILE_EDGE - 1) / TILE_EDGE, (height + TILE_EDGE - 1) / TILE_EDGE);
    multiply_two_row_major_matrices<float, TILE_EDGE><<<blocks, threads>>>(c, a, b, height, width, depth);
}
