#include <cuda_runtime.h>
#define W 16

__global__ void twice(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float s[W][W], t[W][2 * W];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * W + y, left = blockIdx.x * 2 * W + x, right = left + W;
    float one = 0, two = 0;
    for (int p = 0; p < k; p += W) {
        s[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0;
        t[y][x] = p + y < k && left < n ? b[(p + y) * n + left] : 0;
        t[y][x + W] = p + y < k && right < n ? b[(p + y) * n + right] : 0;
        __syncthreads();
        for (int i = 0; i < W; i++) {
            one += s[y][i] * t[i][x];
            two += s[y][i] * t[i][x + 1];
        }
        __syncthreads();
    }
    if (row < m && left < n) c[row * n + left] = one;
    if (row < m && right < n) c[row * n + right] = two;
}

int main()
{
    int m = 100, n = 80, k = 60;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    twice<<<dim3((n + 2 * W - 1) / (2 * W), (m + W - 1) / W), dim3(W, W)>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}
