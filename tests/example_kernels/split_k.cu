// The product with K divided into three parts, one per block in z. Blocks add their parts to C by atomicAdd.
//
// C has to be zero before the launch.
//
// threads: 8, 8
// grid:    ceil(N / 8), ceil(M / 8), 3

__global__ void split_k(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    if (row >= M || col >= N) return;
    const int part = (K + gridDim.z - 1) / gridDim.z;
    const int end = min(K, part * (int)(blockIdx.z + 1));
    float sum = 0;
    for (int k = part * blockIdx.z; k < end; ++k) sum += A[row * K + k] * B[k * N + col];
    atomicAdd(&C[row * N + col], sum);
}
