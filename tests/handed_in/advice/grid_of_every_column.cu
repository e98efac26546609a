#include <cuda_runtime.h>
#include <vector>

// Two neighbouring columns for each thread. The grid has a block for every column.
__global__ void pairs(const float *left, const float *right, float *out, int rows, int cols, int depth) {
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (r >= rows || c >= cols) return;
    float one = 0, two = 0;
    for (int i = 0; i < depth; ++i) {
        float factor = left[r * depth + i];
        one += factor * right[i * cols + c];
        if (c + 1 < cols) two += factor * right[i * cols + c + 1];
    }
    out[r * cols + c] = one;
    if (c + 1 < cols) out[r * cols + c + 1] = two;
}

int main() {
    int rows = 120, cols = 260, depth = 40;
    std::vector<float> a(rows * depth, 1), b(depth * cols, 2), c(rows * cols);
    float *da, *db, *dc;
    cudaMalloc(&da, a.size() * 4);
    cudaMalloc(&db, b.size() * 4);
    cudaMalloc(&dc, c.size() * 4);
    cudaMemcpy(da, a.data(), a.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * 4, cudaMemcpyHostToDevice);
    dim3 threads(32, 4);
    pairs<<<dim3(cols, (rows + 3) / 4), threads>>>(da, db, dc, rows, cols, depth);
    cudaMemcpy(c.data(), dc, c.size() * 4, cudaMemcpyDeviceToHost);
}
