#include <cuda_runtime.h>
#define W 16

__global__ void tiles(const float *x, const float *y, float *z, int h, int w, int d) {
    __shared__ float xs[W][W], ys[W][W];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * W + ty, c = blockIdx.x * W + tx;
    float s = 0.0f;
    for (int p = 0; p < (d + W - 1) / W; ++p) {
        int a = p * W + tx, b = p * W + ty;
        bool in = r < h;
        xs[ty][tx] = in ? x[r * d + a] : 0;
        ys[ty][tx] = b < d && c < w ? y[b * w + c] : 0;
        __syncthreads();
        for (int k = 0; k < W; ++k) s += xs[ty][k] * ys[k][tx];
        __syncthreads();
    }
    if (r < h && c < w) z[r * w + c] = s;
}

int main() {
    int h = 70, w = 45, d = 100;
    float *x, *y, *z;
    cudaMalloc(&x, h * d * sizeof(float));
    cudaMalloc(&y, d * w * sizeof(float));
    cudaMalloc(&z, h * w * sizeof(float));
    tiles<<<dim3((w + W - 1) / W, (h + W - 1) / W), dim3(W, W)>>>(x, y, z, h, w, d);
    cudaDeviceSynchronize();
}
