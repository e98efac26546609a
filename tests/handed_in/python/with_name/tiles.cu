#ifndef EDGE
#define EDGE 16
#endif
extern "C" __global__ void tiles(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ float a[EDGE][EDGE], b[EDGE][EDGE];
    int row = blockIdx.y * EDGE + threadIdx.y, col = blockIdx.x * EDGE + threadIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < k; first += EDGE) {
        int x = first + threadIdx.x, y = first + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < m && x < k ? A[row * k + x] : 0.0f;
        b[threadIdx.y][threadIdx.x] = col < n && y < k ? B[y * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < EDGE; i++) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
