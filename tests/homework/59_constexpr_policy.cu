// Selects a bounds-checked or an unchecked kernel at compile time.
#include <cuda_runtime.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

struct Shape
{
    int rows;
    int cols;
    __host__ __device__ constexpr int size() const { return rows * cols; }
};

template <typename T>
struct View
{
    T*    data;
    Shape shape;
    __device__ T& operator()(int r, int c) const { return data[r * shape.cols + c]; }
};

template <int Bx, int By, bool Checked>
__global__ void product(View<float> out, View<const float> lhs, View<const float> rhs)
{
    // Bx columns and By rows of threads; the K step is Bx, By must divide Bx
    static_assert(Bx % By == 0);
    __shared__ float l[By][Bx];
    __shared__ float r[Bx][Bx];

    auto const tx = static_cast<int>(threadIdx.x);
    auto const ty = static_cast<int>(threadIdx.y);
    auto const row = static_cast<int>(blockIdx.y) * By + ty;
    auto const col = static_cast<int>(blockIdx.x) * Bx + tx;
    auto const depth = lhs.shape.cols;

    auto fetch = [](View<const float> v, int i, int j) {
        if constexpr (Checked)
        {
            return (i < v.shape.rows && j < v.shape.cols) ? v(i, j) : 0.f;
        }
        else
        {
            return v(i, j);
        }
    };

    auto sum = 0.f;
    for (int k0 = 0; k0 < depth; k0 += Bx)
    {
        l[ty][tx] = fetch(lhs, row, k0 + tx);
        for (int y = ty; y < Bx; y += By)
            r[y][tx] = fetch(rhs, k0 + y, col);
        __syncthreads();

        for (int k = 0; k < Bx; ++k)
            sum += l[ty][k] * r[k][tx];
        __syncthreads();
    }

    if constexpr (Checked)
    {
        if (row >= out.shape.rows || col >= out.shape.cols)
            return;
    }
    out(row, col) = sum;
}

void run(View<float> out, View<const float> lhs, View<const float> rhs)
{
    constexpr int bx = 32, by = 8;
    auto const fits = out.shape.rows % by == 0 && out.shape.cols % bx == 0 && lhs.shape.cols % bx == 0;
    dim3 const block(bx, by);
    dim3 const grid((out.shape.cols + bx - 1) / bx, (out.shape.rows + by - 1) / by);
    if (fits)
        product<bx, by, false><<<grid, block>>>(out, lhs, rhs);
    else
        product<bx, by, true><<<grid, block>>>(out, lhs, rhs);
}

int test(Shape sa, Shape sb)
{
    Shape const sc{sa.rows, sb.cols};
    std::vector<float> a(sa.size()), b(sb.size()), c(sc.size());
    for (auto& x : a) x = static_cast<float>(std::rand() % 9 - 4);
    for (auto& x : b) x = static_cast<float>(std::rand() % 9 - 4);

    float *da{}, *db{}, *dc{};
    cudaMalloc(&da, a.size() * sizeof(float));
    cudaMalloc(&db, b.size() * sizeof(float));
    cudaMalloc(&dc, c.size() * sizeof(float));
    cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
    run({dc, sc}, {da, sa}, {db, sb});
    cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);

    int wrong = 0;
    for (int i = 0; i < sc.rows; ++i)
        for (int j = 0; j < sc.cols; ++j)
        {
            float s = 0;
            for (int k = 0; k < sa.cols; ++k)
                s += a[i * sa.cols + k] * b[k * sb.cols + j];
            wrong += (s != c[i * sc.cols + j]);
        }
    return wrong;
}

int main()
{
    auto const w1 = test({128, 96}, {96, 160});
    auto const w2 = test({77, 50}, {50, 101});
    std::cout << "wrong (multiples): " << w1 << ", wrong (odd sizes): " << w2 << '\n';
    return w1 + w2;
}
