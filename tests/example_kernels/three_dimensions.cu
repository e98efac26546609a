// Each thread computes its position in a block of 2 x 3 x 4 and a grid of 3 x 2 x 2.
//
// types:   int32
// args:    C
// threads: 2, 3, 4
// grid:    3, 2, 2

__global__ void three_dimensions(int *C) {
    const int block = (blockIdx.z * 2 + blockIdx.y) * 3 + blockIdx.x;
    const int thread = (threadIdx.z * 3 + threadIdx.y) * 2 + threadIdx.x;
    dim3 b = blockDim, g(gridDim.x, gridDim.y, gridDim.z);
    // The decimal digits are the extents: 2 x 3 x 4 threads and 3 x 2 x 2 blocks.
    const int sizes = ((((b.x * 10 + b.y) * 10 + b.z) * 10 + g.x) * 10 + g.y) * 10 + g.z;
    C[block * 24 + thread] = sizes * 1000 + warpSize;
}
