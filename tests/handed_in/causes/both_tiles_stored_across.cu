#include <cuda_runtime.h>

const int WIDTH = 16;

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float s[WIDTH * WIDTH], t[WIDTH * WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * WIDTH + ty, col = blockIdx.x * WIDTH + tx;
    float sum = 0.0f;
    for (int first = 0; first < k; first += WIDTH) {
        s[tx * WIDTH + ty] = row < m && first + tx < k ? a[row * k + first + tx] : 0.0f;
        t[tx * WIDTH + ty] = first + ty < k && col < n ? b[(first + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < WIDTH; ++i) sum += s[i * WIDTH + ty] * t[tx * WIDTH + i];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}

int main() {
    int m = 100, n = 70, k = 50;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    dim3 threads(WIDTH, WIDTH), blocks((n + WIDTH - 1) / WIDTH, (m + WIDTH - 1) / WIDTH);
    matmul<<<blocks, threads>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}
