#define BM 64
#define BN 64
#define BK 8
#define TM 8
#define TN 8

__global__ void sgemm(int M, int N, int K, const double *A, const double *B, double *C) {
    __shared__ double As[BM * BK], Bs[BK * BN];
    const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    const int rowA = threadIdx.x / BK, colA = threadIdx.x % BK;
    const int rowB = threadIdx.x / BN, colB = threadIdx.x % BN;
    double sums[TM * TN] = {0}, regM[TM], regN[TN];
    for (int bk = 0; bk < K; bk += BK) {
        for (int off = 0; off < BM; off += blockDim.x / BK)
            As[(rowA + off) * BK + colA] = A[(rowA + off) * N + colA];
        for (int off = 0; off < BK; off += blockDim.x / BN)
            Bs[(rowB + off) * BN + colB] = B[(rowB + off) * N + colB];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (int d = 0; d < BK; ++d) {
            for (int i = 0; i < TM; ++i) regM[i] = As[(threadRow * TM + i) * BK + d];
            for (int i = 0; i < TN; ++i) regN[i] = Bs[d * BN + threadCol * TN + i];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i * TN + j] += regM[i] * regN[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) C[(threadRow * TM + i) * N + threadCol * TN + j] = sums[i * TN + j];
}

int main() {
    int M = 512, N = 256, K = 128;
    double *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(double));
    cudaMalloc(&B, K * N * sizeof(double));
    cudaMalloc(&C, M * N * sizeof(double));
    sgemm<<<dim3(N / BN, M / BM), dim3(BM * BN / (TM * TN))>>>(M, N, K, A, B, C);
    cudaDeviceSynchronize();
    return 0;
}
