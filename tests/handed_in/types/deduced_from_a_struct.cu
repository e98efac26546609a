// The type of the matrices is deduced from the argument of a function template in a namespace.
#include <vector>
#include <cuda_runtime.h>
namespace la {
template <typename T> struct Mat { T* p; int rows, cols; };
template <typename T, int B> __global__ void mul(Mat<T> a, Mat<T> b, Mat<T> c) {
  __shared__ T x[B][B + 1], y[B][B + 1];
  int i = blockIdx.y * B + threadIdx.y, j = blockIdx.x * B + threadIdx.x;
  T s{};
  for (int t = 0; t < (a.cols + B - 1) / B; ++t) {
    int ka = t * B + threadIdx.x, kb = t * B + threadIdx.y;
    x[threadIdx.y][threadIdx.x] = i < a.rows && ka < a.cols ? a.p[i * a.cols + ka] : T(0);
    y[threadIdx.y][threadIdx.x] = kb < b.rows && j < b.cols ? b.p[kb * b.cols + j] : T(0);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < B; ++k) s += x[threadIdx.y][k] * y[k][threadIdx.x];
    __syncthreads();
  }
  if (i < c.rows && j < c.cols) c.p[i * c.cols + j] = s;
}
template <typename T> void multiply(const Mat<T>& a, const Mat<T>& b, Mat<T>& c) {
  constexpr int B = 16;
  mul<T, B><<<dim3((c.cols + B - 1) / B, (c.rows + B - 1) / B), dim3(B, B)>>>(a, b, c);
}
}
int main() {
  la::Mat<float> a{nullptr, 64, 48}, b{nullptr, 48, 80}, c{nullptr, 64, 80};
  cudaMalloc(&a.p, 64 * 48 * sizeof(float)); cudaMalloc(&b.p, 48 * 80 * sizeof(float)); cudaMalloc(&c.p, 64 * 80 * sizeof(float));
  la::multiply(a, b, c);
}
