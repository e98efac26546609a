// A tiled kernel whose blocks and tiles have sizes of their own in x and y: 40 of them make a sweep.
//
// param:   block_size_x = 32 in 16, 32, 64, 128
// param:   block_size_y = 8 in 1, 2, 4, 8, 16, 32
// param:   tile_size_x = 4 in 1, 2, 4, 8
// param:   tile_size_y = 4 in 1, 2, 4, 8, 16
// threads: block_size_x, block_size_y
// grid:    ceil(N / (block_size_x * tile_size_x)), ceil(M / (block_size_y * tile_size_y))
// args:    C, A, B
//
// The matrices are WIDTH x WIDTH, WIDTH a multiple of every tile. A step of the loop over k takes
// block_size_x columns of A and as many rows of B, which needs block_size_x == block_size_y * tile_size_y.

#define WIDTH 4096

__global__ void tiled_xy(float *C, const float *A, const float *B) {
    __shared__ float As[block_size_y * tile_size_y][block_size_x];
    __shared__ float Bs[block_size_x][block_size_x * tile_size_x];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = blockIdx.x * block_size_x * tile_size_x + tx;
    const int y = blockIdx.y * block_size_y * tile_size_y + ty;
    float sum[tile_size_y][tile_size_x] = {};

    for (int k = 0; k < WIDTH; k += block_size_x) {
#pragma unroll
        for (int i = 0; i < tile_size_y; ++i) {
            As[ty + i * block_size_y][tx] = A[(y + i * block_size_y) * WIDTH + k + tx];
#pragma unroll
            for (int j = 0; j < tile_size_x; ++j)
                Bs[ty + i * block_size_y][tx + j * block_size_x] =
                    B[(k + ty + i * block_size_y) * WIDTH + x + j * block_size_x];
        }
        __syncthreads();
#pragma unroll
        for (int kb = 0; kb < block_size_x; ++kb)
#pragma unroll
            for (int i = 0; i < tile_size_y; ++i)
#pragma unroll
                for (int j = 0; j < tile_size_x; ++j)
                    sum[i][j] += As[ty + i * block_size_y][kb] * Bs[kb][tx + j * block_size_x];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < tile_size_y; ++i)
#pragma unroll
        for (int j = 0; j < tile_size_x; ++j)
            C[(y + i * block_size_y) * WIDTH + x + j * block_size_x] = sum[i][j];
}
