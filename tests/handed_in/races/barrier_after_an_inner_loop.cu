// exercise 7, hand-in: tiles, four elements of a row per thread, next tile prefetched into registers,
// M x K times K x N, every size
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define TILE 16
#define COLS 4                    // elements per thread
#define BN (TILE * COLS)          // columns of C per block

#define CUDA_CALL(x) do { cudaError_t s_ = (x); if (s_ != cudaSuccess) { \
    std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(s_)); std::exit(2); } } while (0)

__global__ void matmul_best(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c,
                            int m, int k, int n)
{
    __shared__ float tileA[TILE][TILE];
    __shared__ float tileB[TILE][BN + 16];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * BN + tx;

    float nextA, nextB[COLS], sum[COLS] = {0, 0, 0, 0};

    nextA = (row < m && tx < k) ? a[row * k + tx] : 0.0f;
#pragma unroll
    for (int j = 0; j < COLS; ++j)
        nextB[j] = (ty < k && col + j * TILE < n) ? b[ty * n + col + j * TILE] : 0.0f;

    const int tiles = (k + TILE - 1) / TILE;
    for (int t = 0; t < tiles; ++t) {
        tileA[ty][tx] = nextA;
#pragma unroll
        for (int j = 0; j < COLS; ++j)
            tileB[ty][tx + j * TILE] = nextB[j];
        __syncthreads();

        const int ka = (t + 1) * TILE + tx;
        const int kb = (t + 1) * TILE + ty;
        nextA = (row < m && ka < k) ? a[row * k + ka] : 0.0f;
#pragma unroll
        for (int j = 0; j < COLS; ++j)
            nextB[j] = (kb < k && col + j * TILE < n) ? b[kb * n + col + j * TILE] : 0.0f;

#pragma unroll
        for (int i = 0; i < TILE; ++i) {
            const float left = tileA[ty][i];
#pragma unroll
            for (int j = 0; j < COLS; ++j)
                sum[j] += left * tileB[i][tx + j * TILE];
        }
    }

#pragma unroll
    for (int j = 0; j < COLS; ++j)
        if (row < m && col + j * TILE < n)
            c[row * n + col + j * TILE] = sum[j];
}

void multiply(const std::vector<float> &ha, const std::vector<float> &hb, std::vector<float> &hc, int m, int k, int n)
{
    float *da, *db, *dc;
    CUDA_CALL(cudaMalloc(&da, ha.size() * sizeof(float)));
    CUDA_CALL(cudaMalloc(&db, hb.size() * sizeof(float)));
    CUDA_CALL(cudaMalloc(&dc, hc.size() * sizeof(float)));
    CUDA_CALL(cudaMemcpy(da, ha.data(), ha.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CALL(cudaMemcpy(db, hb.data(), hb.size() * sizeof(float), cudaMemcpyHostToDevice));
    dim3 block(TILE, TILE);
    dim3 grid((n + BN - 1) / BN, (m + TILE - 1) / TILE);
    matmul_best<<<grid, block>>>(da, db, dc, m, k, n);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaMemcpy(hc.data(), dc, hc.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CALL(cudaFree(da)); CUDA_CALL(cudaFree(db)); CUDA_CALL(cudaFree(dc));
}

int main()
{
    const int m = 333, k = 222, n = 444;
    std::vector<float> a(m * k), b(k * n), c(m * n);
    for (auto &x : a) x = std::rand() % 5;
    for (auto &x : b) x = std::rand() % 7;
    multiply(a, b, c, m, k, n);
    int wrong = 0;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int p = 0; p < k; ++p) s += a[i * k + p] * b[p * n + j];
            if (std::fabs(s - c[i * n + j]) > 1e-3f) ++wrong;
        }
    std::printf("%d wrong elements\n", wrong);
    return wrong != 0;
}
