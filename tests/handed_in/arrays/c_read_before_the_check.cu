// Exercise 5: C = alpha * A * B + beta * C, 4 elements per thread
#include <cstdio>
#include <cstdlib>
#include <cmath>
#define TILE 16
#define COARSE 4
#define PAD 16
#define cudaCheck(x) do { cudaError_t err_ = (x); if (err_) { printf("%s at line %d\n", cudaGetErrorString(err_), __LINE__); exit(1); } } while (0)

__global__ void sgemm(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE * COARSE + PAD];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col0 = blockIdx.x * TILE * COARSE + tx;
    float acc[COARSE] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k0 = 0; k0 < k; k0 += TILE) {
        as[ty][tx] = (row < m && k0 + tx < k) ? a[row * k + k0 + tx] : 0.0f;
        for (int j = 0; j < COARSE; j++) {
            int col = col0 + j * TILE;
            bs[ty][tx + j * TILE] = (k0 + ty < k && col < n) ? b[(k0 + ty) * n + col] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            float av = as[ty][i];
            for (int j = 0; j < COARSE; j++)
                acc[j] += av * bs[i][tx + j * TILE];
        }
        __syncthreads();
    }
    for (int j = 0; j < COARSE; j++) {
        int col = col0 + j * TILE;
        float old = c[row * n + col];
        if (row < m && col < n)
            c[row * n + col] = alpha * acc[j] + beta * old;
    }
}

int main()
{
    int m = 130, n = 200, k = 90;
    float alpha = 1.5f, beta = -0.5f;
    float *a = (float *)malloc(m * k * sizeof(float)), *b = (float *)malloc(k * n * sizeof(float));
    float *c = (float *)malloc(m * n * sizeof(float));
    for (int i = 0; i < m * k; i++) a[i] = sinf(i);
    for (int i = 0; i < k * n; i++) b[i] = cosf(i);
    for (int i = 0; i < m * n; i++) c[i] = 1.0f;
    float *d_a, *d_b, *d_c;
    cudaCheck(cudaMalloc(&d_a, m * k * sizeof(float)));
    cudaCheck(cudaMalloc(&d_b, k * n * sizeof(float)));
    cudaCheck(cudaMalloc(&d_c, m * n * sizeof(float)));
    cudaCheck(cudaMemcpy(d_a, a, m * k * sizeof(float), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(d_b, b, k * n * sizeof(float), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(d_c, c, m * n * sizeof(float), cudaMemcpyHostToDevice));
    dim3 block(TILE, TILE);
    dim3 grid((n + TILE * COARSE - 1) / (TILE * COARSE), (m + TILE - 1) / TILE);
    sgemm<<<grid, block>>>(m, n, k, alpha, d_a, d_b, beta, d_c);
    cudaCheck(cudaGetLastError());
    cudaCheck(cudaMemcpy(c, d_c, m * n * sizeof(float), cudaMemcpyDeviceToHost));
    printf("%f %f\n", c[0], c[m * n - 1]);
    return 0;
}
