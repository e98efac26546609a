// The program has 24 rows and blocks of 32: its grid is empty.
#define BLOCK 32

__global__ void matrixMul(int *A, int *B, int *C, int n) {
    int y = blockIdx.y * BLOCK + threadIdx.y;
    int x = blockIdx.x * BLOCK + threadIdx.x;
    if (y < n && x < n) {
        int s = 0;
        for (int i = 0; i < n; i++) s += A[y * n + i] * B[i * n + x];
        C[y * n + x] = s;
    }
}

int main() {
    int n = 24;
    int *dA, *dB, *dC;
    cudaMalloc(&dA, n * n * sizeof(int));
    cudaMalloc(&dB, n * n * sizeof(int));
    cudaMalloc(&dC, n * n * sizeof(int));
    dim3 block(BLOCK, BLOCK);
    dim3 grid(n / BLOCK, n / BLOCK);
    matrixMul<<<grid, block>>>(dA, dB, dC, n);
    cudaDeviceSynchronize();
}
