#define TILE 16
#define H (TILE / 2)
__global__ void mm(const float *A, const float *B, float *C, int M, int K, int N)
{
    __shared__ float sA[TILE][TILE], sB[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float s0 = 0, s1 = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        sA[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0;
        sA[ty + H][tx] = row + H < M && k0 + tx < K ? A[(row + H) * K + k0 + tx] : 0;
        sB[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0;
        sB[ty + H][tx] = k0 + ty + H < K && col < N ? B[(k0 + ty + H) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            s0 += sA[ty][k] * sB[k][tx];
            s1 += sA[ty + H][k] * sB[k][tx];
        }
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = s0;
    if (row + H < M && col < N) C[(row + H) * N + col] = s1;
}
int main()
{
    int M = 100, K = 50, N = 70;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    mm<<<grid, block>>>(dA, dB, dC, M, K, N);
    cudaDeviceSynchronize();
}
