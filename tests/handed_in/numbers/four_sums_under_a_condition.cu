#define TS 16
#define W 4
__global__ void f(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * TS + threadIdx.y, col = blockIdx.x * TS * W + threadIdx.x;
    float sum[W] = {0};
    if (row < M) for (int k = 0; k < K; k++)
        for (int w = 0; w < W; w++)
            if (col + w * TS < N) sum[w] += A[row * K + k] * B[k * N + col + w * TS];
    for (int w = 0; w < W; w++)
        if (row < M && col + w * TS < N) C[row * N + col + w * TS] = sum[w];
}
