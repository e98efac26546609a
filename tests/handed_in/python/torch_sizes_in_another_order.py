"""The function takes the sizes from its tensors, and passes two of them in the other order."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
__global__ void product(const float *a, const float *b, float *c, int rows, int cols, int inner) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;
    float sum = 0.0f;
    for (int i = 0; i < inner; ++i) sum += a[row * inner + i] * b[i * cols + col];
    c[row * cols + col] = sum;
}

torch::Tensor multiply(torch::Tensor a, torch::Tensor b) {
    int rows = a.size(0), inner = a.size(1), cols = b.size(1);
    auto c = torch::empty({rows, cols}, a.options());
    dim3 grid((cols + 15) / 16, (rows + 15) / 16);
    product<<<grid, dim3(16, 16)>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), rows, inner, cols);
    return c;
}
"""

module = load_inline("product", "torch::Tensor multiply(torch::Tensor a, torch::Tensor b);", SOURCE, functions=["multiply"])
a, b = torch.randn(70, 50, device="cuda"), torch.randn(50, 90, device="cuda")
print(torch.allclose(module.multiply(a, b), a @ b, atol=1e-4))
