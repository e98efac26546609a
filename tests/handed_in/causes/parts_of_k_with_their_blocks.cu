// Each block sums one of PARTS parts of K; the parts are added with atomicAdd.
constexpr int EDGE = 16, PARTS = 8;
__global__ void partial(float *C, const float *A, const float *B, unsigned M, unsigned N, unsigned K) {
    unsigned i = blockIdx.y * EDGE + threadIdx.y, j = blockIdx.x * EDGE + threadIdx.x;
    unsigned length = (K - 1) / PARTS + 1;
    unsigned first = length * blockIdx.z, last = first + length < K ? first + length : K;
    if (i >= M || j >= N) return;
    float part = 0.0f;
    for (unsigned p = first; p < last; ++p) part += A[i * K + p] * B[p * N + j];
    atomicAdd(C + i * N + j, part);
}

int main() {
    unsigned M = 200, N = 150, K = 1000;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    cudaMemset(C, 0, M * N * sizeof(float));
    dim3 grid((N + EDGE - 1) / EDGE, (M + EDGE - 1) / EDGE, PARTS);
    partial<<<grid, dim3(EDGE, EDGE)>>>(C, A, B, M, N, K);
    cudaDeviceSynchronize();
}
