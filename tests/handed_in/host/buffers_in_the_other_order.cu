#include <cuda_runtime.h>
#define ROWS 256
#define DEPTH 64
#define COLS 128
#define T 16
__global__ void mul(const float *p, const float *q, float *r, int h, int w, int d) {
    __shared__ float s[T][T], u[T][T];
    int y = blockIdx.y * T + threadIdx.y, x = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < d / T; t++) {
        s[threadIdx.y][threadIdx.x] = p[y * d + t * T + threadIdx.x];
        u[threadIdx.y][threadIdx.x] = q[(t * T + threadIdx.y) * w + x];
        __syncthreads();
        for (int k = 0; k < T; k++) sum += s[threadIdx.y][k] * u[k][threadIdx.x];
        __syncthreads();
    }
    r[y * w + x] = sum;
}
int main() {
    float *d_x, *d_w, *d_y;
    size_t bytes_x = ROWS * DEPTH * sizeof(float);
    cudaMalloc(&d_x, bytes_x);
    cudaMalloc(&d_w, DEPTH * COLS * sizeof(float));
    cudaMalloc(&d_y, ROWS * COLS * sizeof(float));
    mul<<<dim3(COLS / T, ROWS / T), dim3(T, T)>>>(d_w, d_x, d_y, ROWS, COLS, DEPTH);
}
