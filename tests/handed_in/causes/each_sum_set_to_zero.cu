#define EACH 4

__global__ void coarse(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.y * 8 + threadIdx.y, j0 = blockIdx.x * 8 * EACH + threadIdx.x;
    float sums[EACH];
    for (int e = 0; e < EACH; e++) sums[e] = 0;
    for (int l = 0; l < n; l++)
        for (int e = 0; e < EACH; e++)
            if (i < n && j0 + e * 8 < n) sums[e] += a[i * n + l] * b[l * n + j0 + e * 8];
    for (int e = 0; e < EACH; e++)
        if (i < n && j0 + e * 8 < n) c[i * n + j0 + e * 8] = sums[e];
}

void multiply(const float *a, const float *b, float *c, int n) {
    coarse<<<dim3((n + 8 * EACH - 1) / (8 * EACH), (n + 7) / 8), dim3(8, 8)>>>(a, b, c, n);
}
