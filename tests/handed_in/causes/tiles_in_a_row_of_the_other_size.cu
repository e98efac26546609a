#include <cuda_runtime.h>

const int EDGE = 16;

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[EDGE][EDGE], bs[EDGE][EDGE];
    int across = (m + EDGE - 1) / EDGE, down = (m + EDGE - 1) / EDGE;
    int x = threadIdx.x, y = threadIdx.y;
    for (int tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
        int row = tile / across * EDGE + y, col = tile % across * EDGE + x;
        float sum = 0.0f;
        for (int p = 0; p < k; p += EDGE) {
            as[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0.0f;
            bs[y][x] = p + y < k && col < n ? b[(p + y) * n + col] : 0.0f;
            __syncthreads();
            for (int i = 0; i < EDGE; ++i)
                sum += as[y][i] * bs[i][x];
            __syncthreads();
        }
        if (row < m && col < n)
            c[row * n + col] = sum;
    }
}

int main()
{
    int m = 200, n = 120, k = 60;
    float *a, *b, *c;
    cudaMallocManaged(&a, m * k * sizeof(float));
    cudaMallocManaged(&b, k * n * sizeof(float));
    cudaMallocManaged(&c, m * n * sizeof(float));
    product<<<24, dim3(EDGE, EDGE)>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}
