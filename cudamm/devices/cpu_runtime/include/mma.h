// For kernels with #include <mma.h>: nvcuda::wmma, tensor cores by whole matrices.
//
// A kernel declares fragments, and all 32 lanes of a warp load, multiply and store them together:
//
//     fragment<matrix_a, 16, 16, 16, half, row_major> a;   // a lane's share of a 16 x 16 matrix: a.x[i]
//     load_matrix_sync(a, pointer, leading dimension);     // each lane reads its elements
//     mma_sync(d, a, b, c);                                // d = a b + c
//     store_matrix_sync(pointer, d, leading dimension, mem_row_major);
//
// Which lane holds which element is not specified. Here it is as for the PTX instruction mma (tensor_cores.h).
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "tensor_cores.h"

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

}  // namespace wmma
}  // namespace nvcuda

namespace cudamm {

namespace matrices = nvcuda::wmma;

// What the elements of a fragment are, and the type in which a kernel reads and writes them.
template <class T> struct Elements;
#define CUDAMM_ELEMENTS(T, stored, kind) \
    template <> struct Elements<T> { typedef stored type; static constexpr Number number = Number::kind; };
CUDAMM_ELEMENTS(__half, __half, half)
CUDAMM_ELEMENTS(__nv_bfloat16, __nv_bfloat16, bfloat16)
CUDAMM_ELEMENTS(matrices::precision::tf32, float, tf32)
CUDAMM_ELEMENTS(float, float, float32)
CUDAMM_ELEMENTS(double, double, float64)
CUDAMM_ELEMENTS(signed char, signed char, int8)
CUDAMM_ELEMENTS(unsigned char, unsigned char, uint8)
CUDAMM_ELEMENTS(int, int, int32)
#undef CUDAMM_ELEMENTS

// Returns whether wmma has factors of that type in that shape.
constexpr bool has_matrices(Number factor, unsigned m, unsigned n, unsigned k) {
    if (factor == Number::tf32) return m == 16 && n == 16 && k == 8;
    if (factor == Number::float64) return m == 8 && n == 8 && k == 4;
    return bytes_of(factor) <= 2 && k == 16 &&
           ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}
constexpr bool has_sums(Number sum, unsigned m, unsigned n, unsigned k) {
    return sum == Number::float64 ? has_matrices(sum, m, n, k)
                                  : has_matrices(Number::half, m, n, k) ||
                                        (sum == Number::float32 && has_matrices(Number::tf32, m, n, k));
}

template <class Use, unsigned M, unsigned N, unsigned K>
struct FragmentOf;
template <unsigned M, unsigned N, unsigned K>
struct FragmentOf<matrices::matrix_a, M, N, K> {
    static constexpr bool across_is_row = true;
    static constexpr bool exists(Number number) { return has_matrices(number, M, N, K); }
    static constexpr FragmentLayout layout(Number number) { return layout_of_a(number, M, K); }
};
template <unsigned M, unsigned N, unsigned K>
struct FragmentOf<matrices::matrix_b, M, N, K> {
    static constexpr bool across_is_row = false;
    static constexpr bool exists(Number number) { return has_matrices(number, M, N, K); }
    static constexpr FragmentLayout layout(Number number) { return layout_of_b(number, K, N); }
};
template <unsigned M, unsigned N, unsigned K>
struct FragmentOf<matrices::accumulator, M, N, K> {
    static constexpr bool across_is_row = true;
    static constexpr bool exists(Number number) { return has_sums(number, M, N, K); }
    static constexpr FragmentLayout layout(Number) { return layout_of_sums(M, N); }
};

// Some elements that one load or store moves.
template <class T, unsigned COUNT>
struct alignas(COUNT * sizeof(T)) Together { T x[COUNT]; };

// Waits for the warp, so that the lanes read and write together, as they do on a GPU.
inline void meet_for_matrix(const char* operation, int line, const char* file) {
    compute_together((void*)operation, nullptr, operation, line, file);
}

}  // namespace cudamm

namespace nvcuda {
namespace wmma {

template <typename Use, int M, int N, int K, typename T, typename Layout = void>
class fragment {
    typedef cudamm::FragmentOf<Use, M, N, K> Of;
    typedef cudamm::Elements<T> Elements;
    static_assert(Of::exists(Elements::number),
                  "tensor cores have no fragment of this shape and type: __half, __nv_bfloat16, signed char and "
                  "unsigned char have 16 x 16 x 16, 32 x 8 x 16 and 8 x 32 x 16, precision::tf32 has 16 x 16 x 8, "
                  "double has 8 x 8 x 4");

public:
    typedef typename Elements::type element_type;
    typedef element_type storage_element_type;
    static constexpr cudamm::Number cudamm_number = Elements::number;
    static constexpr cudamm::FragmentLayout cudamm_layout = Of::layout(Elements::number);
    static constexpr bool cudamm_across_is_row = Of::across_is_row;
    static constexpr bool cudamm_is_factor_of_halves =
        !std::is_same_v<Use, accumulator> && Elements::number == cudamm::Number::half;
    // Of factors of type __half there are 16 elements for every shape. Each is there several times.
    static constexpr int num_elements = cudamm_is_factor_of_halves ? 16 : (int)cudamm_layout.elements();
    static constexpr int num_storage_elements = num_elements;
    element_type x[num_elements];
};

template <typename Use, int M, int N, int K, typename T, typename Layout>
CUDAMM_IN_PLACE void fill_fragment(fragment<Use, M, N, K, T, Layout>& f,
                                   const typename fragment<Use, M, N, K, T, Layout>::element_type& value) {
    const typename fragment<Use, M, N, K, T, Layout>::element_type copy = value;
    for (int i = 0; i < f.num_elements; ++i) f.x[i] = copy;
}

}  // namespace wmma
}  // namespace nvcuda

namespace cudamm {

// Calls `move` for the elements of a lane that lie together both in the fragment and in memory: with the number of the
// first, its distance from the matrix's start in memory, and their number.
template <unsigned TOGETHER, class Fragment, class Move>
CUDAMM_IN_PLACE void for_each_move(const Fragment& f, unsigned leading, bool row_major, Move move) {
    const unsigned lane = cudamm::lane();
    for (unsigned i = 0; i < f.cudamm_layout.elements(); i += TOGETHER) {
        const FragmentPlace at = f.cudamm_layout.place(lane, i);
        move(i, row_major == f.cudamm_across_is_row ? (size_t)at.across * leading + at.along
                                                    : (size_t)at.along * leading + at.across);
    }
}

template <class Fragment, class T>
CUDAMM_IN_PLACE void load_fragment(Fragment& f, const T* p, unsigned leading, bool row_major, int line,
                                   const char* file) {
    constexpr unsigned together = Fragment::cudamm_layout.together;
    check_matrix(p, leading, sizeof(T), "load_matrix_sync", line, file);
    meet_for_matrix("load_matrix_sync", line, file);
    if (row_major == f.cudamm_across_is_row) {
        for_each_move<together>(f, leading, row_major, [&](unsigned i, size_t at) CUDAMM_INLINED {
            const Together<T, together> loaded = *(const Together<T, together>*)(p + at);
            for (unsigned j = 0; j < together; ++j) f.x[i + j] = loaded.x[j];
        });
    } else {
        for_each_move<1>(f, leading, row_major, [&](unsigned i, size_t at) CUDAMM_INLINED { f.x[i] = p[at]; });
    }
    for (int i = f.cudamm_layout.elements(); i < f.num_elements; ++i) f.x[i] = f.x[i - (int)f.cudamm_layout.elements()];
    meet_for_matrix("load_matrix_sync", line, file);
}

template <class Fragment, class T>
CUDAMM_IN_PLACE void store_fragment(T* p, const Fragment& f, unsigned leading, bool row_major, int line,
                                    const char* file) {
    constexpr unsigned together = Fragment::cudamm_layout.together;
    check_matrix(p, leading, sizeof(T), "store_matrix_sync", line, file);
    meet_for_matrix("store_matrix_sync", line, file);
    if (row_major) {
        for_each_move<together>(f, leading, row_major, [&](unsigned i, size_t at) CUDAMM_INLINED {
            Together<T, together> stored;
            for (unsigned j = 0; j < together; ++j) stored.x[j] = f.x[i + j];
            *(Together<T, together>*)(p + at) = stored;
        });
    } else {
        for_each_move<1>(f, leading, row_major, [&](unsigned i, size_t at) CUDAMM_INLINED { p[at] = f.x[i]; });
    }
    meet_for_matrix("store_matrix_sync", line, file);
}

}  // namespace cudamm

namespace nvcuda {
namespace wmma {

template <typename Use, int M, int N, int K, typename T, typename Layout>
CUDAMM_IN_PLACE void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f,
                                      const typename fragment<Use, M, N, K, T, Layout>::element_type* p,
                                      unsigned leading, CUDAMM_HERE) {
    static_assert(!std::is_void_v<Layout>, "an accumulator is loaded with mem_row_major or mem_col_major");
    cudamm::load_fragment(f, p, leading, std::is_same_v<Layout, row_major>, line, file);
}
template <int M, int N, int K, typename T>
CUDAMM_IN_PLACE void load_matrix_sync(fragment<accumulator, M, N, K, T>& f,
                                      const typename fragment<accumulator, M, N, K, T>::element_type* p,
                                      unsigned leading, layout_t layout, CUDAMM_HERE) {
    cudamm::load_fragment(f, p, leading, layout == mem_row_major, line, file);
}
template <int M, int N, int K, typename T>
CUDAMM_IN_PLACE void store_matrix_sync(typename fragment<accumulator, M, N, K, T>::element_type* p,
                                       const fragment<accumulator, M, N, K, T>& f, unsigned leading, layout_t layout,
                                       CUDAMM_HERE) {
    cudamm::store_fragment(p, f, leading, layout == mem_row_major, line, file);
}

// d = a b + c
template <int M, int N, int K, typename A, typename LayoutA, typename LayoutB, typename C, typename D>
CUDAMM_IN_PLACE void mma_sync(fragment<accumulator, M, N, K, D>& d,
                              const fragment<matrix_a, M, N, K, A, LayoutA>& a,
                              const fragment<matrix_b, M, N, K, A, LayoutB>& b,
                              const fragment<accumulator, M, N, K, C>& c, CUDAMM_HERE) {
    mma_sync(d, a, b, c, false, line, file);
}
template <int M, int N, int K, typename A, typename LayoutA, typename LayoutB, typename C, typename D>
CUDAMM_IN_PLACE void mma_sync(fragment<accumulator, M, N, K, D>& d,
                              const fragment<matrix_a, M, N, K, A, LayoutA>& a,
                              const fragment<matrix_b, M, N, K, A, LayoutB>& b,
                              const fragment<accumulator, M, N, K, C>& c, bool saturates,
                              CUDAMM_HERE) {
    using cudamm::Number;
    constexpr Number of_a = cudamm::Elements<A>::number;
    constexpr Number of_c = cudamm::Elements<C>::number, of_d = cudamm::Elements<D>::number;
    constexpr bool fits = of_a == Number::float64 ? of_c == Number::float64 && of_d == Number::float64
                          : bytes_of(of_a) == 1   ? of_c == Number::int32 && of_d == Number::int32
                          : of_a == Number::half  ? (of_c == Number::half || of_c == Number::float32) &&
                                                       (of_d == Number::half || of_d == Number::float32)
                                                  : of_c == Number::float32 && of_d == Number::float32;
    static_assert(fits, "tensor cores have no sums of this type for factors of that type");
    static constexpr cudamm::WarpProduct product = {of_a, of_a, of_c, of_d, M, N, K, false};
    static constexpr cudamm::WarpProduct saturated = {of_a, of_a, of_c, of_d, M, N, K, true};
    cudamm::multiply_matrices(saturates ? saturated : product, d.x, a.x, b.x, c.x, "mma_sync", line, file);
}

// Rounds to TF32, of which a fragment of precision::tf32 consists.
CUDAMM_UNWATCHED float __float_to_tf32(float x) { return cudamm::float_to_tf32(x); }

}  // namespace wmma
}  // namespace nvcuda
