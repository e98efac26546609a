// For kernels with #include <cuda_bf16.h>: __nv_bfloat16, a real number of 16 bits, and __nv_bfloat162, two of them.
#pragma once
#include "sixteen_bits.h"

struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat16 : cudamm::Real16Functions<__nv_bfloat16> {
    using Exact = double;  // a product of small numbers has too few digits in float, which has the same range
    static CUDAMM_IN_PLACE float to_float(unsigned short bits) { return cudamm::bfloat16_to_float(bits); }
    static CUDAMM_IN_PLACE unsigned short from_float(float x) { return cudamm::float_to_bfloat16(x); }
    CUDAMM_REAL16_MEMBERS(__nv_bfloat16);
};

struct __nv_bfloat162_raw { unsigned short x, y; };
struct alignas(4) __nv_bfloat162 : cudamm::Real16PairFunctions<__nv_bfloat162, __nv_bfloat16> {
    __nv_bfloat16 x, y;
    __nv_bfloat162() = default;
    __nv_bfloat162(const __nv_bfloat162&) = default;
    CUDAMM_WATCHED_ASSIGNMENT(__nv_bfloat162)
    CUDAMM_WATCHED_COPY(__nv_bfloat162)
    CUDAMM_IN_PLACE __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
    CUDAMM_IN_PLACE __nv_bfloat162(__nv_bfloat162_raw raw)
        : x(__nv_bfloat16::of_bits(raw.x)), y(__nv_bfloat16::of_bits(raw.y)) {}
    CUDAMM_IN_PLACE operator __nv_bfloat162_raw() const { return {x.__x, y.__x}; }
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

CUDAMM_CONVERSIONS16(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162, __floats2bfloat162_rn,
                     __float22bfloat162_rn, __bfloat1622float2, __halves2bfloat162, __low2bfloat16, __high2bfloat16)
CUDAMM_UNWATCHED __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
CUDAMM_UNWATCHED __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
