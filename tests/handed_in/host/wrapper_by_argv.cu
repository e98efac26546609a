// exercise 4: template <int TS, int WPT>, TS chosen on the command line
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Matrix { int width, height; float *elements; };

template <int TS, int WPT>
__global__ void gemm(const Matrix A, const Matrix B, Matrix C)
{
    constexpr int RTS = TS / WPT;                 // threads of a tile in x
    __shared__ float sA[TS][TS], sB[TS][TS];
    int y = blockIdx.y * TS + threadIdx.y;
    int x = blockIdx.x * TS + threadIdx.x;        // first column, others + w * RTS
    float acc[WPT] = {};

    int steps = (A.width + TS - 1) / TS;
    for (int t = 0; t < steps; t++) {
#pragma unroll
        for (int w = 0; w < WPT; w++) {
            int cx = threadIdx.x + w * RTS;
            int ka = t * TS + cx, kb = t * TS + threadIdx.y;
            sA[threadIdx.y][cx] = (y < A.height && ka < A.width) ? A.elements[y * A.width + ka] : 0.f;
            sB[threadIdx.y][cx] = (kb < B.height && x + w * RTS < B.width) ? B.elements[kb * B.width + x + w * RTS] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TS; k++) {
            float a = sA[threadIdx.y][k];
#pragma unroll
            for (int w = 0; w < WPT; w++) acc[w] += a * sB[k][threadIdx.x + w * RTS];
        }
        __syncthreads();
    }
    if (y < C.height)
        for (int w = 0; w < WPT; w++)
            if (x + w * RTS < C.width) C.elements[y * C.width + x + w * RTS] = acc[w];
}

template <int TS, int WPT>
void launch(const Matrix &A, const Matrix &B, const Matrix &C)
{
    dim3 block(TS / WPT, TS);
    dim3 grid((C.width + TS - 1) / TS, (C.height + TS - 1) / TS);
    gemm<TS, WPT><<<grid, block>>>(A, B, C);
}

Matrix device(int h, int w)
{
    Matrix m;
    m.height = h;
    m.width = w;
    cudaMalloc((void **)&m.elements, (size_t)h * w * sizeof(float));
    return m;
}

int main(int argc, char *argv[])
{
    int n = 1000, ts = 16;
    if (argc > 1) ts = atoi(argv[1]);
    if (argc > 2) n = atoi(argv[2]);
    Matrix A = device(n, n), B = device(n, n), C = device(n, n);
    std::vector<float> h(n * n, 1.5f);
    cudaMemcpy(A.elements, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(B.elements, h.data(), h.size() * sizeof(float), cudaMemcpyHostToDevice);
    switch (ts) {
    case 8:  launch<8, 4>(A, B, C); break;
    case 16: launch<16, 4>(A, B, C); break;
    case 32: launch<32, 4>(A, B, C); break;
    default: fprintf(stderr, "TS must be 8, 16 or 32\n"); return 1;
    }
    cudaDeviceSynchronize();
    cudaMemcpy(h.data(), C.elements, h.size() * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", h[0]);
}
