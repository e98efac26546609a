// all three kernels side by side, any M, N, K.   usage: ex7 M N K
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

constexpr int BS = 16;      // naive and tiled
constexpr int TS = 32;      // register kernel: tile
constexpr int RPT = 4;      // register kernel: results per thread

#define cudaCheck(call)                                                        \
    {                                                                          \
        cudaError_t e = call;                                                  \
        if (e != cudaSuccess) {                                                \
            printf("CUDA error %s in line %d\n", cudaGetErrorString(e), __LINE__); \
            exit(EXIT_FAILURE);                                                \
        }                                                                      \
    }

typedef void (*kernel_t)(const float *, const float *, float *, int, int, int);

__global__ void naive(const float *a, const float *b, float *c, int m, int n, int k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= m) return;
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += a[y * k + p] * b[p * n + x];
    c[y * n + x] = sum;
}

__global__ void tiled(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float ta[BS][BS], tb[BS][BS];
    int x = blockIdx.x * BS + threadIdx.x;
    int y = blockIdx.y * BS + threadIdx.y;
    float sum = 0;
    for (int p0 = 0; p0 < k; p0 += BS) {
        ta[threadIdx.y][threadIdx.x] = (y < m && p0 + threadIdx.x < k) ? a[y * k + p0 + threadIdx.x] : 0;
        tb[threadIdx.y][threadIdx.x] = (x < n && p0 + threadIdx.y < k) ? b[(p0 + threadIdx.y) * n + x] : 0;
        __syncthreads();
        for (int p = 0; p < BS; ++p) sum += ta[threadIdx.y][p] * tb[p][threadIdx.x];
        __syncthreads();
    }
    if (x < n && y < m) c[y * n + x] = sum;
}

// 4 neighbouring rows of one column per thread, A's tile is stored transposed
__global__ void regtile(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float ta[32][33];      // ta[p][row], padded
    __shared__ float tb[TS][TS];      // tb[p][col]
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TS + tx;
    int y0 = blockIdx.y * TS + ty * RPT;
    float sum[RPT] = {0};
    for (int p0 = 0; p0 < k; p0 += TS) {
        for (int i = 0; i < RPT; ++i) {
            int q = ty * RPT + i;
            ta[tx][q] = (y0 + i < m && p0 + tx < k) ? a[(y0 + i) * k + p0 + tx] : 0;
            tb[q][tx] = (p0 + q < k && x < n) ? b[(p0 + q) * n + x] : 0;
        }
        __syncthreads();
        for (int p = 0; p < TS; ++p) {
            float bb = tb[p][tx];
            #pragma unroll
            for (int i = 0; i < RPT; ++i) sum[i] += ta[p][ty * RPT + i] * bb;
        }
        __syncthreads();
    }
    for (int i = 0; i < RPT; ++i)
        if (y0 + i < m && x < n) c[(y0 + i) * n + x] = sum[i];
}

static float run(const char *name, kernel_t f, dim3 grid, dim3 block, const float *da, const float *db, float *dc,
                 int m, int n, int k, const std::vector<float> &want)
{
    cudaEvent_t start, stop;
    cudaCheck(cudaEventCreate(&start));
    cudaCheck(cudaEventCreate(&stop));
    cudaCheck(cudaMemset(dc, 0, sizeof(float) * m * n));
    cudaCheck(cudaEventRecord(start));
    f<<<grid, block>>>(da, db, dc, m, n, k);
    cudaCheck(cudaEventRecord(stop));
    cudaCheck(cudaEventSynchronize(stop));
    float ms;
    cudaCheck(cudaEventElapsedTime(&ms, start, stop));
    std::vector<float> got(m * n);
    cudaCheck(cudaMemcpy(got.data(), dc, sizeof(float) * m * n, cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int i = 0; i < m * n; ++i) worst = fmax(worst, fabs(got[i] - want[i]));
    printf("%-10s %8.3f ms   max error %g  %s\n", name, ms, worst, worst < 1e-3 ? "OK" : "WRONG");
    return ms;
}

int main(int argc, char **argv)
{
    int m = argc > 1 ? atoi(argv[1]) : 512, n = argc > 2 ? atoi(argv[2]) : 512, k = argc > 3 ? atoi(argv[3]) : 512;
    std::vector<float> a(m * k), b(k * n), want(m * n);
    for (auto &v : a) v = rand() / (float)RAND_MAX - 0.5f;
    for (auto &v : b) v = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double s = 0;
            for (int p = 0; p < k; ++p) s += (double)a[i * k + p] * b[p * n + j];
            want[i * n + j] = s;
        }
    float *da, *db, *dc;
    cudaCheck(cudaMalloc(&da, a.size() * sizeof(float)));
    cudaCheck(cudaMalloc(&db, b.size() * sizeof(float)));
    cudaCheck(cudaMalloc(&dc, want.size() * sizeof(float)));
    cudaCheck(cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(db, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));

    dim3 blk(BS, BS), grd((n + BS - 1) / BS, (m + BS - 1) / BS);
    run("naive", naive, grd, blk, da, db, dc, m, n, k, want);
    run("tiled", tiled, grd, blk, da, db, dc, m, n, k, want);
    run("regtile", regtile, dim3((n + TS - 1) / TS, (m + TS - 1) / TS), dim3(TS, TS / RPT), da, db, dc, m, n, k, want);

    cudaCheck(cudaFree(da)); cudaCheck(cudaFree(db)); cudaCheck(cudaFree(dc));
    return 0;
}
