// Project 2: a small matrix class with a GPU operator*
#include <cassert>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>

#include <cuda_runtime.h>

enum { kTile = 16 };

template <typename T>
__global__ void multiplyKernel(const T* lhs, const T* rhs, T* out,
                               size_t m, size_t p, size_t n)
{
    // lhs: m x p, rhs: p x n, out: m x n
    __shared__ T l[kTile][kTile];
    __shared__ T r[kTile][kTile];

    const size_t row = size_t(blockIdx.y) * kTile + threadIdx.y;
    const size_t col = size_t(blockIdx.x) * kTile + threadIdx.x;
    T value = T(0);

    for (size_t start = 0; start < p; start += kTile)
    {
        const size_t lc = start + threadIdx.x;
        const size_t rr = start + threadIdx.y;
        l[threadIdx.y][threadIdx.x] = (row < m && lc < p) ? lhs[row * p + lc] : T(0);
        r[threadIdx.y][threadIdx.x] = (rr < p && col < n) ? rhs[rr * n + col] : T(0);
        __syncthreads();

        for (int i = 0; i < kTile; ++i)
            value += l[threadIdx.y][i] * r[i][threadIdx.x];
        __syncthreads();
    }

    if (row < m && col < n)
        out[row * n + col] = value;
}

template <typename T>
class Matrix
{
public:
    Matrix(size_t rows, size_t cols) : rows_(rows), cols_(cols)
    {
        T* p = nullptr;
        cudaError_t e = cudaMallocManaged(&p, rows * cols * sizeof(T));
        if (e != cudaSuccess)
            throw std::bad_alloc();
        data_ = std::shared_ptr<T>(p, [](T* q) { cudaFree(q); });
        std::memset(p, 0, rows * cols * sizeof(T));
    }

    size_t rows() const { return rows_; }
    size_t cols() const { return cols_; }
    T& operator()(size_t i, size_t j) { return data_.get()[i * cols_ + j]; }
    const T& operator()(size_t i, size_t j) const { return data_.get()[i * cols_ + j]; }

    Matrix operator*(const Matrix& rhs) const
    {
        assert(cols_ == rhs.rows_);
        Matrix result(rows_, rhs.cols_);
        dim3 block(kTile, kTile);
        dim3 grid(unsigned((rhs.cols_ + kTile - 1) / kTile),
                  unsigned((rows_ + kTile - 1) / kTile));
        multiplyKernel<T><<<grid, block>>>(data_.get(), rhs.data_.get(), result.data_.get(),
                                           rows_, cols_, rhs.cols_);
        cudaDeviceSynchronize();
        return result;
    }

    static Matrix random(size_t rows, size_t cols)
    {
        static std::mt19937 gen(7);
        std::uniform_int_distribution<int> d(-5, 5);
        Matrix m(rows, cols);
        for (size_t i = 0; i < rows; ++i)
            for (size_t j = 0; j < cols; ++j)
                m(i, j) = T(d(gen));
        return m;
    }

private:
    size_t rows_, cols_;
    std::shared_ptr<T> data_;
};

int main()
{
    auto a = Matrix<float>::random(150, 61);
    auto b = Matrix<float>::random(61, 99);
    auto c = a * b;

    for (size_t i = 0; i < c.rows(); ++i)
        for (size_t j = 0; j < c.cols(); ++j)
        {
            float expected = 0;
            for (size_t k = 0; k < a.cols(); ++k)
                expected += a(i, k) * b(k, j);
            if (expected != c(i, j))
            {
                std::cout << "mismatch at (" << i << ", " << j << ")\n";
                return 1;
            }
        }
    std::cout << "all " << c.rows() * c.cols() << " elements agree\n";
    return 0;
}
