// Threads beyond the edge return before the barrier. The program has 1008 x 2000 x 640.
#include <cuda_runtime.h>
const int EDGE = 16;

__global__ void mulTiles(const double *x, const double *y, double *z, int rows, int inner, int cols) {
    __shared__ double tx[EDGE][EDGE], ty[EDGE][EDGE];
    int c = EDGE * blockIdx.x + threadIdx.x;
    int r = EDGE * blockIdx.y + threadIdx.y;
    if (r < rows && c < cols) {
        double acc = 0;
        for (int t = 0; t < inner / EDGE; t++) {
            tx[threadIdx.y][threadIdx.x] = x[r * inner + t * EDGE + threadIdx.x];
            ty[threadIdx.y][threadIdx.x] = y[(t * EDGE + threadIdx.y) * cols + c];
            __syncthreads();
            for (int i = 0; i < EDGE; i++) acc += tx[threadIdx.y][i] * ty[i][threadIdx.x];
            __syncthreads();
        }
        z[r * cols + c] = acc;
    }
}

int main() {
    int rows = 1008, cols = 2000, inner = 640;
    double *x, *y, *z;
    cudaMalloc(&x, rows * inner * sizeof(double));
    cudaMalloc(&y, inner * cols * sizeof(double));
    cudaMalloc(&z, rows * cols * sizeof(double));
    dim3 threads(EDGE, EDGE), blocks((cols + EDGE - 1) / EDGE, (rows + EDGE - 1) / EDGE);
    mulTiles<<<blocks, threads>>>(x, y, z, rows, inner, cols);
}
