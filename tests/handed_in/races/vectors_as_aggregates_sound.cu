__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v[2] = {1, 2, 3, 4, 5, 6, 7, 8};
    float2 w = {.x = 1, .y = 2};
    if (r < M && c < N) {
        float s = v[0].x + v[1].x - w.y - 4;
        for (int k = 0; k < K; k++) s += A[r * K + k] * B[k * N + c];
        C[r * N + c] = s;
    }
}
int main() {
    const int M = 512, N = 256, K = 1024; float *A, *B, *C;
    cudaMalloc(&A, sizeof(float) * M * K); cudaMalloc(&B, sizeof(float) * K * N); cudaMalloc(&C, sizeof(float) * M * N);
    mul<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
