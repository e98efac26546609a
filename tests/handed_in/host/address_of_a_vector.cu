// mm1.cu - Matrix multiplication, naive version
// nvcc -O2 mm1.cu -o mm1
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CHECK(call)                                                        \
    do {                                                                   \
        cudaError_t err_ = (call);                                         \
        if (err_ != cudaSuccess) {                                         \
            fprintf(stderr, "CUDA error %s at %s:%d\n",                    \
                    cudaGetErrorString(err_), __FILE__, __LINE__);         \
            exit(EXIT_FAILURE);                                            \
        }                                                                  \
    } while (0)

// one thread computes one element of c
__global__ void matrixMul(float* a, float* b, float* c, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < n && col < n) {
        float tmp = 0.0f;
        for (int k = 0; k < n; k++) {
            tmp += a[row * n + k] * b[k * n + col];
        }
        c[row * n + col] = tmp;
    }
}

void verify_result(std::vector<float>& a, std::vector<float>& b, std::vector<float>& c, int n)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            float tmp = 0;
            for (int k = 0; k < n; k++) tmp += a[i * n + k] * b[k * n + j];
            if (fabs(tmp - c[i * n + j]) > 1e-3 * fabs(tmp)) {
                printf("mismatch at (%d, %d): %f vs %f\n", i, j, tmp, c[i * n + j]);
                exit(1);
            }
        }
    }
}

int main(int argc, char** argv)
{
    int n = 1000;
    if (argc > 1) n = atoi(argv[1]);
    size_t bytes = n * n * sizeof(float);

    std::vector<float> h_a(n * n);
    std::vector<float> h_b(n * n);
    std::vector<float> h_c(n * n);

    std::generate(h_a.begin(), h_a.end(), []() { return rand() % 100; });
    std::generate(h_b.begin(), h_b.end(), []() { return rand() % 100; });

    float *d_a, *d_b, *d_c;
    CHECK(cudaMalloc(&d_a, bytes));
    CHECK(cudaMalloc(&d_b, bytes));
    CHECK(cudaMalloc(&d_c, bytes));

    CHECK(cudaMemcpy(d_a, &h_a, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, h_b.data(), bytes, cudaMemcpyHostToDevice));

    int THREADS = 16;
    int BLOCKS = (n + THREADS - 1) / THREADS;
    dim3 threads(THREADS, THREADS);
    dim3 blocks(BLOCKS, BLOCKS);

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    matrixMul<<<blocks, threads>>>(d_a, d_b, d_c, n);
    CHECK(cudaGetLastError());
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);

    CHECK(cudaMemcpy(h_c.data(), d_c, bytes, cudaMemcpyDeviceToHost));
    verify_result(h_a, h_b, h_c, n);
    printf("n = %d: %.3f ms, %.2f GFLOP/s\n", n, ms, 2.0 * n * n * n / ms / 1e6);

    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
    printf("COMPLETED SUCCESSFULLY\n");
    return 0;
}
