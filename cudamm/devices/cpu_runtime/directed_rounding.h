// Intrinsic functions that round down (_rd), up (_ru) or towards zero (_rz).
#pragma once
#include "intrinsics.h"

#include <fenv.h>

// The operands and the result are volatile variables, so that the compiler leaves the operation between the calls.
#define CUDAMM_LIST(...) __VA_ARGS__
#define CUDAMM_MODE(type, name, mode, parameters, operands, operation) \
    inline type name parameters {                                      \
        volatile CUDAMM_LIST operands;                                 \
        const int before = fegetround();                               \
        fesetround(mode);                                              \
        volatile type result = operation;                              \
        fesetround(before);                                            \
        return result;                                                 \
    }
#define CUDAMM_MODES(type, name, parameters, operands, operation)                  \
    CUDAMM_MODE(type, name##_rd, FE_DOWNWARD, parameters, operands, operation)     \
    CUDAMM_MODE(type, name##_ru, FE_UPWARD, parameters, operands, operation)       \
    CUDAMM_MODE(type, name##_rz, FE_TOWARDZERO, parameters, operands, operation)
#define CUDAMM_ARITHMETIC(type, letter, fma, fused, root)                                          \
    CUDAMM_MODES(type, __##letter##add, (type a, type b), (type x = a, y = b), x + y)              \
    CUDAMM_MODES(type, __##letter##sub, (type a, type b), (type x = a, y = b), x - y)              \
    CUDAMM_MODES(type, __##letter##mul, (type a, type b), (type x = a, y = b), x * y)              \
    CUDAMM_MODES(type, __##letter##div, (type a, type b), (type x = a, y = b), x / y)              \
    CUDAMM_MODES(type, __##letter##rcp, (type a), (type x = a), 1 / x)                             \
    CUDAMM_MODES(type, __##letter##sqrt, (type a), (type x = a), root(x))                          \
    CUDAMM_MODES(type, fma, (type a, type b, type c), (type x = a, y = b, z = c), fused(x, y, z))
CUDAMM_ARITHMETIC(float, f, __fmaf, __builtin_fmaf, __builtin_sqrtf)
CUDAMM_ARITHMETIC(double, d, __fma, __builtin_fma, __builtin_sqrt)
CUDAMM_MODES(float, __double2float, (double a), (double x = a), (float)x)
CUDAMM_MODES(float, __int2float, (int a), (int x = a), (float)x)
CUDAMM_MODES(float, __uint2float, (unsigned a), (unsigned x = a), (float)x)
CUDAMM_MODES(float, __ll2float, (long long a), (long long x = a), (float)x)
CUDAMM_MODES(float, __ull2float, (unsigned long long a), (unsigned long long x = a), (float)x)
CUDAMM_MODES(double, __ll2double, (long long a), (long long x = a), (double)x)
CUDAMM_MODES(double, __ull2double, (unsigned long long a), (unsigned long long x = a), (double)x)
#undef CUDAMM_ARITHMETIC
#undef CUDAMM_LIST
#undef CUDAMM_MODES
#undef CUDAMM_MODE
