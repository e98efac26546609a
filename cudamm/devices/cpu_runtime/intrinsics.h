// CUDA's intrinsic functions, and its mathematical functions that C++ lacks (CUDA Math API Reference Manual).
//
// Functions that are approximate on a GPU, such as __expf, are as accurate as C++'s here.
#pragma once
#include "small_vectors.h"
#include "waiting.h"

// ---- The same bits as another type ------------------------------------------------------------------

namespace cudamm {
template <class To, class From>
CUDAMM_IN_PLACE To same_bits(From from) {
    static_assert(sizeof(To) == sizeof from, "the types have different sizes");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
}  // namespace cudamm
inline int __float_as_int(float x) { return cudamm::same_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return cudamm::same_bits<unsigned>(x); }
inline float __int_as_float(int x) { return cudamm::same_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return cudamm::same_bits<float>(x); }
inline long long __double_as_longlong(double x) { return cudamm::same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return cudamm::same_bits<double>(x); }
inline int __double2hiint(double x) { return (int)(cudamm::same_bits<long long>(x) >> 32); }
inline int __double2loint(double x) { return (int)cudamm::same_bits<long long>(x); }
inline double __hiloint2double(int high, int low) {
    return cudamm::same_bits<double>((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

// ---- Whole numbers ----------------------------------------------------------------------------------

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
    return reversed;
}
inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) result |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
inline int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
inline unsigned __usad(unsigned a, unsigned b, unsigned sum) { return (a < b ? b - a : a - b) + sum; }
inline unsigned __sad(int a, int b, unsigned sum) {
    return (a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b) + sum;
}
inline int __dp4a(int a, int b, int sum) {
    for (int i = 0; i < 32; i += 8) sum += (signed char)(a >> i) * (signed char)(b >> i);
    return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (int i = 0; i < 32; i += 8) sum += (unsigned char)(a >> i) * (unsigned char)(b >> i);
    return sum;
}
inline int __dp4a(char4 a, char4 b, int sum) {
    return __dp4a(cudamm::same_bits<int>(a), cudamm::same_bits<int>(b), sum);
}
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned sum) {
    return __dp4a(cudamm::same_bits<unsigned>(a), cudamm::same_bits<unsigned>(b), sum);
}
inline int __dp2a_lo(int a, int b, int sum) {
    return sum + (short)a * (signed char)b + (short)(a >> 16) * (signed char)(b >> 8);
}
inline int __dp2a_hi(int a, int b, int sum) { return __dp2a_lo(a, b >> 16, sum); }
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned sum) {
    return sum + (unsigned short)a * (unsigned char)b + (unsigned short)(a >> 16) * (unsigned char)(b >> 8);
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned sum) { return __dp2a_lo(a, b >> 16, sum); }
inline unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long llmin(long long a, long long b) { return b < a ? b : a; }
inline long long llmax(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }

// ---- Real numbers, rounded once to the nearest; `volatile` keeps the compiler from fusing operations --

#define CUDAMM_ROUNDED(type, expression) { volatile type result = expression; return result; }
inline float __fadd_rn(float a, float b) CUDAMM_ROUNDED(float, a + b)
inline float __fsub_rn(float a, float b) CUDAMM_ROUNDED(float, a - b)
inline float __fmul_rn(float a, float b) CUDAMM_ROUNDED(float, a * b)
inline float __fdiv_rn(float a, float b) CUDAMM_ROUNDED(float, a / b)
inline float __frcp_rn(float a) CUDAMM_ROUNDED(float, 1 / a)
inline float __fsqrt_rn(float a) CUDAMM_ROUNDED(float, __builtin_sqrtf(a))
inline float __frsqrt_rn(float a) { return (float)(1 / __builtin_sqrt((double)a)); }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float __fmaf_ieee_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) CUDAMM_ROUNDED(double, a + b)
inline double __dsub_rn(double a, double b) CUDAMM_ROUNDED(double, a - b)
inline double __dmul_rn(double a, double b) CUDAMM_ROUNDED(double, a * b)
inline double __ddiv_rn(double a, double b) CUDAMM_ROUNDED(double, a / b)
inline double __drcp_rn(double a) CUDAMM_ROUNDED(double, 1 / a)
inline double __dsqrt_rn(double a) CUDAMM_ROUNDED(double, __builtin_sqrt(a))
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
#undef CUDAMM_ROUNDED

inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }  // NaN becomes 0
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline double fdivide(double a, double b) { return a / b; }
inline float __expf(float x) { return __builtin_expf(x); }
inline float __exp10f(float x) { return __builtin_powf(10, x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __log2f(float x) { return __builtin_log2f(x); }
inline float __log10f(float x) { return __builtin_log10f(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __tanf(float x) { return __builtin_tanf(x); }
inline float __tanhf(float x) { return __builtin_tanhf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { *sine = __builtin_sinf(x), *cosine = __builtin_cosf(x); }
inline float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
inline float rsqrt(float x) { return 1 / __builtin_sqrtf(x); }
inline float rcbrtf(float x) { return 1 / __builtin_cbrtf(x); }
inline double rcbrt(double x) { return 1 / __builtin_cbrt(x); }
inline float sinpif(float x) { return (float)__builtin_sin(3.141592653589793 * __builtin_fmod(x, 2)); }
inline double sinpi(double x) { return __builtin_sin(3.141592653589793 * __builtin_fmod(x, 2)); }
inline float cospif(float x) { return (float)__builtin_cos(3.141592653589793 * __builtin_fmod(x, 2)); }
inline double cospi(double x) { return __builtin_cos(3.141592653589793 * __builtin_fmod(x, 2)); }
inline float norm3df(float a, float b, float c) { return __builtin_sqrtf(a * a + b * b + c * c); }
inline double norm3d(double a, double b, double c) { return __builtin_sqrt(a * a + b * b + c * c); }
inline float norm4df(float a, float b, float c, float d) { return __builtin_sqrtf(a * a + b * b + c * c + d * d); }
inline double norm4d(double a, double b, double c, double d) { return __builtin_sqrt(a * a + b * b + c * c + d * d); }
inline float rnorm3df(float a, float b, float c) { return 1 / norm3df(a, b, c); }
inline float rhypotf(float a, float b) { return 1 / __builtin_hypotf(a, b); }
inline double rhypot(double a, double b) { return 1 / __builtin_hypot(a, b); }

// ---- Conversions ------------------------------------------------------------------------------------

// A number out of range becomes the nearest number in range, and NaN becomes 0, as on a GPU.
namespace cudamm {
template <class To, class From>
inline To saturated(From x) {
    constexpr To least = (To)((To)-1 < 0 ? (To)1 << (8 * sizeof(To) - 1) : 0), most = (To)~least;
    if (x != x) return 0;
    // `most` may round up to a number out of range.
    return x <= (From)least ? least : x >= (From)most ? most : (To)x;
}
}  // namespace cudamm
#define CUDAMM_TO_WHOLE(from, from_type, to, to_type)                                                         \
    inline to_type __##from##2##to##_rn(from_type x) { return cudamm::saturated<to_type>(__builtin_rint(x)); } \
    inline to_type __##from##2##to##_rz(from_type x) { return cudamm::saturated<to_type>(__builtin_trunc(x)); } \
    inline to_type __##from##2##to##_rd(from_type x) { return cudamm::saturated<to_type>(__builtin_floor(x)); } \
    inline to_type __##from##2##to##_ru(from_type x) { return cudamm::saturated<to_type>(__builtin_ceil(x)); }
CUDAMM_TO_WHOLE(float, float, int, int)
CUDAMM_TO_WHOLE(float, float, uint, unsigned)
CUDAMM_TO_WHOLE(float, float, ll, long long)
CUDAMM_TO_WHOLE(float, float, ull, unsigned long long)
CUDAMM_TO_WHOLE(double, double, int, int)
CUDAMM_TO_WHOLE(double, double, uint, unsigned)
CUDAMM_TO_WHOLE(double, double, ll, long long)
CUDAMM_TO_WHOLE(double, double, ull, unsigned long long)
#undef CUDAMM_TO_WHOLE
inline float __double2float_rn(double x) { return (float)x; }
inline float __int2float_rn(int x) { return (float)x; }
inline float __uint2float_rn(unsigned x) { return (float)x; }
inline float __ll2float_rn(long long x) { return (float)x; }
inline float __ull2float_rn(unsigned long long x) { return (float)x; }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return (double)x; }
inline double __ull2double_rn(unsigned long long x) { return (double)x; }

// ---- Memory -----------------------------------------------------------------------------------------

template <class T> CUDAMM_IN_PLACE T __ldca(const T* p) { return *p; }
template <class T> CUDAMM_IN_PLACE T __ldlu(const T* p) { return *p; }
template <class T> CUDAMM_IN_PLACE T __ldcv(const T* p) { return *p; }
template <class T> CUDAMM_IN_PLACE void __stwb(T* p, T v) { *p = v; }
template <class T> CUDAMM_IN_PLACE void __stwt(T* p, T v) { *p = v; }
// A shared address has 32 bits: the lower half of the pointer, so that arithmetic on it is that of the pointer.
inline size_t __cvta_generic_to_shared(const void* p) { return (unsigned)(size_t)p; }
CUDAMM_IN_PLACE void* __cvta_shared_to_generic(size_t address) { return cudamm::shared_pointer(address); }
inline size_t __cvta_generic_to_global(const void* p) { return (size_t)p; }
inline void* __cvta_global_to_generic(size_t address) { return (void*)address; }
inline unsigned __isShared(const void* p) { return cudamm::is_shared(p); }
// Local memory is the stack of the thread, which grows downwards to the frame of this function.
__attribute__((noinline)) inline unsigned __isLocal(const void* p) { return (size_t)p - (size_t)__builtin_frame_address(0) < 576 * 1024; }
inline unsigned __isGlobal(const void* p) { return !__isShared(p) && !__isLocal(p); }

// ---- Threads ----------------------------------------------------------------------------------------

inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) { cudamm::let_others_run(); }
inline void __trap(CUDAMM_HERE) { cudamm::stop_kernel("__trap() was called", line, file); }
inline void __brkpt(CUDAMM_HERE) { cudamm::stop_kernel("__brkpt() was called", line, file); }

// ---- Promises to the compiler -------------------------------------------------------------------------

#define __builtin_assume(condition) ((void)0)
#define __assume(condition) ((void)0)
