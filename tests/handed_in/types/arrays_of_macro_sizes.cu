// The parameters are arrays whose extents are macros named like cudamm's own sizes.
#include <cuda_runtime.h>
#define M 70
#define N 50
#define K 40

__global__ void product(const float A[M][K], const float B[K][N], float C[M][N]) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[row][k] * B[k][col];
        C[row][col] = sum;
    }
}

int main() {
    float (*A)[K], (*B)[N], (*C)[N];
    cudaMallocManaged((void **)&A, sizeof(float) * M * K);
    cudaMallocManaged((void **)&B, sizeof(float) * K * N);
    cudaMallocManaged((void **)&C, sizeof(float) * M * N);
    product<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C);
    cudaDeviceSynchronize();
}
