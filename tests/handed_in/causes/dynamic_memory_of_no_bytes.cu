// Aufgabe 3b: tiled with dynamic shared memory, tile from the block
#include <cstdio>
#include <cstdlib>

extern __shared__ float smem[];

__global__ void mm_dyn(const float *a, const float *b, float *c, int n)
{
    int T = blockDim.x;
    float *sa = smem;
    float *sb = smem + T * T;
    int r = blockIdx.y * T + threadIdx.y;
    int q = blockIdx.x * T + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < (n + T - 1) / T; t++) {
        int ac = t * T + threadIdx.x, br = t * T + threadIdx.y;
        sa[threadIdx.y * T + threadIdx.x] = (r < n && ac < n) ? a[r * n + ac] : 0.0f;
        sb[threadIdx.y * T + threadIdx.x] = (br < n && q < n) ? b[br * n + q] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; k++)
            sum += sa[threadIdx.y * T + k] * sb[k * T + threadIdx.x];
        __syncthreads();
    }
    if (r < n && q < n) c[r * n + q] = sum;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 300;
    int T = argc > 2 ? atoi(argv[2]) : 16;
    size_t bytes = sizeof(float) * n * n;
    float *a, *b, *c;
    cudaMallocManaged(&a, bytes);
    cudaMallocManaged(&b, bytes);
    cudaMallocManaged(&c, bytes);
    for (int i = 0; i < n * n; i++) { a[i] = i % 7; b[i] = i % 5; }
    dim3 block(T, T);
    dim3 grid((n + T - 1) / T, (n + T - 1) / T);
    mm_dyn<<<grid, block>>>(a, b, c, n);
    cudaDeviceSynchronize();
    printf("c[0] = %f\n", c[0]);
}
