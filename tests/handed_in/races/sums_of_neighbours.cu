#define THREADS 128
// A block computes one element of C: its threads share the terms, and halve their number with each step.
__global__ void dot(const int *A, const int *B, int *C, int M, int N, int K)
{
    __shared__ int sums[THREADS];
    int sum = 0;
    for (int k = threadIdx.x; k < K; k += blockDim.x)
        sum += A[blockIdx.y * K + k] * B[k * N + blockIdx.x];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned int step = 1; step < THREADS; step *= 2) {
        sums[threadIdx.x] += sums[(threadIdx.x + step) % THREADS];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        C[blockIdx.y * N + blockIdx.x] = sums[0];
}

void multiply(const int *A, const int *B, int *C, int M, int N, int K)
{
    dot<<<dim3(N, M), THREADS>>>(A, B, C, M, N, K);
}
