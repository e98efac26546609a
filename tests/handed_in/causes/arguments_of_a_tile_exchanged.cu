// A device function returns the beginning of a tile; the call for B has its row and its column in the wrong order.
#define EDGE 8
__device__ const float *tile_of(const float *matrix, int stride, int row, int col) {
    return matrix + row * EDGE * stride + col * EDGE;
}

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float ta[EDGE][EDGE], tb[EDGE][EDGE];
    int x = threadIdx.x, y = threadIdx.y;
    float sum = 0.0f;
    for (int step = 0; step < k / EDGE; ++step) {
        ta[y][x] = tile_of(a, k, blockIdx.y, step)[y * k + x];
        tb[y][x] = tile_of(b, n, blockIdx.x, step)[y * n + x];
        __syncthreads();
        for (int i = 0; i < EDGE; ++i) sum += ta[y][i] * tb[i][x];
        __syncthreads();
    }
    c[(blockIdx.y * EDGE + y) * n + blockIdx.x * EDGE + x] = sum;
}

void run(const float *a, const float *b, float *c, int m, int n, int k) {
    product<<<dim3(n / EDGE, m / EDGE), dim3(EDGE, EDGE)>>>(a, b, c, m, n, k);
}
