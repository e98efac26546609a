#include <cuda_runtime.h>
constexpr int EDGE = 8;
__global__ void prefetched(float *Z, const float *X, const float *Y, int rows, int cols, int inner) {
    __shared__ float x[2][EDGE][EDGE], y[2][EDGE][EDGE];
    int i = threadIdx.y, j = threadIdx.x, r = blockIdx.y * EDGE + i, c = blockIdx.x * EDGE + j, cur = 0;
    auto in_x = [&](int t) { return r < rows && t * EDGE + j < inner ? X[r * inner + t * EDGE + j] : 0.f; };
    auto in_y = [&](int t) { return c < cols && t * EDGE + i < inner ? Y[(t * EDGE + i) * cols + c] : 0.f; };
    x[cur][i][j] = in_x(0);
    y[cur][i][j] = in_y(0);
    __syncthreads();
    float sum = 0;
    const int tiles = (inner + EDGE - 1) / EDGE;
    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles) {
            x[1 - cur][i][j] = in_x(t + 1);
            y[1 - cur][i][j] = in_y(t + 1);
        }
        for (int k = 0; k < EDGE; k++)
            sum += x[cur][i][k] * y[cur][k][j];
        cur = 1 - cur;
    }
    if (r < rows && c < cols) Z[r * cols + c] = sum;
}
int main() {
    int rows = 90, cols = 70, inner = 50;
    float *X, *Y, *Z;
    cudaMalloc(&X, rows * inner * sizeof(float));
    cudaMalloc(&Y, inner * cols * sizeof(float));
    cudaMalloc(&Z, rows * cols * sizeof(float));
    prefetched<<<dim3((cols + EDGE - 1) / EDGE, (rows + EDGE - 1) / EDGE), dim3(EDGE, EDGE)>>>(Z, X, Y, rows, cols, inner);
    cudaDeviceSynchronize();
}
