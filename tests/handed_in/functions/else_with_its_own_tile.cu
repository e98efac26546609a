#include <cstdio>
#include <cstdlib>
#include <cmath>

#define CHECK(call) { cudaError_t e = call; if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } }

template <int TILE>
__global__ void mmTiled(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float sa[TILE][TILE], sb[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        sa[threadIdx.y][threadIdx.x] = 0;
        sb[threadIdx.y][threadIdx.x] = 0;
        if (row < m && k0 + threadIdx.x < k) sa[threadIdx.y][threadIdx.x] = a[row * k + k0 + threadIdx.x];
        if (col < n && k0 + threadIdx.y < k) sb[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + col];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; ++i) acc += sa[threadIdx.y][i] * sb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = acc;
}

static float run(int tile, const float *da, const float *db, float *dc, int m, int n, int k)
{
    cudaEvent_t t0, t1;
    CHECK(cudaEventCreate(&t0)); CHECK(cudaEventCreate(&t1));
    dim3 block(tile, tile);
    dim3 grid((n + tile - 1) / tile, (m + tile - 1) / tile);
    CHECK(cudaEventRecord(t0));
    if (tile == 16) mmTiled<16><<<grid, block>>>(da, db, dc, m, n, k);
    else            mmTiled<32><<<grid, block>>>(da, db, dc, m, n, k);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(t1));
    CHECK(cudaEventSynchronize(t1));
    float ms; CHECK(cudaEventElapsedTime(&ms, t0, t1));
    return ms;
}

int main(int argc, char *argv[])
{
    int m = 1000, n = 500, k = 700;
    if (argc == 4) { m = atoi(argv[1]); n = atoi(argv[2]); k = atoi(argv[3]); }
    size_t sa = (size_t)m * k * sizeof(float), sb = (size_t)k * n * sizeof(float), sc = (size_t)m * n * sizeof(float);
    float *ha = (float *)malloc(sa), *hb = (float *)malloc(sb), *hc = (float *)malloc(sc);
    for (int i = 0; i < m * k; i++) ha[i] = (float)(rand() % 10);
    for (int i = 0; i < k * n; i++) hb[i] = (float)(rand() % 10);
    float *da, *db, *dc;
    CHECK(cudaMalloc(&da, sa)); CHECK(cudaMalloc(&db, sb)); CHECK(cudaMalloc(&dc, sc));
    CHECK(cudaMemcpy(da, ha, sa, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, hb, sb, cudaMemcpyHostToDevice));
    for (int tile = 16; tile <= 32; tile *= 2) {
        float ms = run(tile, da, db, dc, m, n, k);
        CHECK(cudaMemcpy(hc, dc, sc, cudaMemcpyDeviceToHost));
        int bad = 0;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                float s = 0;
                for (int l = 0; l < k; l++) s += ha[i * k + l] * hb[l * n + j];
                if (fabsf(s - hc[i * n + j]) > 1e-3f) bad++;
            }
        printf("tile %d: %.3f ms, %d wrong\n", tile, ms, bad);
    }
    return 0;
}
