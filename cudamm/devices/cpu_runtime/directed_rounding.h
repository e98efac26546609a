// Intrinsic functions that round down (_rd), up (_ru) or towards zero (_rz).
#pragma once
#include "intrinsics.h"

#include <fenv.h>

namespace cudamm {
// Computes with another rounding mode. The operands are volatile, so that the operation stays between the calls.
template <class Operation>
inline auto rounded(int mode, Operation operation) {
    const int before = fegetround();
    fesetround(mode);
    volatile auto result = operation();
    fesetround(before);
    return +result;
}
}  // namespace cudamm

#define CUDAMM_MODES(type, name, parameters, operation)                                                  \
    inline type name##_rd parameters { return cudamm::rounded(FE_DOWNWARD, [&] { return operation; }); } \
    inline type name##_ru parameters { return cudamm::rounded(FE_UPWARD, [&] { return operation; }); }   \
    inline type name##_rz parameters { return cudamm::rounded(FE_TOWARDZERO, [&] { return operation; }); }
#define CUDAMM_ARITHMETIC(type, letter, fma, fused, root)                                   \
    CUDAMM_MODES(type, __##letter##add, (volatile type a, volatile type b), a + b)          \
    CUDAMM_MODES(type, __##letter##sub, (volatile type a, volatile type b), a - b)          \
    CUDAMM_MODES(type, __##letter##mul, (volatile type a, volatile type b), a * b)          \
    CUDAMM_MODES(type, __##letter##div, (volatile type a, volatile type b), a / b)          \
    CUDAMM_MODES(type, __##letter##rcp, (volatile type a), 1 / a)                           \
    CUDAMM_MODES(type, __##letter##sqrt, (volatile type a), root(a))                        \
    CUDAMM_MODES(type, fma, (volatile type a, volatile type b, volatile type c), fused(a, b, c))
CUDAMM_ARITHMETIC(float, f, __fmaf, __builtin_fmaf, __builtin_sqrtf)
CUDAMM_ARITHMETIC(double, d, __fma, __builtin_fma, __builtin_sqrt)
CUDAMM_MODES(float, __double2float, (volatile double x), (float)x)
CUDAMM_MODES(float, __int2float, (volatile int x), (float)x)
CUDAMM_MODES(float, __uint2float, (volatile unsigned x), (float)x)
CUDAMM_MODES(float, __ll2float, (volatile long long x), (float)x)
CUDAMM_MODES(float, __ull2float, (volatile unsigned long long x), (float)x)
CUDAMM_MODES(double, __ll2double, (volatile long long x), (double)x)
CUDAMM_MODES(double, __ull2double, (volatile unsigned long long x), (double)x)
#undef CUDAMM_ARITHMETIC
#undef CUDAMM_MODES
