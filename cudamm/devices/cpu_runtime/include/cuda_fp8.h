// For kernels with #include <cuda_fp8.h>: __nv_fp8_e4m3, a real number of 8 bits that is stored and converted, but not
// computed with, as on a GPU. Its largest number is 448, and it has no infinity.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace cudamm {

CUDAMM_UNWATCHED float e4m3_to_float(unsigned char x) {
    // Its 4 bits of the exponent and 3 of the fraction at the place of a float's make a number that is 2^120 times too
    // small: the exponents start at -6 and at -126. The product is exact, for subnormal numbers too.
    const unsigned sign = (x & 0x80u) << 24;
    if ((x & 0x7f) == 0x7f) return float_of(0x7fffffff);
    return float_of(float_bits(float_of((x & 0x7fu) << 20) * 0x1p120f) | sign);
}
CUDAMM_UNWATCHED unsigned char float_to_e4m3(float x) {
    const unsigned sign = float_bits(x) >> 24 & 0x80, bits = float_bits(x) & 0x7fffffff;
    if (bits > 0x7f800000) return 0x7f;                 // NaN
    if (bits >= 0x43e00000) return sign | 0x7e;         // 448 or more becomes 448
    if (bits < 0x3c800000)                              // subnormal: the last digit of 16384 + x is 2^-9
        return sign | (float_bits(float_of(bits) + 16384.0f) - 0x46800000);
    // Less than half of the last digit is cut off, more than half carries, and half carries to an even digit.
    return sign | (bits - 0x3c000000 + 0x7ffff + (bits >> 20 & 1)) >> 20;
}

}  // namespace cudamm

struct __nv_fp8_e4m3 {
    unsigned char __x;
    __nv_fp8_e4m3() = default;
    __nv_fp8_e4m3(const __nv_fp8_e4m3&) = default;
    CUDAMM_WATCHED_ASSIGNMENT(__nv_fp8_e4m3)
    CUDAMM_WATCHED_COPY(__nv_fp8_e4m3)
    explicit CUDAMM_IN_PLACE __nv_fp8_e4m3(float x) : __x(cudamm::float_to_e4m3(x)) {}
    explicit CUDAMM_IN_PLACE __nv_fp8_e4m3(double x) : __x(cudamm::float_to_e4m3(cudamm::odd_float(x))) {}
    explicit CUDAMM_IN_PLACE __nv_fp8_e4m3(int x) : __nv_fp8_e4m3((double)x) {}
    explicit CUDAMM_IN_PLACE __nv_fp8_e4m3(__half x) : __nv_fp8_e4m3((float)x) {}
    explicit CUDAMM_IN_PLACE __nv_fp8_e4m3(__nv_bfloat16 x) : __nv_fp8_e4m3((float)x) {}
    explicit CUDAMM_IN_PLACE operator float() const { return cudamm::e4m3_to_float(__x); }
    explicit CUDAMM_IN_PLACE operator double() const { return cudamm::e4m3_to_float(__x); }
    explicit CUDAMM_IN_PLACE operator __half() const { return __half(cudamm::e4m3_to_float(__x)); }
    explicit CUDAMM_IN_PLACE operator __nv_bfloat16() const { return __nv_bfloat16(cudamm::e4m3_to_float(__x)); }
};
