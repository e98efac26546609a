// Matrix multiplication with "real" 2D indexing on the device:
// the kernel parameters are pointers to rows, so A[i][k] just works.
#include <stdio.h>
#include <stdlib.h>

#define N 400

__global__ void MatMul(float (*A)[N], float (*B)[N], float (*C)[N])
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;

    if (i < N && j < N)
    {
        C[i][j] = 0;
        for (int k = 0; k < N; k++)
            C[i][j] += A[i][k] * B[k][j];
    }
}

static float h_A[N][N], h_B[N][N], h_C[N][N];

int main()
{
    float (*d_A)[N], (*d_B)[N], (*d_C)[N];

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
        {
            h_A[i][j] = (i + j) % 4;
            h_B[i][j] = (i * j) % 3;
        }

    cudaMalloc((void**)&d_A, (N * N) * sizeof(float));
    cudaMalloc((void**)&d_B, (N * N) * sizeof(float));
    cudaMalloc((void**)&d_C, (N * N) * sizeof(float));

    cudaMemcpy(d_A, h_A, (N * N) * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, (N * N) * sizeof(float), cudaMemcpyHostToDevice);

    dim3 threadsPerBlock(16, 16);
    dim3 numBlocks((N + threadsPerBlock.x - 1) / threadsPerBlock.x,
                   (N + threadsPerBlock.y - 1) / threadsPerBlock.y);
    MatMul<<<numBlocks, threadsPerBlock>>>(d_A, d_B, d_C);

    cudaMemcpy(h_C, d_C, (N * N) * sizeof(float), cudaMemcpyDeviceToHost);

    int bad = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
        {
            float s = 0;
            for (int k = 0; k < N; k++) s += h_A[i][k] * h_B[k][j];
            if (s != h_C[i][j]) bad++;
        }
    printf("bad = %d\n", bad);

    cudaFree(d_A);
    cudaFree(d_B);
    cudaFree(d_C);
    return 0;
}
