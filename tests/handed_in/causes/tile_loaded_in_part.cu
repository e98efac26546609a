#include <cuda_runtime.h>

const int WIDTH = 32, ROWS = 8;

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float s[WIDTH][WIDTH], t[WIDTH][WIDTH];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * WIDTH + y, col = blockIdx.x * WIDTH + x;
    float sum[WIDTH / ROWS] = {};
    for (int first = 0; first < k; first += WIDTH) {
        s[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
        for (int i = 0; i < WIDTH; i += ROWS)
            t[y + i][x] = first + y + i < k && col < n ? b[(first + y + i) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < WIDTH; ++i)
            for (int r = 0; r < WIDTH / ROWS; ++r) sum[r] += s[y + r * ROWS][i] * t[i][x];
        __syncthreads();
    }
    for (int r = 0; r < WIDTH / ROWS; ++r)
        if (row + r * ROWS < m && col < n) c[(row + r * ROWS) * n + col] = sum[r];
}

int main() {
    int m = 100, n = 70, k = 50;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    dim3 threads(WIDTH, ROWS), blocks((n + WIDTH - 1) / WIDTH, (m + WIDTH - 1) / WIDTH);
    matmul<<<blocks, threads>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}
