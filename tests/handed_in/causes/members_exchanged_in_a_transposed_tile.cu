// The tile of A is stored transposed; the members y and z of each loaded vector land in each other's rows.
#include <cuda_runtime.h>
#define EDGE 32
#define LANES 4

__global__ void transposedTile(const float *X, const float *Y, float *Z, int m, int n, int k)
{
    __shared__ float xs[EDGE][EDGE], ys[EDGE][EDGE];
    const int lane = threadIdx.x * LANES, top = threadIdx.y;
    float out[LANES] = {0.f, 0.f, 0.f, 0.f};
    for (int p = 0; p < k; p += EDGE) {
        const float4 piece = *reinterpret_cast<const float4 *>(X + (blockIdx.y * EDGE + top) * k + p + lane);
        xs[lane][top] = piece.x;
        xs[lane + 1][top] = piece.z;
        xs[lane + 2][top] = piece.y;
        xs[lane + 3][top] = piece.w;
        *reinterpret_cast<float4 *>(&ys[top][lane]) =
            *reinterpret_cast<const float4 *>(Y + (p + top) * n + blockIdx.x * EDGE + lane);
        __syncthreads();
        for (int q = 0; q < EDGE; ++q)
            for (int l = 0; l < LANES; ++l) out[l] += xs[q][top] * ys[q][lane + l];
        __syncthreads();
    }
    for (int l = 0; l < LANES; ++l) Z[(blockIdx.y * EDGE + top) * n + blockIdx.x * EDGE + lane + l] = out[l];
}

int main()
{
    int m = 128, n = 96, k = 64;
    float *X, *Y, *Z;
    cudaMalloc(&X, m * k * sizeof(float));
    cudaMalloc(&Y, k * n * sizeof(float));
    cudaMalloc(&Z, m * n * sizeof(float));
    transposedTile<<<dim3(n / EDGE, m / EDGE), dim3(EDGE / LANES, EDGE)>>>(X, Y, Z, m, n, k);
    cudaDeviceSynchronize();
}
