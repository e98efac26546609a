// What of CUDA's language and its functions of one thread works; CHECK writes 1 to the row of C with its line number.
//
// types:   int32
// args:    C
// threads: 64
// grid:    1
// shared-bytes: 256

#include <climits>
#include <cmath>

#define CHECK(value, expected)                                                            \
    do {                                                                                  \
        C[64 * __LINE__ + t] = (long long)(value) == (long long)(expected) ? 1 : 2;       \
        __syncthreads();                                                                  \
    } while (0)
#define THOUSANDTHS(x) (int)(1000 * (x) + ((x) < 0 ? -0.5 : 0.5))

__constant__ int seven = 7;
__device__ int in_global[64];
__managed__ int managed = 3;

__device__ __noinline__ int plus_one(int x) { return x + 1; }
__device__ __forceinline__ int twice(int x) { return 2 * x; }
struct __align__(16) Aligned { int x; };
__device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
struct Base { __device__ virtual int f() const { return 1; } };
struct Two : Base { __device__ int f() const override { return 2; } };
template <int N> __device__ int power(int x) {
    if constexpr (N == 0) return 1;
    else return x * power<N - 1>(x);
}

__global__ void __launch_bounds__(64) functions(int *__restrict__ C) {
    const int t = threadIdx.x;

    // feature: Indices and sizes
    CHECK(threadIdx.x + blockIdx.x * blockDim.x, t);
    CHECK(warpSize + gridDim.x * gridDim.y * gridDim.z, 33);

    // feature: Memory: `__shared__`, `extern __shared__`, `__constant__`, `__device__`, `__managed__`
    extern __shared__ int dynamic[];
    __shared__ int own[64];
    __shared__ alignas(64) float aligned[64];
    dynamic[t] = own[t] = aligned[t] = in_global[t] = t;
    __syncthreads();
    CHECK(dynamic[63 - t] + own[t ^ 1] + aligned[0] + in_global[63], 63 - t + (t ^ 1) + 63);
    CHECK(seven + managed, 10);
    CHECK((size_t)aligned % 64, 0);

    // feature: Words: `__noinline__`, `__forceinline__`, `__launch_bounds__`, `__restrict__`, `#pragma unroll`, `__align__`, `__builtin_assume`
    int sum = 0;
#pragma unroll 4
    for (int i = 0; i < 8; ++i) sum += twice(i);
    __builtin_assume(t >= 0);
    CHECK(sum, 56);
    CHECK(plus_one(t), t + 1);
    CHECK(alignof(Aligned) + sizeof(Aligned), 32);
    CHECK(((const int *)__builtin_assume_aligned(own, 4))[t], t);

    // feature: C++: templates, lambdas, recursion, function pointers, virtual functions, `new` and `malloc`
    int (*function)(int) = factorial;
    const Two two;
    const Base &base = two;
    int *allocated = new int[2];
    allocated[1] = t;
    CHECK(function(5), 120);
    CHECK(base.f() + power<3>(2) + [&](int x) { return x + t; }(1), 11 + t);
    CHECK(allocated[1], t);
    delete[] allocated;

    // feature: `__CUDA_ARCH__`, which is 800
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const bool is_newer = true;
#else
    const bool is_newer = false;
#endif
    CHECK(is_newer, 1);

    // feature: Vector types, `make_float4` and the like, `dim3`
    const float4 four = make_float4(1, 2, 3, 4);
    const uchar4 bytes = make_uchar4(1, 2, 3, 255);
    const longlong2 wide = make_longlong2(5, -6);
    const ulong2 unsigned_wide = make_ulong2(5, 6);
    const short3 three = make_short3(1, 2, 3);
    const dim3 extent(4, 5);
    const uint3 converted = extent;
    CHECK(four.x + 10 * four.w, 41);
    CHECK(bytes.z + bytes.w, 258);
    CHECK(wide.x * wide.y, -30);
    CHECK(unsigned_wide.y + three.z, 9);
    CHECK(extent.x * extent.y * extent.z + converted.y, 25);
    CHECK(sizeof(float3) + alignof(double2) + alignof(char2) + alignof(uint4) + alignof(float4), 62);

    // feature: Whole numbers: `__popc`, `__clz`, `__ffs`, `__brev`, `__byte_perm`, `__funnelshift_l`, `__mul24`, `__mulhi`, `__umul64hi`, `__sad`, `__hadd`, `__dp4a`, `__dp2a_lo`
    CHECK(__popc(0xf0f0u) + __popcll(0xff00000000ull), 16);
    CHECK(__clz(1) + 100 * __clz(0) + __clzll(1), 31 + 3200 + 63);
    CHECK(__ffs(8) + 10 * __ffs(0) + __ffsll(1ll << 40), 45);
    CHECK(__brev(1u), 0x80000000u);
    CHECK(__brevll(3ull), 0xc000000000000000ull);
    CHECK(__byte_perm(0x33221100u, 0x77665544u, 0x7250), 0x77225500);
    CHECK(__funnelshift_l(0x80000000u, 1u, 1), 3);
    CHECK(__funnelshift_r(0x80000000u, 1u, 1), 0xc0000000u);
    CHECK(__funnelshift_lc(5u, 6u, 40) + __funnelshift_rc(5u, 6u, 40), 11);
    CHECK(__mul24(0x1000003, -2) + (int)__umul24(3, 4), 6);
    CHECK(__mulhi(1 << 30, -8) + (int)__umulhi(1u << 31, 6u), 1);
    CHECK(__mul64hi(1ll << 62, 12) + (int)__umul64hi(1ull << 63, 4ull), 5);
    CHECK(__sad(-3, 4, 10u) + __usad(9u, 4u, 1u), 23);
    CHECK(__hadd(-3, 4) + 10 * __rhadd(3, 4) + (int)__uhadd(7u, 8u) + (int)__urhadd(7u, 8u), 55);
    CHECK(__dp4a(0x01020304, 0x01ff0101, 5), 5 + 4 * 1 + 3 * 1 + 2 * -1 + 1 * 1);
    CHECK(__dp4a(0x01020304u, 0x01ff0101u, 5u), 5 + 4 * 1 + 3 * 1 + 2 * 255 + 1 * 1);
    CHECK(__dp2a_lo(0x00020003, 0x0405, 1) + __dp2a_hi(0x00020003, 0x04050000, 1), 2 * (1 + 3 * 5 + 2 * 4));

    // feature: Bits of real numbers: `__float_as_int`, `__uint_as_float`, `__double_as_longlong`, `__hiloint2double`, …
    CHECK(__float_as_int(1.0f), 0x3f800000);
    CHECK(__float_as_uint(-2.0f), 0xc0000000u);
    CHECK(__uint_as_float(0x40400000u) + __int_as_float(0x40800000), 7);
    CHECK((__double_as_longlong(1.0) >> 32) + __double2hiint(1.0) + __double2loint(1.0), 2ll * 0x3ff00000);
    CHECK(__longlong_as_double(0x4008000000000000ll) + __hiloint2double(0x40080000, 0), 6);

    // feature: Rounded arithmetic: `__fadd_rn`, `__fmul_rn`, `__fmaf_rn`, `__frcp_rn`, `__fsqrt_rn`, `__dadd_rn`, … and `_rd`, `_ru`, `_rz`
    CHECK(__fadd_rn(1, 2) + __fsub_rn(5, 1) + __fmul_rn(2, 3) + __fdiv_rn(8, 2), 17);
    CHECK(__fmaf_rn(2, 3, 4) + 8 * __frcp_rn(4) + __fsqrt_rn(9) + 4 * __frsqrt_rn(4), 17);
    CHECK(__dadd_rn(1, 2) + __dsub_rn(5, 1) + __dmul_rn(2, 3) + __ddiv_rn(8, 2) + __fma_rn(2, 3, 4), 27);
    CHECK(8 * __drcp_rn(4) + __dsqrt_rn(9), 5);
    CHECK(__float_as_int(__fdiv_ru(1, 3)) - __float_as_int(__fdiv_rd(1, 3)), 1);
    CHECK(__fadd_rz(1, 1e-9f) == 1.0f && __fadd_ru(1, 1e-9f) > 1.0f, 1);
    CHECK(__fmaf_rd(-1, 1, -1e-9f) < -1.0f && __dmul_ru(1.0 / 3, 3) > __dmul_rd(1.0 / 3, 3), 1);

    // feature: Fast mathematics: `__fdividef`, `__expf`, `__logf`, `__powf`, `__sinf`, `__saturatef`, …
    float sine, cosine;
    __sincosf(0.5f, &sine, &cosine);
    CHECK(THOUSANDTHS(__expf(1) + __exp10f(0.5f)), 5881);
    CHECK(THOUSANDTHS(__logf(5) + __log2f(5) + __log10f(5)), 4630);
    CHECK(THOUSANDTHS(__powf(2, 0.5f)), 1414);
    CHECK(THOUSANDTHS(__sinf(1) + __cosf(1) + __tanf(1)), 2939);
    CHECK(THOUSANDTHS(sine + cosine), 1357);
    CHECK(4 * __saturatef(0.5f) + 10 * __saturatef(7) + __saturatef(-1) + __saturatef(NAN), 12);
    CHECK(__fdividef(9, 3) + fdividef(8, 2), 7);

    // feature: Functions that C++ lacks: `rsqrtf`, `rsqrt`, `rcbrtf`, `sinpif`, `norm3df`, `exp10f`, `sincosf`, …
    sincosf(0.5f, &sine, &cosine);
    CHECK(THOUSANDTHS(rsqrtf(4) + rsqrt(16.0) + rcbrtf(8)), 1250);
    CHECK(THOUSANDTHS(sinpif(0.5f) + cospif(1) + sinpi(0.25)), 707);
    CHECK(THOUSANDTHS(norm3df(1, 2, 2) + norm4d(1, 1, 1, 1) + rhypot(3.0, 4.0)), 5200);
    CHECK(THOUSANDTHS(sine + cosine + exp10f(2)), 101357);

    // feature: `min`, `max`, `abs`, `fminf`, `fmaf`, `isnan` and C++'s other functions
    CHECK(min(3, 4) + max(3u, 4u) + min(2.5f, 3.5f) + max(2.0, 3.0f) + min(9ll, 8ll), 20);
    CHECK(umin(3u, 4u) + llmax(5ll, -6ll) + ullmin(7ull, 9ull), 15);
    CHECK(abs(-3) + abs(-2.5f) + fabsf(-4) + llabs(-5ll), 14);
    CHECK(fminf(1, 2) + fmaxf(3, 4) + fma(2.0, 3.0, 4.0) + fmaf(1, 1, 1), 17);
    CHECK(isnan(NAN) && isinf(INFINITY) && !isfinite(INFINITY) && signbit(-0.0f), 1);
    CHECK(floorf(2.7f) + ceilf(2.1f) + roundf(2.5f) + rintf(2.5f) + truncf(-2.5f), 8);
    CHECK(THOUSANDTHS(expf(1) + logf(2) + powf(2, 3) + sqrtf(2) + cbrtf(27) + hypotf(3, 4)), 20826);

    // feature: Conversions: `__float2int_rn`, `__int2float_rz`, `__double2ll_rd`, `__uint2double_rn`, …
    CHECK(__float2int_rn(2.5f) + 10 * __float2int_ru(2.1f) + 100 * __float2int_rd(-2.1f) + __float2int_rz(-2.9f), -270);
    CHECK(__float2int_rn(1e20f) == INT_MAX && __float2uint_rn(-1.0f) == 0, 1);
    CHECK(__double2ll_rd(-2.5) + __double2uint_rn(3.5) + __double2int_rz(7.9), 8);
    CHECK(__float_as_int(__int2float_ru(16777217)) - __float_as_int(__int2float_rd(16777217)), 1);
    CHECK(__uint2float_rn(3) + __ll2float_rn(4) + __int2double_rn(5) + __double2float_rn(6), 18);

    // feature: Clocks: `clock`, `clock64`
    const long long before = clock64();
    CHECK(clock64() >= before && clock() != 0, 1);

    // feature: Cache hints: `__ldg`, `__ldca`, `__ldcg`, `__ldcs`, `__ldlu`, `__ldcv`, `__stwb`, `__stcg`, `__stcs`, `__stwt`
    int *const one = in_global + t;
    CHECK(__ldg(one) + __ldca(one) + __ldcg(one) + __ldcs(one) + __ldlu(one) + __ldcv(one), 6 * t);
    CHECK(__ldg((const int4 *)in_global + t % 16).w, 4 * (t % 16) + 3);
    __stwb(one, 1), __stcg(one, 2), __stcs(one, 3), __stwt(one, t + 5);
    CHECK(in_global[t], t + 5);

    // feature: Address spaces: `__isShared`, `__isGlobal`, `__isLocal`, `__cvta_generic_to_shared`, `__cvta_shared_to_generic`
    int local[2] = {t, t + 1};
    const unsigned address = (unsigned)__cvta_generic_to_shared(own + t);
    CHECK(__isShared(own) && __isGlobal(in_global) && __isLocal(local + t % 2), 1);
    CHECK(__isShared(in_global) || __isGlobal(own) || __isShared(local) || __isLocal(own), 0);
    CHECK(*(int *)__cvta_shared_to_generic(address), t);

    // feature: Atomic functions, also with `_block` and `_system`
    __shared__ int n[4];
    __shared__ unsigned u[5];
    __shared__ float f;
    __shared__ double d;
    __shared__ unsigned long long l;
    __shared__ unsigned short h;
    if (t == 0) f = d = l = h = n[0] = n[1] = n[2] = n[3] = u[0] = u[2] = u[3] = u[4] = 0, u[1] = ~0u;
    __syncthreads();
    atomicAdd(n, 1), atomicSub(n + 1, t), atomicMax(n + 2, t), atomicMin_block(n + 3, -t);
    atomicOr(u, 1u << t % 32), atomicAnd_block(u + 1, ~(1u << t % 4)), atomicXor_system(u + 2, 1u << t % 32);
    atomicInc(u + 3, 9u), atomicDec(u + 4, 9u);
    atomicAdd(&f, 0.5f), atomicAdd_block(&d, 0.25), atomicAdd_system(&l, 1ull << 33);
    if (t == 5) h = atomicCAS(&h, (unsigned short)0, (unsigned short)8) + 9;
    __syncthreads();
    CHECK(n[0] == 64 && n[1] == -2016 && n[2] == 63 && n[3] == -63, 1);
    CHECK(u[0] == ~0u && u[1] == ~15u && u[2] == 0 && u[3] == 4 && u[4] == 6, 1);
    CHECK(f == 32 && d == 16 && l == 64ull << 33 && h == 9, 1);
    if (t == 1) n[0] = atomicExch(n, 7) + atomicCAS(n, 7, 9) + atomicCAS(n, 7, 1);
    __syncthreads();
    CHECK(n[0], 64 + 7 + 9);
}
