// matmul.cu -- C++20, RAII, templated on the element type and the tile
// nvcc -std=c++20 -O3 matmul.cu
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <iostream>
#include <random>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

namespace gpu {

inline void check(cudaError_t status,
                  std::source_location loc = std::source_location::current()) {
    if (status != cudaSuccess) {
        throw std::runtime_error(std::string{loc.file_name()} + ":" +
                                 std::to_string(loc.line()) + ": " +
                                 cudaGetErrorString(status));
    }
}

template <typename T>
class Buffer {
public:
    explicit Buffer(std::size_t count) : count_{count} {
        check(cudaMalloc(reinterpret_cast<void**>(&ptr_), count * sizeof(T)));
    }
    explicit Buffer(const std::vector<T>& host) : Buffer(host.size()) {
        check(cudaMemcpy(ptr_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& o) noexcept
        : ptr_{std::exchange(o.ptr_, nullptr)}, count_{std::exchange(o.count_, 0)} {}
    ~Buffer() { cudaFree(ptr_); }

    [[nodiscard]] T* get() noexcept { return ptr_; }
    [[nodiscard]] const T* get() const noexcept { return ptr_; }
    [[nodiscard]] std::vector<T> download() const {
        std::vector<T> host(count_);
        check(cudaMemcpy(host.data(), ptr_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }

private:
    T* ptr_ = nullptr;
    std::size_t count_ = 0;
};

template <typename T, int Tile>
__global__ void matmul_kernel(const T* __restrict__ a, const T* __restrict__ b,
                              T* __restrict__ c, int rows, int inner, int cols) {
    __shared__ T tile_a[Tile][Tile];
    __shared__ T tile_b[Tile][Tile + 1];

    const auto tx = threadIdx.x;
    const auto ty = threadIdx.y;
    const int row = blockIdx.y * Tile + ty;
    const int col = blockIdx.x * Tile + tx;

    T acc{};
    for (int base = 0; base < inner; base += Tile) {
        const int ka = base + static_cast<int>(tx);
        const int kb = base + static_cast<int>(ty);
        tile_a[ty][tx] = (row < rows && ka < inner) ? a[row * inner + ka] : T{};
        tile_b[ty][tx] = (kb < inner && col < cols) ? b[kb * cols + col] : T{};
        __syncthreads();
#pragma unroll
        for (int k = 0; k < Tile; ++k) acc += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    if (row < rows && col < cols) c[row * cols + col] = acc;
}

template <std::floating_point T, int Tile = 32>
void matmul(const Buffer<T>& a, const Buffer<T>& b, Buffer<T>& c,
            int rows, int inner, int cols) {
    constexpr auto div_up = [](int x, int y) constexpr { return (x + y - 1) / y; };
    const dim3 block{Tile, Tile};
    const dim3 grid{static_cast<unsigned>(div_up(cols, Tile)),
                    static_cast<unsigned>(div_up(rows, Tile))};
    matmul_kernel<T, Tile><<<grid, block>>>(a.get(), b.get(), c.get(), rows, inner, cols);
    check(cudaGetLastError());
    check(cudaDeviceSynchronize());
}

}  // namespace gpu

int main() try {
    constexpr int rows = 333, inner = 217, cols = 129;
    std::mt19937 gen{42};
    std::uniform_real_distribution<float> dist{-1.0f, 1.0f};
    auto random_matrix = [&](std::size_t n) {
        std::vector<float> v(n);
        std::generate(v.begin(), v.end(), [&] { return dist(gen); });
        return v;
    };
    const auto a = random_matrix(rows * inner);
    const auto b = random_matrix(inner * cols);

    const gpu::Buffer<float> da{a}, db{b};
    gpu::Buffer<float> dc(rows * cols);
    gpu::matmul<float, 16>(da, db, dc, rows, inner, cols);
    const auto c = dc.download();

    double worst = 0;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j) {
            double ref = 0;
            for (int k = 0; k < inner; ++k) ref += double(a[i * inner + k]) * b[k * cols + j];
            worst = std::max(worst, std::abs(ref - c[i * cols + j]));
        }
    std::cout << "max abs error " << worst << '\n';
    return worst < 1e-3 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return EXIT_FAILURE;
}
