__device__ int lock = 0;
__global__ void locked(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, part = (K + 3) / 4;
    float sum = 0;
    if (row < M && col < N)
        for (int k = blockIdx.z * part; k < min((int)(blockIdx.z + 1) * part, K); k++) sum += A[row * K + k] * B[k * N + col];
    if (threadIdx.x + threadIdx.y == 0) while (atomicCAS(&lock, 0, 1)) ;
    __syncthreads();
    if (row < M && col < N) C[row * N + col] += sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x + threadIdx.y == 0) atomicExch(&lock, 0);
}

int main() {
    const int M = 512, N = 256, K = 1024;
    float *A, *B; float *C;
    cudaMalloc(&A, sizeof(float) * M * K);
    cudaMalloc(&B, sizeof(float) * K * N);
    cudaMalloc(&C, sizeof(float) * M * N);
    cudaMemset(C, 0, sizeof(float) * M * N);
    locked<<<dim3((N + 15) / 16, (M + 15) / 16, 4), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}
