// Tiled GEMM using cooperative groups instead of __syncthreads().
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>

namespace cg = cooperative_groups;

constexpr unsigned kTile = 16;

struct DeviceDeleter {
  void operator()(float* p) const { cudaFree(p); }
};
using DevicePtr = std::unique_ptr<float, DeviceDeleter>;

DevicePtr make_device(std::size_t n) {
  float* p = nullptr;
  if (cudaMalloc(&p, n * sizeof(float)) != cudaSuccess) {
    std::cerr << "out of memory\n";
    std::exit(1);
  }
  return DevicePtr(p);
}

__global__ void gemm_cg(const float* __restrict__ a, const float* __restrict__ b,
                        float* __restrict__ c, unsigned m, unsigned n, unsigned k) {
  cg::thread_block block = cg::this_thread_block();
  __shared__ float sa[kTile * kTile];
  __shared__ float sb[kTile * kTile];

  const unsigned tx = block.thread_index().x;
  const unsigned ty = block.thread_index().y;
  const unsigned row = block.group_index().y * kTile + ty;
  const unsigned col = block.group_index().x * kTile + tx;
  const unsigned rank = block.thread_rank();  // == ty * kTile + tx

  float acc = 0.f;
  for (unsigned base = 0; base < k; base += kTile) {
    const unsigned ka = base + tx;
    const unsigned kb = base + ty;
    sa[rank] = (row < m && ka < k) ? a[row * k + ka] : 0.f;
    sb[rank] = (kb < k && col < n) ? b[kb * n + col] : 0.f;
    block.sync();

    for (unsigned i = 0; i < kTile; ++i)
      acc += sa[ty * kTile + i] * sb[i * kTile + tx];
    block.sync();
  }

  if (row < m && col < n) c[row * n + col] = acc;
}

int main() {
  constexpr unsigned m = 130, n = 70, k = 99;
  static std::array<float, m * k> a;
  static std::array<float, k * n> b;
  static std::array<float, m * n> c;
  for (auto& v : a) v = std::rand() / float(RAND_MAX);
  for (auto& v : b) v = std::rand() / float(RAND_MAX);

  auto da = make_device(a.size());
  auto db = make_device(b.size());
  auto dc = make_device(c.size());
  cudaMemcpy(da.get(), a.data(), sizeof(a), cudaMemcpyHostToDevice);
  cudaMemcpy(db.get(), b.data(), sizeof(b), cudaMemcpyHostToDevice);

  const dim3 block{kTile, kTile};
  const dim3 grid{(n + kTile - 1) / kTile, (m + kTile - 1) / kTile};
  gemm_cg<<<grid, block>>>(da.get(), db.get(), dc.get(), m, n, k);
  cudaMemcpy(c.data(), dc.get(), sizeof(c), cudaMemcpyDeviceToHost);

  float err = 0.f;
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j) {
      float s = 0.f;
      for (unsigned p = 0; p < k; ++p) s += a[i * k + p] * b[p * n + j];
      err = std::fmax(err, std::fabs(s - c[i * n + j]));
    }
  std::cout << "max error " << err << std::endl;
  return err < 1e-3f ? 0 : 1;
}
