// The tile is stored in vectors of four floats, and its rows are padded by four: each begins at a multiple of 16 bytes.
#define EDGE 64
__global__ void padded(const float *a, const float *b, float *c, int n) {
    __shared__ float tile[16][EDGE + 4];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * EDGE + 4 * x;
    float sum[4] = {0, 0, 0, 0};
    for (int k0 = 0; k0 < n; k0 += 16) {
        *(float4 *)&tile[y][4 * x] = *(const float4 *)&b[(k0 + y) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int j = 0; j < 4; ++j) sum[j] += a[row * n + k0 + k] * tile[k][4 * x + j];
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j) c[row * n + col + j] = sum[j];
}

void run(const float *a, const float *b, float *c, int n) {
    padded<<<dim3(n / EDGE, n / 16), dim3(16, 16)>>>(a, b, c, n);
}
