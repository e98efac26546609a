#include <cuda_runtime.h>

__global__ void apply(const float *weights, const float *inputs, float *results,
                      int batch, int features, int units) {
    int unit = blockIdx.x * blockDim.x + threadIdx.x, sample = blockIdx.y * blockDim.y + threadIdx.y;
    if (sample >= batch || unit >= units) return;
    float sum = 0;
    for (int i = 0; i < features; i++) sum += inputs[sample * features + i] * weights[i * units + unit];
    results[sample * units + unit] = sum;
}

int main() {
    int batch = 90, features = 50, units = 130;
    float *weights, *inputs, *results;
    cudaMalloc(&weights, features * units * sizeof(float));
    cudaMalloc(&inputs, batch * features * sizeof(float));
    cudaMalloc(&results, batch * units * sizeof(float));
    dim3 block(16, 16), grid((units + 15) / 16, (batch + 15) / 16);
    apply<<<grid, block>>>(weights, inputs, results, batch, features, units);
    cudaDeviceSynchronize();
}
