#define T 16
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[T][T], Bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float s = 0;
    for (int t = 0; t < (K + T - 1) / T; t++) {
        if (row < M && t * T + tx < K) As[ty][tx] = A[row * K + t * T + tx]; else As[ty][tx] = 0;
        if (t * T + ty < K && col < N) Bs[ty][tx] = B[(t * T + ty) * N + col]; else Bs[ty][tx] = 0;
        __syncthreads();
        for (int k = 0; k < T; k++) s += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if ((row < M) || (col < N)) C[row * N + col] = s;
}
int main() {
    int M = 100, N = 70, K = 90; float *A, *B, *C;
    cudaMalloc(&A, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4);
    mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
