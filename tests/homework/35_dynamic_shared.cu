// hw4.cu -- tile width chosen on the command line, so the shared memory is dynamic
#include <cstdio>
#include <cstdlib>
#include <cmath>

extern __shared__ float sh[];

__global__ void mm(const float *a, const float *b, float *c, int n, int tw)
{
    // rows of the tiles are padded by one float
    float *sa = sh;
    float *sb = sh + tw * (tw + 1);
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * tw + ty, q = blockIdx.x * tw + tx;
    float s = 0;

    for (int p = 0; p < n; p += tw) {
        sa[ty * (tw + 1) + tx] = (r < n && p + tx < n) ? a[r * n + p + tx] : 0;
        sb[ty * (tw + 1) + tx] = (p + ty < n && q < n) ? b[(p + ty) * n + q] : 0;
        __syncthreads();
        for (int k = 0; k < tw; k++)
            s += sa[ty * (tw + 1) + k] * sb[k * (tw + 1) + tx];
        __syncthreads();
    }
    if (r < n && q < n) c[r * n + q] = s;
}

int main(int argc, char **argv)
{
    if (argc < 3) { fprintf(stderr, "usage: %s n tile\n", argv[0]); return 2; }
    int n = atoi(argv[1]), tw = atoi(argv[2]);
    if (n <= 0 || n > 8192 || tw < 1 || tw > 32) { fprintf(stderr, "bad arguments\n"); return 2; }

    size_t bytes = (size_t)n * n * sizeof(float);
    float *a, *b, *c;
    cudaMallocManaged(&a, bytes);
    cudaMallocManaged(&b, bytes);
    cudaMallocManaged(&c, bytes);
    for (size_t i = 0; i < (size_t)n * n; i++) { a[i] = drand48(); b[i] = drand48(); }

    dim3 grid((n - 1) / tw + 1, (n - 1) / tw + 1), block(tw, tw);
    size_t shmem = 2 * tw * (tw + 1) * sizeof(float);

    cudaEvent_t e0, e1;
    cudaEventCreate(&e0); cudaEventCreate(&e1);
    cudaEventRecord(e0);
    mm<<<grid, block, shmem>>>(a, b, c, n, tw);
    cudaEventRecord(e1);
    cudaEventSynchronize(e1);
    float ms; cudaEventElapsedTime(&ms, e0, e1);
    printf("n=%d tile=%d  %.3f ms  %.2f GFLOP/s\n", n, tw, ms, 2.0 * n * n * n / (ms * 1e6));

    // check 1000 random entries
    for (int t = 0; t < 1000; t++) {
        int i = rand() % n, j = rand() % n;
        double s = 0;
        for (int k = 0; k < n; k++) s += (double)a[(size_t)i * n + k] * b[(size_t)k * n + j];
        if (fabs(s - c[(size_t)i * n + j]) > 1e-4 * s + 1e-5) { printf("wrong at %d,%d\n", i, j); return 1; }
    }
    puts("ok");
    return 0;
}
