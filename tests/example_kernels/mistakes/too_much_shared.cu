// The mistake: two static tiles of 100 x 100 take 80 KB, and a kernel may declare 48 KB.
//
// threads:  32, 8
// grid:     ceil(N / 32), ceil(M / 8)

__global__ void too_much_shared(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[100][100];
    __shared__ float Bs[100][100];
    const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) {
        As[threadIdx.y][threadIdx.x] = A[row * K + k];
        Bs[threadIdx.y][threadIdx.x] = B[k * N + col];
        sum += As[threadIdx.y][threadIdx.x] * Bs[threadIdx.y][threadIdx.x];
    }
    C[row * N + col] = sum;
}
