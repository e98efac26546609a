#include <vector>
#include <iostream>
__global__ void mm_kernel(const float *a, const float *b, float *c, int m, int n, int k) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || j >= n) return;
  float s = 0;
  for (int p = 0; p < k; p++) s += a[i * k + p] * b[p * n + j];
  c[i * n + j] = s;
}
template <typename T> class Multiplier {
 private:
  T *a_, *b_, *c_;
  int rows_, inner_, cols_;
 public:
  Multiplier(int rows, int inner, int cols) : rows_(rows), inner_(inner), cols_(cols) {
    cudaMalloc((void **)&a_, rows_ * inner_ * sizeof(T));
    cudaMalloc((void **)&b_, inner_ * cols_ * sizeof(T));
    cudaMalloc((void **)&c_, rows_ * cols_ * sizeof(T));
  }
  ~Multiplier() { cudaFree(a_); cudaFree(b_); cudaFree(c_); }
  std::vector<T> run(const std::vector<T> &a, const std::vector<T> &b) {
    cudaMemcpy(a_, a.data(), a.size() * sizeof(T), cudaMemcpyHostToDevice);
    cudaMemcpy(b_, b.data(), b.size() * sizeof(T), cudaMemcpyHostToDevice);
    dim3 block(16, 16), grid((this->cols_ + 15) / 16, (this->rows_ + 15) / 16);
    mm_kernel<<<grid, block>>>(a_, b_, c_, this->rows_, this->cols_, this->inner_);
    std::vector<T> out(rows_ * cols_);
    cudaMemcpy(out.data(), c_, out.size() * sizeof(T), cudaMemcpyDeviceToHost);
    return out;
  }
};
