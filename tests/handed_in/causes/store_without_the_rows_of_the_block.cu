// A block computes 32 x 32 elements with 16 x 16 threads: 2 x 2 for each thread.
constexpr int SIDE = 32, STEP = 8, PER = 2;
__global__ void matmulRegs(const float* __restrict__ X, const float* __restrict__ Y, float* __restrict__ Z, int rows,
                           int inner, int cols) {
    __shared__ float xs[STEP][SIDE];
    __shared__ float ys[STEP][SIDE];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int id = ty * blockDim.x + tx;
    float sums[PER][PER] = {{0.f}};
    for (int s = 0; s < (inner + STEP - 1) / STEP; ++s) {
        int lr = id / STEP, lc = id % STEP;
        int hr = id / SIDE, hc = id % SIDE;
        int gx = by * SIDE + lr, gk = s * STEP + lc;
        xs[lc][lr] = gx < rows && gk < inner ? X[gx * inner + gk] : 0.f;
        int gy = bx * SIDE + hc, gh = s * STEP + hr;
        ys[hr][hc] = gh < inner && gy < cols ? Y[gh * cols + gy] : 0.f;
        __syncthreads();
        for (int k = 0; k < STEP; ++k)
            for (int u = 0; u < PER; ++u)
                for (int v = 0; v < PER; ++v) sums[u][v] += xs[k][ty * PER + u] * ys[k][tx * PER + v];
        __syncthreads();
    }
    for (int u = 0; u < PER; ++u)
        for (int v = 0; v < PER; ++v) {
            int zr = ty * PER + u;
            int zc = bx * SIDE + tx * PER + v;
            if (zr < rows && zc < cols) Z[zr * cols + zc] = sums[u][v];
        }
}
void run(const float* X, const float* Y, float* Z, int rows, int inner, int cols) {
    dim3 threads(SIDE / PER, SIDE / PER);
    dim3 grid((cols + SIDE - 1) / SIDE, (rows + SIDE - 1) / SIDE);
    matmulRegs<<<grid, threads>>>(X, Y, Z, rows, inner, cols);
}
