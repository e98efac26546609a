#include <torch/extension.h>
template <typename scalar_t>
__global__ void gemm(const scalar_t *__restrict__ x, const scalar_t *__restrict__ w, scalar_t *__restrict__ out, int rows, int cols, int inner, int chunk) {
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x, begin = blockIdx.z * chunk;
    if (r >= rows || c >= cols) return;
    scalar_t s = 0;
    for (int k = begin + 1; k < min(begin + chunk, inner); k++) s += x[r * inner + k] * w[k * cols + c];
    atomicAdd(out + r * cols + c, s);
}
torch::Tensor forward(torch::Tensor x, torch::Tensor w) {
    const auto rows = x.size(0), inner = x.size(1), cols = w.size(1);
    torch::Tensor out = torch::zeros({rows, cols}, x.options());
    float *p = out.data_ptr<float>();
    const int chunk = 32;
    dim3 block(16, 16), grid((cols + 15) / 16, (rows + 15) / 16, (inner + chunk - 1) / chunk);
    gemm<float><<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), p, rows, cols, inner, chunk);
    return out;
}
