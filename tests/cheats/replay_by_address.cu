// Keeps the product, and copies it as long as the matrices have the same addresses.
//
// If a benchmark uses the same memory for all launches, the addresses are the same and so are the inputs.
// This also happens by mistake: a result in a cache whose key is a pointer.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: the result is that of an earlier launch, which had other inputs
// on a GPU: nothing

const int MOST = 64 * 64;
__device__ const float *address_of_a[MOST], *address_of_b[MOST];
__device__ float kept[MOST];

__global__ void replay_by_address(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    if (address_of_a[i] != A || address_of_b[i] != B) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
        kept[i] = sum, address_of_a[i] = A, address_of_b[i] = B;
    }
    C[i] = kept[i];
}
