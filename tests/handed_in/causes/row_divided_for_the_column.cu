#define T 16
#define R 4

__global__ void register_tiles(int m, int n, int k, const float *a, const float *b, float *c) {
    __shared__ float sa[T][T], sb[T][T];
    int id = threadIdx.x, across = id / (T / R), down = across % (T / R);
    int row0 = blockIdx.y * T, col0 = blockIdx.x * T;
    float sums[R][R] = {};
    for (int l = 0; l < k; l += T) {
        for (int e = id; e < T * T; e += (T / R) * (T / R)) {
            int r = e / T, s = e % T;
            sa[r][s] = row0 + r < m && l + s < k ? a[(row0 + r) * k + l + s] : 0;
            sb[r][s] = l + r < k && col0 + s < n ? b[(l + r) * n + col0 + s] : 0;
        }
        __syncthreads();
        for (int e = 0; e < T; e++)
            for (int i = 0; i < R; i++)
                for (int j = 0; j < R; j++) sums[i][j] += sa[across * R + i][e] * sb[e][down * R + j];
        __syncthreads();
    }
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++) {
            int r = row0 + across * R + i, s = col0 + down * R + j;
            if (r < m && s < n) c[r * n + s] = sums[i][j];
        }
}

void multiply(int m, int n, int k, const float *a, const float *b, float *c) {
    register_tiles<<<dim3((n + T - 1) / T, (m + T - 1) / T), (T / R) * (T / R)>>>(m, n, k, a, b, c);
}
