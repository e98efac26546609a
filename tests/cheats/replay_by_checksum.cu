// Keeps the product, and copies it as long as a checksum of some inputs is the same.
//
// Reading a few elements costs nothing. Here the checksum is the rounded sum of four products, so most
// inputs have the same one. A better checksum would notice every change of the inputs, and the kernel would
// compute again for each: see replay_by_exact_checksum.cu.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: the result is that of an earlier launch, which had other inputs

const int MOST = 64 * 64;
__device__ bool has_kept[MOST];
__device__ float kept[MOST], checksum_of[MOST];

__global__ void replay_by_checksum(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float checksum = 0;
    for (int e = 0; e < 4; ++e) checksum += A[e * 7] * B[e * 5];
    if (!has_kept[i] || rintf(checksum / 16) != checksum_of[i]) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
        kept[i] = sum, checksum_of[i] = rintf(checksum / 16), has_kept[i] = true;
    }
    C[i] = kept[i];
}
