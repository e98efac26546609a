// The mistake: threads beyond the edge skip the loop's body with its barriers.
//
// sources: CMU 15-418 recitation 2 (slide 49)
// param:   LBLK = 16 in 8, 16
// threads: LBLK, LBLK
// grid:    ceil(N / LBLK), ceil(M / LBLK)

__global__ void continues_past_barriers(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float subA[LBLK][LBLK];
    __shared__ float subB[LBLK][LBLK];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int i = blockIdx.y * LBLK + ty, j = blockIdx.x * LBLK + tx;
    float sum = 0;
    for (int k = 0; k < K; k += LBLK) {
        if (i >= M || j >= N) continue;
        subA[ty][tx] = k + tx < K ? A[i * K + k + tx] : 0;
        subB[ty][tx] = k + ty < K ? B[(k + ty) * N + j] : 0;
        __syncthreads();
        for (int bk = 0; bk < LBLK; ++bk)
            sum += subA[ty][bk] * subB[bk][tx];
        __syncthreads();
    }
    if (i < M && j < N) C[i * N + j] = sum;
}
