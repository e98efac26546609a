#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct Matrix {
    int width, height;
    float *elements;
};

template <int TS, int WPT>
__global__ void gemm(const Matrix A, const Matrix B, Matrix C)
{
    constexpr int RTS = TS / WPT;
    __shared__ float As[TS][TS];
    __shared__ float Bs[TS][TS];

    const int tx = threadIdx.x, ty = threadIdx.y;    // block: RTS x TS threads
    const int row = blockIdx.y * TS + ty;
    const int col0 = blockIdx.x * TS + tx;

    float acc[WPT] = {};

    for (int k0 = 0; k0 < A.width; k0 += TS) {
#pragma unroll
        for (int w = 0; w < WPT; ++w) {
            const int c = tx + w * RTS;
            As[ty][c] = (row < A.height && k0 + c < A.width) ? A.elements[row * A.width + k0 + c] : 0.f;
            Bs[ty][c] = (k0 + ty < B.height && blockIdx.x * TS + c < B.width)
                            ? B.elements[(k0 + ty) * B.width + blockIdx.x * TS + c] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TS; ++k) {
            const float a = As[ty][k];
#pragma unroll
            for (int w = 0; w < WPT; ++w)
                acc[w] += a * Bs[k][tx + w * RTS];
        }
        __syncthreads();
    }
#pragma unroll
    for (int w = 0; w < WPT; ++w) {
        const int col = col0 + w * RTS;
        if (row < C.height && col < C.width) C.elements[row * C.width + col] = acc[w];
    }
}

template <int TS, int WPT>
void run(Matrix A, Matrix B, Matrix C)
{
    dim3 threads(TS / WPT, TS);
    dim3 blocks((C.width + TS - 1) / TS, (C.height + TS - 1) / TS);
    gemm<TS, WPT><<<blocks, threads>>>(A, B, C);
}

static Matrix onDevice(int h, int w)
{
    Matrix d;
    d.height = h;
    d.width = w;
    cudaMalloc((void **)&d.elements, (size_t)h * w * sizeof(float));
    return d;
}

int main(int argc, char **argv)
{
    const int ts = 32;
    const int m = 1000, n = 1000, k = 1000;
    Matrix A = onDevice(m, k), B = onDevice(k, n), C = onDevice(m, n);
    switch (ts) {
        case 8:  run<8, 2>(A, B, C);  break;
        case 16: run<16, 4>(A, B, C); break;
        case 32: run<32, 4>(A, B, C); break;
        default: fprintf(stderr, "TS must be 8, 16 or 32\n"); return 1;
    }
    cudaDeviceSynchronize();
    return 0;
}
