// a thread keeps its sums in an array of structures, and clears one too many
struct Pair { float first, second; };

__global__ void pairs(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 8 + threadIdx.y, col = (blockIdx.x * 8 + threadIdx.x) * 4;
    Pair sums[2];
    Pair *s = sums;
    for (int i = 0; i < 2; i++) s[i].first = s[i].second = 0;
    if (row >= M) return;
    for (int k = 0; k < K; k++)
        for (int i = 0; i < 2; i++) {
            if (col + 2 * i < N) s[i].first += A[row * K + k] * B[k * N + col + 2 * i];
            if (col + 2 * i + 1 < N) s[i].second += A[row * K + k] * B[k * N + col + 2 * i + 1];
        }
    for (int i = 0; i < 2; i++) {
        if (col + 2 * i < N) C[row * N + col + 2 * i] = s[i].first;
        if (col + 2 * i + 1 < N) C[row * N + col + 2 * i + 1] = s[i].second;
    }
}

int main() {
    const int M = 512, N = 256, K = 128;
    float *A, *B; float *C;
    cudaMalloc(&A, sizeof(float) * M * K);
    cudaMalloc(&B, sizeof(float) * K * N);
    cudaMalloc(&C, sizeof(float) * M * N);
    pairs<<<dim3((N + 31) / 32, (M + 7) / 8), dim3(8, 8)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}
