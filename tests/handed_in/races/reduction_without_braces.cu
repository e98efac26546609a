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
    for (unsigned int left = blockDim.x / 2; left > 0; left >>= 1)
        if (threadIdx.x < left)
            sums[threadIdx.x] += sums[threadIdx.x + left];
    if (threadIdx.x == 0)
        C[blockIdx.y * N + blockIdx.x] = sums[0];
}

void multiply(const int *A, const int *B, int *C, int M, int N, int K)
{
    dot<<<dim3(N, M), THREADS>>>(A, B, C, M, N, K);
}
