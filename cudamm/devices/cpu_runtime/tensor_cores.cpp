// The products of tensor cores (tensor_cores.h). One lane computes for all.
//
// Products of 16-bit and TF32 numbers are exact, and sums are rounded to float at each step. NVIDIA does not specify
// the order of a tensor core's sums, and its sums are rounded in other places; products of whole numbers are equal.
#include "tensor_cores.h"
#include "sixteen_bits.h"

namespace cudamm {
namespace {

constexpr unsigned lanes = 32, most_factors = 512, most_sums = 256;

struct Operands {
    const WarpProduct* product;
    void* d;
    const void *a, *b, *c;
};

template <class T>
T element(const void* fragment, unsigned i) {
    T value;
    __builtin_memcpy(&value, (const char*)fragment + i * sizeof value, sizeof value);
    return value;
}
template <class T>
void set_element(void* fragment, unsigned i, T value) {
    __builtin_memcpy((char*)fragment + i * sizeof value, &value, sizeof value);
}

template <class Value>
Value value_of(Number number, const void* fragment, unsigned i) {
    switch (number) {
        case Number::half: return (Value)half_to_float(element<unsigned short>(fragment, i));
        case Number::bfloat16: return (Value)bfloat16_to_float(element<unsigned short>(fragment, i));
        // A tensor core reads 19 bits of a TF32 number, whatever the others are.
        case Number::tf32: return (Value)float_of(element<unsigned>(fragment, i) & 0xffffe000);
        case Number::float32: return (Value)element<float>(fragment, i);
        case Number::float64: return (Value)element<double>(fragment, i);
        case Number::int8: return (Value)element<signed char>(fragment, i);
        case Number::uint8: return (Value)element<unsigned char>(fragment, i);
        case Number::int32: return (Value)element<int>(fragment, i);
    }
    return 0;
}

template <class Value>
void set_value(Number number, void* fragment, unsigned i, Value value, bool saturates) {
    if (number == Number::half) return set_element(fragment, i, float_to_half((float)value));
    if (number == Number::float32) return set_element(fragment, i, (float)value);
    if (number == Number::float64) return set_element(fragment, i, (double)value);
    constexpr int least = -2147483647 - 1, most = 2147483647;
    const long long whole = (long long)value;
    set_element(fragment, i, !saturates || (whole >= least && whole <= most) ? (int)whole : whole < 0 ? least : most);
}

float next_sum(float a, float b, float sum) { return a * b + sum; }
double next_sum(double a, double b, double sum) { return __builtin_fma(a, b, sum); }
long long next_sum(long long a, long long b, long long sum) { return a * b + sum; }

// Calls `visit` with each lane, the number of each of its elements, and the element's place.
template <class Visit>
void for_each_element(const FragmentLayout& layout, Visit visit) {
    for (unsigned i = 0; i < layout.elements(); ++i) {
        const FragmentPlace first = layout.place(0, i);
        for (unsigned lane = 0; lane < lanes; ++lane)
            visit(lane, i, first.across + lane / 4, first.along + lane % 4 * layout.together);
    }
}

template <class Value>
void multiply(void* const* of_lanes) {
    const Operands* operands[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) operands[lane] = (const Operands*)of_lanes[lane];
    const WarpProduct& p = *operands[0]->product;
    Value a[most_factors], b[most_factors], sums[most_sums];
    const FragmentLayout of_sums = layout_of_sums(p.m, p.n);
    for_each_element(layout_of_a(p.a, p.m, p.k), [&](unsigned lane, unsigned i, unsigned row, unsigned k) {
        a[row * p.k + k] = value_of<Value>(p.a, operands[lane]->a, i);
    });
    for_each_element(layout_of_b(p.b, p.k, p.n), [&](unsigned lane, unsigned i, unsigned column, unsigned k) {
        b[k * p.n + column] = value_of<Value>(p.b, operands[lane]->b, i);
    });
    for_each_element(of_sums, [&](unsigned lane, unsigned i, unsigned row, unsigned column) {
        sums[row * p.n + column] = value_of<Value>(p.c, operands[lane]->c, i);
    });
    for (unsigned row = 0; row < p.m; ++row)
        for (unsigned k = 0; k < p.k; ++k)
            for (unsigned column = 0; column < p.n; ++column)
                sums[row * p.n + column] = next_sum(a[row * p.k + k], b[k * p.n + column], sums[row * p.n + column]);
    for_each_element(of_sums, [&](unsigned lane, unsigned i, unsigned row, unsigned column) {
        set_value(p.d, operands[lane]->d, i, sums[row * p.n + column], p.saturates);
    });
}

struct Rows {
    unsigned* parts;
    const void* row;
    unsigned count;
    bool transposed;
};

void share(void* const* of_lanes) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const Rows& to = *(const Rows*)of_lanes[lane];
        for (unsigned matrix = 0; matrix < to.count; ++matrix) {
            const auto number = [&](unsigned row, unsigned column) -> unsigned {
                return element<unsigned short>(((const Rows*)of_lanes[8 * matrix + row])->row, column);
            };
            const unsigned across = lane / 4, along = lane % 4 * 2;
            to.parts[matrix] = to.transposed ? number(along, across) | number(along + 1, across) << 16
                                             : number(across, along) | number(across, along + 1) << 16;
        }
    }
}

}  // namespace

void multiply_matrices(const WarpProduct& product, void* d, const void* a, const void* b, const void* c,
                       const char* operation, int line, const char* file) {
    Operands operands = {&product, d, a, b, c};
    compute_together(&operands, product.d == Number::float64 ? multiply<double>
                                : product.d == Number::int32 ? multiply<long long>
                                                             : multiply<float>, operation, line, file);
}

void check_matrix(const void* p, unsigned leading, size_t bytes, const char* operation, int line, const char* file) {
    char why[200];
    if ((size_t)p % 16) {
        snprintf(why, sizeof why, "%s got an address that is no multiple of 16 bytes", operation);
        stop_kernel(why, line, file);
    }
    if (leading * bytes % 16) {
        snprintf(why, sizeof why, "%s got a leading dimension of %u elements of %zu bytes, which is no multiple of 16 "
                 "bytes,", operation, leading, bytes);
        stop_kernel(why, line, file);
    }
}

void share_rows(unsigned* parts, const void* row, unsigned count, bool transposed, int line, const char* file) {
    Rows rows = {parts, row, count, transposed};
    compute_together(&rows, share, "ldmatrix", line, file);
}

}  // namespace cudamm
