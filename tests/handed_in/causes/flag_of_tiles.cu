#include <cuda_runtime.h>

template <int T, bool TRANSPOSE_B>
__global__ void tiles(const double *x, const double *y, double *z, int m, int k, int n) {
    __shared__ double sx[T][T + 1], sy[T][T + 1];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    double sum = 0;
    for (int s = 0; s < k; s += T) {
        sx[ty][tx] = row < m && s + tx < k ? x[row * k + s + tx] : 0;
        if (TRANSPOSE_B) {
            int of_y = blockIdx.x * T + ty;
            sy[tx][ty] = of_y < n && s + tx < k ? y[of_y * k + s + tx] : 0;
        } else {
            sy[ty][tx] = s + ty < k && col < n ? y[(s + ty) * n + col] : 0;
        }
        __syncthreads();
        for (int i = 0; i < T; i++) sum += sx[ty][i] * sy[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) z[row * n + col] = sum;
}

void multiply(const double *x, const double *y, double *z, int m, int k, int n) {
    dim3 grid((n + 7) / 8, (m + 7) / 8);
    tiles<8, true><<<grid, dim3(8, 8)>>>(x, y, z, m, k, n);
}
