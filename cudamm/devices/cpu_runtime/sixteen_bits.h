// Real numbers of 16 bits: how float and double are rounded to them, and the operators and functions that __half
// (include/cuda_fp16.h) and __nv_bfloat16 (include/cuda_bf16.h) share.
//
//              sign  exponent  fraction   largest number   relative rounding error
//   float         1         8        23           3.4e38                    2^-24
//   __half        1         5        10            65504                    2^-11
//   bfloat16      1         8         7           3.4e38                    2^-8
//
// bfloat16 is the upper half of a float: the same range, fewer digits. __half has more digits and a smaller range.
//
// A processor computes in float or double, and the result is rounded to 16 bits. Two roundings can differ from one:
// 2.51 becomes 2.5 and then 2. There are two ways to avoid that, and this file uses both. A result with at least twice
// as many digits plus two can be rounded again without harm, so half + half may be computed in float. Or the first
// rounding is to odd: an inexact result gets an odd last digit, which tells the second rounding on which side of the
// middle the exact result lies.
#pragma once
#include "cuda_on_cpu.h"

// In a traced kernel, functions of the arithmetic are not watched: they access no memory but their own variables.
#if defined(CUDAMM_OBSERVED)
#if defined(__clang__)
#define CUDAMM_UNWATCHED inline __attribute__((no_sanitize("thread", "coverage")))
#elif __GNUC__ >= 12
#define CUDAMM_UNWATCHED inline __attribute__((no_sanitize_thread, no_sanitize_coverage))
#else
#define CUDAMM_UNWATCHED inline __attribute__((no_sanitize_thread))
#endif
#else
#define CUDAMM_UNWATCHED inline
#endif

namespace cudamm {

CUDAMM_UNWATCHED unsigned float_bits(float x) {
    unsigned bits;
    __builtin_memcpy(&bits, &x, 4);
    return bits;
}
CUDAMM_UNWATCHED float float_of(unsigned bits) {
    float x;
    __builtin_memcpy(&x, &bits, 4);
    return x;
}

// ---- Rounding -----------------------------------------------------------------------------------------

CUDAMM_UNWATCHED float odd_float(double x) {
    const float nearest = (float)x;
    if ((double)nearest == x || x != x) return nearest;
    unsigned bits = float_bits(nearest);
    if (__builtin_fabs((double)nearest) > __builtin_fabs(x)) --bits;  // the next number towards zero
    return float_of(bits | 1);
}

// Returns a + b rounded to odd. The rounding error of a sum is a number itself (Knuth, The Art of Computer
// Programming, volume 2, section 4.2.2, theorem B).
CUDAMM_UNWATCHED double odd_sum(double a, double b) {
    const double sum = a + b, of_b = sum - a, error = (a - (sum - of_b)) + (b - of_b);
    long long bits;
    __builtin_memcpy(&bits, &sum, 8);
    if (error == 0 || error != error || bits & 1) return sum;  // the error of infinity is NaN
    bits += (error > 0) == (sum > 0) ? 1 : -1;
    double odd;
    __builtin_memcpy(&odd, &bits, 8);
    return odd;
}

// Returns a whole number as double, rounded to odd.
CUDAMM_UNWATCHED double odd_double(unsigned long long x) {
    if (x >> 53) x = x & ~0x7ffull | (x & 0x7ff ? 0x800 : 0);
    return (double)x;
}
CUDAMM_UNWATCHED double odd_double(long long x) {
    return x < 0 ? -odd_double(-(unsigned long long)x) : odd_double((unsigned long long)x);
}

CUDAMM_UNWATCHED float half_to_float(unsigned short half) {
    // The bits of a half at the place of a float's make a number that is 2^112 times too small: the exponents start at
    // -14 and at -126. The product is exact, for subnormal numbers too.
    float x = float_of((half & 0x7fffu) << 13) * 0x1p112f;
    unsigned bits = float_bits(x) | (half & 0x8000u) << 16;
    if ((half & 0x7c00) == 0x7c00) bits |= 0x7f800000;  // infinity and NaN
    return float_of(bits);
}
CUDAMM_UNWATCHED unsigned short float_to_half(float x) {
    const unsigned sign = float_bits(x) >> 16 & 0x8000, bits = float_bits(x) & 0x7fffffff;
    if (bits > 0x7f800000) return 0x7fff;               // NaN
    if (bits >= 0x47800000) return sign | 0x7c00;       // 65536 or more becomes infinity
    if (bits < 0x38800000)                              // subnormal: the last digit of 0.5 + x is 2^-24
        return sign | (float_bits(float_of(bits) + 0.5f) - 0x3f000000);
    // Less than half of the last digit is cut off, more than half carries, and half carries to an even digit.
    return sign | (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13;
}
CUDAMM_UNWATCHED float bfloat16_to_float(unsigned short x) { return float_of((unsigned)x << 16); }
CUDAMM_UNWATCHED unsigned short float_to_bfloat16(float x) {
    const unsigned bits = float_bits(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
// TF32 is a float whose last 13 digits are zeros. A tie is rounded away from zero (PTX ISA, cvt.rna.tf32.f32).
CUDAMM_UNWATCHED float float_to_tf32(float x) {
    const unsigned bits = float_bits(x);
    return x != x ? float_of(0x7fffffff) : float_of((bits + 0x1000) & 0xffffe000);
}

// ---- What __half and __nv_bfloat16 share ----------------------------------------------------------------

// Returns what lies at an address. The usual functions read their arguments so, in the line that calls them.
template <class T>
CUDAMM_IN_PLACE T value_at(const T& place) {
    T value;
    value = place;
    return value;
}

// The constructors and conversions of a type `Real`, which has `to_float`, `from_float` and the bits `__x`. Functions
// that get an address are in place, so that an access belongs to the line of the kernel.
#define CUDAMM_REAL16_MEMBERS(Real)                                                                        \
    Real() = default;                                                                                      \
    Real(const Real&) = default;                                                                           \
    CUDAMM_WATCHED_ASSIGNMENT(Real)                                                                        \
    CUDAMM_WATCHED_COPY(Real)                                                                              \
    CUDAMM_IN_PLACE Real(float x) : __x(from_float(x)) {}                                                  \
    CUDAMM_IN_PLACE Real(double x) : __x(from_float(cudamm::odd_float(x))) {}                              \
    CUDAMM_IN_PLACE Real(int x) : Real((double)x) {}                                                       \
    CUDAMM_IN_PLACE Real(unsigned x) : Real((double)x) {}                                                  \
    CUDAMM_IN_PLACE Real(short x) : Real((float)x) {}                                                      \
    CUDAMM_IN_PLACE Real(unsigned short x) : Real((float)x) {}                                             \
    CUDAMM_IN_PLACE Real(long x) : Real(cudamm::odd_double((long long)x)) {}                               \
    CUDAMM_IN_PLACE Real(unsigned long x) : Real(cudamm::odd_double((unsigned long long)x)) {}             \
    CUDAMM_IN_PLACE Real(long long x) : Real(cudamm::odd_double(x)) {}                                     \
    CUDAMM_IN_PLACE Real(unsigned long long x) : Real(cudamm::odd_double(x)) {}                            \
    CUDAMM_IN_PLACE Real(Real##_raw raw) : __x(raw.x) {}                                                   \
    CUDAMM_IN_PLACE operator Real##_raw() const { return {__x}; }                                          \
    CUDAMM_IN_PLACE operator float() const { return to_float(__x); }                                       \
    static CUDAMM_IN_PLACE Real of_bits(unsigned short bits) { return Real(Real##_raw{bits}); }            \
    unsigned short __x

// Operators and functions of one number. They are friends: the name of an argument's type leads a compiler here.
// `Real::Exact` is a type in which a sum, a product and a quotient have twice as many digits plus two.
template <class Real>
struct Real16Functions {
#define CUDAMM_BINARY(operation, name)                                                                     \
    static CUDAMM_UNWATCHED Real computed##name(Real a, Real b) {                                          \
        return Real((typename Real::Exact)(float)a operation (typename Real::Exact)(float)b);              \
    }                                                                                                      \
    friend CUDAMM_IN_PLACE Real operator operation(const Real& a, const Real& b) {                         \
        return computed##name(value_at(a), value_at(b));                                                   \
    }                                                                                                      \
    friend CUDAMM_IN_PLACE Real name(const Real& a, const Real& b) { return a operation b; }               \
    friend CUDAMM_UNWATCHED Real name##_rn(Real a, Real b) { return a operation b; }                       \
    friend CUDAMM_UNWATCHED Real name##_sat(Real a, Real b) { return saturated16(a operation b); }         \
    friend CUDAMM_IN_PLACE Real& operator operation##=(Real& a, Real b) { return a = a operation b; }
    CUDAMM_BINARY(+, __hadd)
    CUDAMM_BINARY(-, __hsub)
    CUDAMM_BINARY(*, __hmul)
    CUDAMM_BINARY(/, __hdiv)
#undef CUDAMM_BINARY
    friend CUDAMM_UNWATCHED Real operator-(Real a) { return Real::of_bits(a.__x ^ 0x8000); }
    friend CUDAMM_UNWATCHED Real operator+(Real a) { return a; }
    friend CUDAMM_IN_PLACE Real& operator++(Real& a) { return a = a + Real(1.0f); }
    friend CUDAMM_IN_PLACE Real& operator--(Real& a) { return a = a - Real(1.0f); }
    friend CUDAMM_IN_PLACE Real operator++(Real& a, int) {
        const Real before = a;
        a = a + Real(1.0f);
        return before;
    }
    friend CUDAMM_IN_PLACE Real operator--(Real& a, int) {
        const Real before = a;
        a = a - Real(1.0f);
        return before;
    }
    friend CUDAMM_UNWATCHED Real saturated16(Real a) {
        const float x = a;
        return x >= 1 ? Real(1.0f) : x > 0 ? a : Real(0.0f);  // NaN becomes 0
    }
    // a b + c, rounded once: the product is exact in double, and the sum is rounded to odd.
    static CUDAMM_UNWATCHED Real computed__hfma(Real a, Real b, Real c) {
        return Real(odd_sum((double)(float)a * (float)b, (float)c));
    }
    friend CUDAMM_IN_PLACE Real __hfma(const Real& a, const Real& b, const Real& c) {
        return computed__hfma(value_at(a), value_at(b), value_at(c));
    }
    friend CUDAMM_UNWATCHED Real __hfma_sat(Real a, Real b, Real c) { return saturated16(__hfma(a, b, c)); }
    friend CUDAMM_UNWATCHED Real __hfma_relu(Real a, Real b, Real c) {
        const Real sum = __hfma(a, b, c);
        return (float)sum < 0 ? Real(0.0f) : sum;
    }
    friend CUDAMM_UNWATCHED Real __hneg(Real a) { return -a; }
    friend CUDAMM_UNWATCHED Real __habs(Real a) { return Real::of_bits(a.__x & 0x7fff); }
    friend CUDAMM_UNWATCHED bool __hisnan(Real a) { return (float)a != (float)a; }
    friend CUDAMM_UNWATCHED int __hisinf(Real a) {
        return (float)a == __builtin_inff() ? 1 : (float)a == -__builtin_inff() ? -1 : 0;
    }

    // Each comparison is false for NaN, and its form with `u` is true.
#define CUDAMM_COMPARISON(operation, name)                                                                 \
    friend CUDAMM_UNWATCHED bool operator operation(Real a, Real b) { return (float)a operation (float)b; } \
    friend CUDAMM_UNWATCHED bool name(Real a, Real b) {                                                    \
        return !__hisnan(a) && !__hisnan(b) && (float)a operation (float)b;                                \
    }                                                                                                      \
    friend CUDAMM_UNWATCHED bool name##u(Real a, Real b) {                                                 \
        return __hisnan(a) || __hisnan(b) || (float)a operation (float)b;                                  \
    }
    CUDAMM_COMPARISON(==, __heq)
    CUDAMM_COMPARISON(!=, __hne)
    CUDAMM_COMPARISON(<, __hlt)
    CUDAMM_COMPARISON(<=, __hle)
    CUDAMM_COMPARISON(>, __hgt)
    CUDAMM_COMPARISON(>=, __hge)
#undef CUDAMM_COMPARISON
    // A NaN gives way to a number, and in the form with `_nan` it does not.
#define CUDAMM_EXTREME(name, operation)                                                                    \
    friend CUDAMM_UNWATCHED Real name(Real a, Real b) {                                                    \
        if ((float)a == (float)b) return (a.__x & 0x8000) operation (b.__x & 0x8000) ? b : a; /* zeros */  \
        return __hisnan(b) || (float)a operation (float)b ? a : b;                                         \
    }                                                                                                      \
    friend CUDAMM_UNWATCHED Real name##_nan(Real a, Real b) {                                              \
        return __hisnan(a) || __hisnan(b) ? Real::of_bits(0x7fff) : name(a, b);                            \
    }
    CUDAMM_EXTREME(__hmin, <)
    CUDAMM_EXTREME(__hmax, >)
#undef CUDAMM_EXTREME

    // Functions of the mathematics. Those of a GPU may differ in the last digit.
#define CUDAMM_FUNCTION(name, expression)                                                                  \
    friend CUDAMM_UNWATCHED Real name(Real a) {                                                            \
        const double x = (float)a;                                                                         \
        return Real(expression);                                                                           \
    }
    CUDAMM_FUNCTION(hsqrt, __builtin_sqrt(x))
    CUDAMM_FUNCTION(hrsqrt, 1 / __builtin_sqrt(x))
    CUDAMM_FUNCTION(hrcp, 1 / x)
    CUDAMM_FUNCTION(hexp, __builtin_exp(x))
    CUDAMM_FUNCTION(hexp2, __builtin_exp2(x))
    CUDAMM_FUNCTION(hexp10, __builtin_pow(10, x))
    CUDAMM_FUNCTION(hlog, __builtin_log(x))
    CUDAMM_FUNCTION(hlog2, __builtin_log2(x))
    CUDAMM_FUNCTION(hlog10, __builtin_log10(x))
    CUDAMM_FUNCTION(hsin, __builtin_sin(x))
    CUDAMM_FUNCTION(hcos, __builtin_cos(x))
    CUDAMM_FUNCTION(htanh, __builtin_tanh(x))
    CUDAMM_FUNCTION(htanh_approx, __builtin_tanh(x))
    CUDAMM_FUNCTION(hfloor, __builtin_floor(x))
    CUDAMM_FUNCTION(hceil, __builtin_ceil(x))
    CUDAMM_FUNCTION(htrunc, __builtin_trunc(x))
    CUDAMM_FUNCTION(hrint, __builtin_rint(x))
#undef CUDAMM_FUNCTION
};

// Operators and functions of two numbers at a time. A GPU has instructions for them, which take as long as one number.
template <class Pair, class Real>
struct Real16PairFunctions {
#define CUDAMM_BINARY(operation, name, of_one)                                                             \
    static CUDAMM_UNWATCHED Pair computed##name(Pair a, Pair b) {                                          \
        return Pair(a.x operation b.x, a.y operation b.y);                                                 \
    }                                                                                                      \
    friend CUDAMM_IN_PLACE Pair operator operation(const Pair& a, const Pair& b) {                         \
        return computed##name(value_at(a), value_at(b));                                                   \
    }                                                                                                      \
    friend CUDAMM_IN_PLACE Pair name(const Pair& a, const Pair& b) { return a operation b; }               \
    friend CUDAMM_IN_PLACE Pair& operator operation##=(Pair& a, Pair b) { return a = a operation b; }
    CUDAMM_BINARY(+, __hadd2, __hadd)
    CUDAMM_BINARY(-, __hsub2, __hsub)
    CUDAMM_BINARY(*, __hmul2, __hmul)
    CUDAMM_BINARY(/, __h2div, __hdiv)
#undef CUDAMM_BINARY
#define CUDAMM_OF_BOTH(name, of_one)                                                                       \
    friend CUDAMM_UNWATCHED Pair name(Pair a, Pair b) { return Pair(of_one(a.x, b.x), of_one(a.y, b.y)); }
    CUDAMM_OF_BOTH(__hadd2_rn, __hadd)
    CUDAMM_OF_BOTH(__hsub2_rn, __hsub)
    CUDAMM_OF_BOTH(__hmul2_rn, __hmul)
    CUDAMM_OF_BOTH(__hadd2_sat, __hadd_sat)
    CUDAMM_OF_BOTH(__hsub2_sat, __hsub_sat)
    CUDAMM_OF_BOTH(__hmul2_sat, __hmul_sat)
    CUDAMM_OF_BOTH(__hmin2, __hmin)
    CUDAMM_OF_BOTH(__hmax2, __hmax)
    CUDAMM_OF_BOTH(__hmin2_nan, __hmin_nan)
    CUDAMM_OF_BOTH(__hmax2_nan, __hmax_nan)
#undef CUDAMM_OF_BOTH
    static CUDAMM_UNWATCHED Pair computed__hfma2(Pair a, Pair b, Pair c) {
        return Pair(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
    }
    friend CUDAMM_IN_PLACE Pair __hfma2(const Pair& a, const Pair& b, const Pair& c) {
        return computed__hfma2(value_at(a), value_at(b), value_at(c));
    }
    friend CUDAMM_UNWATCHED Pair __hfma2_sat(Pair a, Pair b, Pair c) {
        return Pair(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));
    }
    friend CUDAMM_UNWATCHED Pair __hfma2_relu(Pair a, Pair b, Pair c) {
        return Pair(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
    }
    friend CUDAMM_UNWATCHED Pair operator-(Pair a) { return Pair(-a.x, -a.y); }
    friend CUDAMM_UNWATCHED Pair operator+(Pair a) { return a; }
    friend CUDAMM_UNWATCHED Pair __hneg2(Pair a) { return -a; }
    friend CUDAMM_UNWATCHED Pair __habs2(Pair a) { return Pair(__habs(a.x), __habs(a.y)); }

    // Comparisons: of each number, as 1 or 0; whether both are true; and as a mask.
#define CUDAMM_COMPARISON(name)                                                                            \
    friend CUDAMM_UNWATCHED Pair __h##name##2(Pair a, Pair b) {                                            \
        return Pair(Real(__h##name(a.x, b.x) ? 1.0f : 0.0f), Real(__h##name(a.y, b.y) ? 1.0f : 0.0f));     \
    }                                                                                                      \
    friend CUDAMM_UNWATCHED bool __hb##name##2(Pair a, Pair b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); } \
    friend CUDAMM_UNWATCHED unsigned __h##name##2_mask(Pair a, Pair b) {                                   \
        return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);              \
    }
    CUDAMM_COMPARISON(eq)
    CUDAMM_COMPARISON(equ)
    CUDAMM_COMPARISON(ne)
    CUDAMM_COMPARISON(neu)
    CUDAMM_COMPARISON(lt)
    CUDAMM_COMPARISON(ltu)
    CUDAMM_COMPARISON(le)
    CUDAMM_COMPARISON(leu)
    CUDAMM_COMPARISON(gt)
    CUDAMM_COMPARISON(gtu)
    CUDAMM_COMPARISON(ge)
    CUDAMM_COMPARISON(geu)
#undef CUDAMM_COMPARISON
    friend CUDAMM_UNWATCHED Pair __hisnan2(Pair a) {
        return Pair(Real(__hisnan(a.x) ? 1.0f : 0.0f), Real(__hisnan(a.y) ? 1.0f : 0.0f));
    }
    friend CUDAMM_UNWATCHED bool operator==(Pair a, Pair b) { return a.x == b.x && a.y == b.y; }
    friend CUDAMM_UNWATCHED bool operator!=(Pair a, Pair b) { return a.x != b.x || a.y != b.y; }

#define CUDAMM_FUNCTION(name, of_one) \
    friend CUDAMM_UNWATCHED Pair name(Pair a) { return Pair(of_one(a.x), of_one(a.y)); }
    CUDAMM_FUNCTION(h2sqrt, hsqrt)
    CUDAMM_FUNCTION(h2rsqrt, hrsqrt)
    CUDAMM_FUNCTION(h2rcp, hrcp)
    CUDAMM_FUNCTION(h2exp, hexp)
    CUDAMM_FUNCTION(h2exp2, hexp2)
    CUDAMM_FUNCTION(h2log, hlog)
    CUDAMM_FUNCTION(h2exp10, hexp10)
    CUDAMM_FUNCTION(h2log2, hlog2)
    CUDAMM_FUNCTION(h2log10, hlog10)
    CUDAMM_FUNCTION(h2sin, hsin)
    CUDAMM_FUNCTION(h2cos, hcos)
    CUDAMM_FUNCTION(h2tanh, htanh)
    CUDAMM_FUNCTION(h2tanh_approx, htanh)
    CUDAMM_FUNCTION(h2floor, hfloor)
    CUDAMM_FUNCTION(h2ceil, hceil)
    CUDAMM_FUNCTION(h2trunc, htrunc)
    CUDAMM_FUNCTION(h2rint, hrint)
#undef CUDAMM_FUNCTION
    friend CUDAMM_IN_PLACE float __low2float(const Pair& a) { return value_at(a).x; }
    friend CUDAMM_IN_PLACE float __high2float(const Pair& a) { return value_at(a).y; }
    friend CUDAMM_UNWATCHED Pair __lowhigh2highlow(Pair a) { return Pair(a.y, a.x); }
};

// Rounds down, up or towards zero: the nearest number, or its neighbour if that is on the wrong side.
enum class Direction { down, up, to_zero };
template <class Real>
CUDAMM_UNWATCHED Real rounded16(double x, Direction direction) {
    if (direction == Direction::to_zero) direction = x < 0 ? Direction::up : Direction::down;
    const Real nearest = x;
    const double y = (float)nearest;
    if (x != x || (direction == Direction::down ? y <= x : y >= x)) return nearest;
    const bool grows = (direction == Direction::up) == (y > 0 || (y == 0 && x > 0));
    if (y == 0) return Real::of_bits(x > 0 ? 1 : 0x8001);
    return Real::of_bits((unsigned short)(nearest.__x + (grows ? 1 : -1)));
}

// Conversions from and to whole numbers. A number out of range becomes the nearest number in range, and NaN becomes 0.
template <class To>
CUDAMM_UNWATCHED To whole_of(double x) {
    constexpr To least = (To)((To)-1 < 0 ? (To)1 << (8 * sizeof(To) - 1) : 0), most = (To)~least;
    if (x != x) return 0;
    return x <= (double)least ? least : x >= (double)most ? most : (To)x;
}
#define CUDAMM_WHOLE16(Real, name, whole, type, wide)                                                      \
    CUDAMM_UNWATCHED Real __##whole##2##name##_rn(type x) { return Real(x); }                              \
    CUDAMM_UNWATCHED Real __##whole##2##name##_rd(type x) {                                                \
        return cudamm::rounded16<Real>(cudamm::odd_double((wide)x), cudamm::Direction::down);              \
    }                                                                                                      \
    CUDAMM_UNWATCHED Real __##whole##2##name##_ru(type x) {                                                \
        return cudamm::rounded16<Real>(cudamm::odd_double((wide)x), cudamm::Direction::up);                \
    }                                                                                                      \
    CUDAMM_UNWATCHED Real __##whole##2##name##_rz(type x) {                                                \
        return cudamm::rounded16<Real>(cudamm::odd_double((wide)x), cudamm::Direction::to_zero);           \
    }                                                                                                      \
    CUDAMM_UNWATCHED type __##name##2##whole##_rn(Real x) {                                                \
        return cudamm::whole_of<type>(__builtin_rint((float)x));                                           \
    }                                                                                                      \
    CUDAMM_UNWATCHED type __##name##2##whole##_rz(Real x) {                                                \
        return cudamm::whole_of<type>(__builtin_trunc((float)x));                                          \
    }                                                                                                      \
    CUDAMM_UNWATCHED type __##name##2##whole##_rd(Real x) {                                                \
        return cudamm::whole_of<type>(__builtin_floor((float)x));                                          \
    }                                                                                                      \
    CUDAMM_UNWATCHED type __##name##2##whole##_ru(Real x) {                                                \
        return cudamm::whole_of<type>(__builtin_ceil((float)x));                                           \
    }
// The conversions of a type and of its pairs, whose names contain the type's name.
#define CUDAMM_CONVERSIONS16(Real, Pair, name, pair, floats2pair, float22pair, pair2float2, halves, low, high)  \
    CUDAMM_WHOLE16(Real, name, int, int, long long)                                                        \
    CUDAMM_WHOLE16(Real, name, uint, unsigned, unsigned long long)                                         \
    CUDAMM_WHOLE16(Real, name, short, short, long long)                                                    \
    CUDAMM_WHOLE16(Real, name, ushort, unsigned short, unsigned long long)                                 \
    CUDAMM_WHOLE16(Real, name, ll, long long, long long)                                                   \
    CUDAMM_WHOLE16(Real, name, ull, unsigned long long, unsigned long long)                                \
    CUDAMM_UNWATCHED signed char __##name##2char_rz(Real x) { return cudamm::whole_of<signed char>((float)x); } \
    CUDAMM_UNWATCHED unsigned char __##name##2uchar_rz(Real x) { return cudamm::whole_of<unsigned char>((float)x); } \
    CUDAMM_UNWATCHED Real __float2##name(float x) { return Real(x); }                                      \
    CUDAMM_UNWATCHED Real __float2##name##_rn(float x) { return Real(x); }                                 \
    CUDAMM_UNWATCHED Real __float2##name##_rd(float x) {                                                   \
        return cudamm::rounded16<Real>(x, cudamm::Direction::down);                                        \
    }                                                                                                      \
    CUDAMM_UNWATCHED Real __float2##name##_ru(float x) {                                                   \
        return cudamm::rounded16<Real>(x, cudamm::Direction::up);                                          \
    }                                                                                                      \
    CUDAMM_UNWATCHED Real __float2##name##_rz(float x) {                                                   \
        return cudamm::rounded16<Real>(x, cudamm::Direction::to_zero);                                     \
    }                                                                                                      \
    CUDAMM_UNWATCHED Real __double2##name(double x) { return Real(x); }                                    \
    CUDAMM_IN_PLACE float __##name##2float(const Real& x) { return x; }                                    \
    CUDAMM_UNWATCHED short __##name##_as_short(Real x) { return (short)x.__x; }                            \
    CUDAMM_UNWATCHED unsigned short __##name##_as_ushort(Real x) { return x.__x; }                         \
    CUDAMM_UNWATCHED Real __short_as_##name(short x) { return Real::of_bits((unsigned short)x); }          \
    CUDAMM_UNWATCHED Real __ushort_as_##name(unsigned short x) { return Real::of_bits(x); }                \
    CUDAMM_UNWATCHED Pair make_##pair(Real x, Real y) { return Pair(x, y); }                               \
    CUDAMM_UNWATCHED Pair __##name##2##pair(Real x) { return Pair(x, x); }                                 \
    CUDAMM_UNWATCHED Pair __float2##pair##_rn(float x) { return Pair(Real(x), Real(x)); }                  \
    CUDAMM_UNWATCHED Pair floats2pair(float x, float y) { return Pair(Real(x), Real(y)); }                 \
    CUDAMM_UNWATCHED Pair float22pair(float2 v) { return Pair(Real(v.x), Real(v.y)); }                     \
    CUDAMM_IN_PLACE float2 pair2float2(const Pair& pair) {                                                 \
        const Pair v = cudamm::value_at(pair);                                                             \
        return {(float)v.x, (float)v.y};                                                                   \
    }                                                                                                      \
    CUDAMM_UNWATCHED Pair halves(Real x, Real y) { return Pair(x, y); }                                    \
    CUDAMM_IN_PLACE Real low(const Pair& v) { return cudamm::value_at(v).x; }                              \
    CUDAMM_IN_PLACE Real high(const Pair& v) { return cudamm::value_at(v).y; }                             \
    CUDAMM_UNWATCHED Pair low##2(Pair v) { return Pair(v.x, v.x); }                                        \
    CUDAMM_UNWATCHED Pair high##2(Pair v) { return Pair(v.y, v.y); }                                        \
    template <> constexpr bool cudamm::is_real16<Real> = true;                                             \
    template <> constexpr bool cudamm::is_real16<Pair> = true;

}  // namespace cudamm
