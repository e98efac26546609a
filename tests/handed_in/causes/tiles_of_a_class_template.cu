#include <cuda_runtime.h>

template <typename T, int EDGE>
struct Tiles {
    static int of(int extent) { return (extent + EDGE - 1) / EDGE; }
};

template <typename T, int EDGE>
__global__ void persistent(const T *a, const T *b, T *c, int m, int n, int k) {
    int across = (n + EDGE - 1) / EDGE, all = across * ((m + EDGE - 1) / EDGE);
    for (int tile = blockIdx.x; tile < all; tile += gridDim.x) {
        int i = tile / across * EDGE + threadIdx.y, j = tile % across * EDGE + threadIdx.x;
        T sum = 0;
        for (int l = 0; l < k && i < m && j < n; l++) sum += a[i * k + l] * b[l * n + j];
        if (i < m && j < n) c[i * n + j] = sum;
    }
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    int all = Tiles<float, 16>::of(m) * Tiles<float, 16>::of(n), blocks = all < 6 ? all : 6;
    persistent<float, 16><<<blocks, dim3(16, 16)>>>(a, b, c, m, n, k);
}
