#include <cuda_runtime.h>
#define W 8
#define PER_THREAD 3

__global__ void several(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float left[W][W], right[W][W];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * W + y;
    int first_col = blockIdx.x * W * PER_THREAD + x;
    float sums[PER_THREAD] = {};
    for (int t = 0; t < k; t += W) {
        left[y][x] = row < m && t + x < k ? a[row * k + t + x] : 0.f;
        for (int s = 0; s < PER_THREAD; ++s) {
            int col = first_col + s * W;
            right[y][x] = t + y < k && col < n ? b[(t + y) * n + col] : 0.f;
            __syncthreads();
            for (int i = 0; i < W; ++i) sums[s] += left[y][i] * right[i][x];
            __syncthreads();
        }
    }
    for (int s = 0; s < PER_THREAD; ++s)
        if (row < m && first_col + s * W < n) c[row * n + first_col + s * W] = sums[s];
}

int main() {
    int m = 90, n = 170, k = 50;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    several<<<dim3((n + W * PER_THREAD - 1) / (W * PER_THREAD), (m + W - 1) / W), dim3(W, W)>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}
