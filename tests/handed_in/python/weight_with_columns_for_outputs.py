"""A layer of PyTorch whose weight has a column for each output, and whose kernel reads rows."""

from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#define T 16
__global__ void layer(const float *x, const float *weight, float *y, int batch, int in, int out) {
    __shared__ float a[T][T], b[T][T + 1];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < in; k += T) {
        int along = k + threadIdx.x, other = blockIdx.x * T + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < batch && along < in ? x[row * in + along] : 0;
        b[threadIdx.y][threadIdx.x] = other < out && along < in ? weight[other * in + along] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++) sum += a[threadIdx.y][i] * b[threadIdx.x][i];
        __syncthreads();
    }
    if (row < batch && col < out) y[row * out + col] = sum;
}
torch::Tensor linear(torch::Tensor x, torch::Tensor weight) {
    const int batch = x.size(0), in = x.size(1), out = weight.size(1);
    auto y = torch::empty({batch, out}, x.options());
    dim3 grid((out + T - 1) / T, (batch + T - 1) / T);
    layer<<<grid, dim3(T, T)>>>(x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), batch, in, out);
    return y;
}
"""
extension = load_inline("linear", ["torch::Tensor linear(torch::Tensor, torch::Tensor);"], [SOURCE], ["linear"])
