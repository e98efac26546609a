#include <cuda_runtime.h>

__global__ void product(const float *left, const float *right, float *out, int height, int width, int depth) {
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height || x >= width) return;
    float total = 0.0f;
    for (int i = 0; i < depth; ++i) total += left[y * depth + i] * right[i * width + x];
    out[y * width + x] = total;
}

void multiply(const float *left, const float *right, float *out, int samples, int features, int classes) {
    float *on_gpu_left, *on_gpu_right, *on_gpu_out;
    cudaMalloc((void **)&on_gpu_left, sizeof(float) * samples * features);
    cudaMalloc((void **)&on_gpu_right, sizeof(float) * features * classes);
    cudaMalloc((void **)&on_gpu_out, sizeof(float) * samples * classes);
    cudaMemcpy(on_gpu_left, left, sizeof(float) * samples * features, cudaMemcpyHostToDevice);
    cudaMemcpy(on_gpu_right, right, sizeof(float) * features * classes, cudaMemcpyHostToDevice);
    dim3 block(32, 4), grid((classes + 31) / 32, (samples + 3) / 4);
    product<<<grid, block>>>(on_gpu_left, on_gpu_right, on_gpu_out, samples, features, classes);
    cudaMemcpy(out, on_gpu_out, sizeof(float) * samples * classes, cudaMemcpyDeviceToHost);
}
