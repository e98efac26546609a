// For kernels with #include <cuda_fp16.h>: __half, a real number of 16 bits, and __half2, two of them.
#pragma once
#include "sixteen_bits.h"

struct __half_raw { unsigned short x; };
struct __half : cudamm::Real16Functions<__half> {
    using Exact = float;  // 24 digits, and 2 * 11 + 2 are needed
    static CUDAMM_IN_PLACE float to_float(unsigned short bits) { return cudamm::half_to_float(bits); }
    static CUDAMM_IN_PLACE unsigned short from_float(float x) { return cudamm::float_to_half(x); }
    CUDAMM_REAL16_MEMBERS(__half);
};

struct __half2_raw { unsigned short x, y; };
struct alignas(4) __half2 : cudamm::Real16PairFunctions<__half2, __half> {
    __half x, y;
    __half2() = default;
    __half2(const __half2&) = default;
    CUDAMM_WATCHED_ASSIGNMENT(__half2)
    CUDAMM_WATCHED_COPY(__half2)
    CUDAMM_IN_PLACE __half2(__half a, __half b) : x(a), y(b) {}
    CUDAMM_IN_PLACE __half2(__half2_raw raw) : x(__half::of_bits(raw.x)), y(__half::of_bits(raw.y)) {}
    CUDAMM_IN_PLACE operator __half2_raw() const { return {x.__x, y.__x}; }
};
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

CUDAMM_CONVERSIONS16(__half, __half2, half, half2, __floats2half2_rn, __float22half2_rn, __half22float2,
                     __halves2half2, __low2half, __high2half)
CUDAMM_UNWATCHED __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
CUDAMM_UNWATCHED __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
