#define BM 64
#define BN 64
#define BK 8
#define TM 8
#define TN 8
__global__ void sgemm(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[BM * BK], Bs[BK * BN];
    const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
    A += blockIdx.y * BM * K; B += blockIdx.x * BN; C += blockIdx.y * BM * N + blockIdx.x * BN;
    float acc[TM * TN] = {0}, ra[TM], rb[TN];
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += blockDim.x) As[i] = A[(i / BK) * K + i % BK];
        for (int i = threadIdx.x; i < BK * BN; i += blockDim.x) Bs[i] = B[(i / BN) * N + i % BN];
        __syncthreads();
        A += BK; B += BK * N;
        for (int k = 0; k < BK; k++) {
            for (int i = 0; i < TM; i++) ra[i] = As[(threadRow * TM + i) * BK + k];
            for (int j = 0; j < TN; j++) rb[j] = Bs[k * BN + threadCol * TN + j];
            for (int i = 0; i < TM; i++) for (int j = 0; j < TN; j++) acc[i * TN + j] += ra[i] * rb[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++) for (int j = 0; j < TN; j++)
        C[(threadRow * TM + i) * N + threadCol * TN + j] = acc[i * TN + j];
}
