// CUDA's execution model for a host compiler: included before a kernel file, which stays as it is.
//
// A kernel is an ordinary function here. Each CUDA thread of a block is a fiber; a barrier is a switch to
// the next fiber (runtime.cpp). The blocks of a grid are spread over the cores, one operating system thread
// each, so what a block shares (`__shared__`) is thread-local storage of that operating system thread.
#pragma once

// GCC does not report what these functions load and store, so a traced kernel calls those in observe.cpp instead, also
// through std::copy and the like.
#if defined(CUDAMM_OBSERVED) && !defined(__clang__)
extern "C" {
void* memcpy(void*, const void*, decltype(sizeof 0)) noexcept __asm__("cudamm_memcpy");
void* memmove(void*, const void*, decltype(sizeof 0)) noexcept __asm__("cudamm_memmove");
void* memset(void*, int, decltype(sizeof 0)) noexcept __asm__("cudamm_memset");
int memcmp(const void*, const void*, decltype(sizeof 0)) noexcept __asm__("cudamm_memcmp");
}
#endif

#include <type_traits>  // first: it defines the C++ library's configuration
#include <utility>

// Without the C++17 special functions (Bessel and others, unknown to device code) math.h is read in half the
// time.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// ---- Words of the language -----------------------------------------------------------------------

#define __CUDA_ARCH__ 800  // the compute capability of what the CPU device implements
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000

#define __global__ __attribute__((noinline))
#if defined(CUDAMM_OBSERVED) && !defined(CUDAMM_RECURSIVE)  // so that each call of a function has accesses of its own
#define __device__ __attribute__((always_inline))
#else
#define __device__
#endif
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__  // empty, because it is also a name of a GCC attribute
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __constant__
#define __managed__
#define __grid_constant__
// This works for both forms: a thread-local `__shared__ float s[16]` in a function is implicitly static, and
// `extern __shared__ float s[]` refers to an array that a generated file defines. Without `used`, a compiler
// replaces a variable that the kernel reads and never writes by zeros; with it, the kernel reads the poison that
// the runtime wrote. A variable begins at a multiple of 16 bytes, the largest access.
#if defined(CUDAMM_OBSERVED)  // far apart, so that an index past the end of a variable is out of all variables
#define __shared__ __attribute__((aligned(65536))) thread_local
#else
#define __shared__ __attribute__((used, aligned(16))) thread_local
#endif

// GCC does not report the store of `s[i] = f()` if f returns a structure, nor the load of `f(s[i])` if f takes one by
// value. In a traced kernel such a type has an assignment and a constructor of its own for these cases. To C++ they are
// no copies and no moves: the type stays trivially copyable. A constant `s[i]` is copied without the constructor.
#if defined(CUDAMM_OBSERVED)
#define CUDAMM_WATCHED_ASSIGNMENT(type)                                                                \
    type& operator=(const type&) = default;                                                            \
    template <class T, class = std::enable_if_t<std::is_same_v<std::remove_const_t<T>, type>>>         \
    inline __attribute__((always_inline)) type& operator=(T&& value) {                                 \
        const type& copied = value;                                                                    \
        return *this = copied;                                                                         \
    }
#else
#define CUDAMM_WATCHED_ASSIGNMENT(type)
#endif
#if defined(CUDAMM_OBSERVED) && !defined(__clang__)
#define CUDAMM_WATCHED_COPY(type)                                                                      \
    template <class T, class = std::enable_if_t<std::is_same_v<T, type>>>                              \
    inline __attribute__((always_inline)) type(T& value) {                                             \
        const type& copied = value;                                                                    \
        *this = copied;                                                                                \
    }
#else
#define CUDAMM_WATCHED_COPY(type)
#endif
// A structure that has this constructor is no aggregate, and gets one for the values in braces. A kernel that needs an
// aggregate is compiled with CUDAMM_AGGREGATES.
#if defined(CUDAMM_OBSERVED) && !defined(__clang__) && !defined(CUDAMM_AGGREGATES)
#define CUDAMM_WATCHED_VECTOR(name, first, values, ...)                                                \
    name() = default;                                                                                  \
    constexpr name(first x CUDAMM_PARAMETERS values) : __VA_ARGS__ {}                                  \
    CUDAMM_WATCHED_COPY(name) CUDAMM_WATCHED_ASSIGNMENT(name)
#define CUDAMM_PARAMETERS(...) , __VA_ARGS__
#else
#define CUDAMM_WATCHED_VECTOR(name, first, values, ...) CUDAMM_WATCHED_ASSIGNMENT(name)
#endif

struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

// ---- Vector types, aligned as on a GPU: a misaligned access is an error on both -------------------

#define CUDAMM_VECTOR1(type, name) type x; CUDAMM_WATCHED_ASSIGNMENT(name)
#define CUDAMM_VECTOR2(type, name) type x, y; CUDAMM_WATCHED_VECTOR(name, type, (type y = 0), x(x), y(y))
#define CUDAMM_VECTOR3(type, name)                                                                     \
    type x, y, z;                                                                                      \
    CUDAMM_WATCHED_VECTOR(name, type, (type y = 0, type z = 0), x(x), y(y), z(z))
#define CUDAMM_VECTOR4(type, name)                                                                     \
    type x, y, z, w;                                                                                   \
    CUDAMM_WATCHED_VECTOR(name, type, (type y = 0, type z = 0, type w = 0), x(x), y(y), z(z), w(w))
#define CUDAMM_VECTORS(type, name, bytes)                                                              \
    struct name##1 { CUDAMM_VECTOR1(type, name##1) };                                                  \
    struct alignas(2 * bytes) name##2 { CUDAMM_VECTOR2(type, name##2) };                               \
    struct name##3 { CUDAMM_VECTOR3(type, name##3) };                                                  \
    struct alignas((4 * bytes) > 16 ? 16 : (4 * bytes)) name##4 { CUDAMM_VECTOR4(type, name##4) };     \
    inline name##1 make_##name##1(type x) { return {x}; }                                              \
    inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                   \
    inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                        \
    inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
CUDAMM_VECTORS(int, int, 4)
CUDAMM_VECTORS(float, float, 4)
CUDAMM_VECTORS(double, double, 8)
typedef unsigned int uint;  // which every file that nvcc compiles knows
typedef unsigned short ushort;
typedef unsigned long ulong;
struct uint1 { CUDAMM_VECTOR1(unsigned, uint1) };
struct alignas(8) uint2 { CUDAMM_VECTOR2(unsigned, uint2) };
struct alignas(16) uint4 { CUDAMM_VECTOR4(unsigned, uint4) };
inline uint1 make_uint1(unsigned x) { return {x}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// ---- Indices of a thread --------------------------------------------------------------------------

namespace cudamm {

// Indices of the running CUDA thread, set at every switch. Each operating system thread has its own.
struct Place {
    uint3 thread_index, block_index, block_dim, grid_dim;
    unsigned thread;  // thread_index as one number
    void* recorder;   // records the accesses of a traced kernel (observe.cpp)
};
extern __thread Place place __attribute__((tls_model("initial-exec")));

void wait_for_block(int line, const char* file);
// Waits until all lanes of the mask that have not left the kernel execute the same operation with the same mask.
void wait_for_warp(unsigned mask, const char* operation, int line, const char* file);
// Publishes this thread's value of `bytes` bytes to its warp, and replaces it by the value of the warp's thread
// `lane`. If that thread does not take part, the value is undefined: a NaN, or an integer that is far off.
void exchange(unsigned mask, void* value, size_t bytes, int lane, const char* operation, int line, const char* file);
// Returns the lanes of the mask that took part and passed `predicate`, one bit each.
unsigned vote(unsigned mask, bool predicate, const char* operation, int line, const char* file);
int lane();
unsigned converged_lanes(int line, const char* file);  // waiting.h
// Returns the block-wide sum of `value`, for __syncthreads_count, __syncthreads_and and __syncthreads_or.
int block_sum(int value, int line, const char* file);
bool is_shared(const void* address);
[[noreturn]] void stop_kernel(const char* what, int line, const char* file);

}  // namespace cudamm

#define threadIdx (::cudamm::place.thread_index)
#define blockIdx (::cudamm::place.block_index)
#define blockDim (::cudamm::place.block_dim)
#define gridDim (::cudamm::place.grid_dim)
static constexpr int warpSize = 32;

// ---- Barriers and warp operations -----------------------------------------------------------------

// Line and file of the caller: a default argument is evaluated at the call.
#define CUDAMM_HERE int line = __builtin_LINE(), const char* file = __builtin_FILE()

inline void __syncthreads(CUDAMM_HERE) { cudamm::wait_for_block(line, file); }
inline int __syncthreads_count(int p, CUDAMM_HERE) { return cudamm::block_sum(p != 0, line, file); }
inline int __syncthreads_or(int p, CUDAMM_HERE) { return cudamm::block_sum(p != 0, line, file) != 0; }
inline int __syncthreads_and(int p, CUDAMM_HERE) { return cudamm::block_sum(p == 0, line, file) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu, CUDAMM_HERE) {
    cudamm::wait_for_warp(mask, "__syncwarp", line, file);
}
inline unsigned __activemask(CUDAMM_HERE) { return cudamm::converged_lanes(line, file); }

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, CUDAMM_HERE) {
    const int lane = cudamm::lane();
    const int read = (lane & ~(width - 1)) | (source & (width - 1));
    cudamm::exchange(mask, &value, sizeof value, read, "__shfl_sync", line, file);
    return value;
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, CUDAMM_HERE) {
    const int lane = cudamm::lane(), source = lane - (int)delta;
    const int read = source < (lane & ~(width - 1)) ? lane : source;
    cudamm::exchange(mask, &value, sizeof value, read, "__shfl_up_sync", line, file);
    return value;
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, CUDAMM_HERE) {
    const int lane = cudamm::lane(), source = lane + (int)delta;
    const int read = source > (lane | (width - 1)) ? lane : source;
    cudamm::exchange(mask, &value, sizeof value, read, "__shfl_down_sync", line, file);
    return value;
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, CUDAMM_HERE) {
    const int lane = cudamm::lane(), source = lane ^ bits;
    const int read = source > (lane | (width - 1)) ? lane : source;
    cudamm::exchange(mask, &value, sizeof value, read, "__shfl_xor_sync", line, file);
    return value;
}
inline unsigned __ballot_sync(unsigned mask, int predicate, CUDAMM_HERE) {
    return cudamm::vote(mask, predicate, "__ballot_sync", line, file);
}
inline int __any_sync(unsigned mask, int predicate, CUDAMM_HERE) {
    return cudamm::vote(mask, predicate, "__any_sync", line, file) != 0;
}
inline int __all_sync(unsigned mask, int predicate, CUDAMM_HERE) {
    return cudamm::vote(mask, !predicate, "__all_sync", line, file) == 0;
}

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// ---- Arithmetic functions and memory; host_compiler.py includes further headers for kernels that use them ------

template <class A, class B>
inline typename std::common_type<A, B>::type min(A a, B b) { return b < a ? b : a; }
template <class A, class B>
inline typename std::common_type<A, B>::type max(A a, B b) { return a < b ? b : a; }

// Always inline, so that an access belongs to the line of the caller.
#define CUDAMM_IN_PLACE inline __attribute__((always_inline))
#define CUDAMM_INLINED __attribute__((always_inline))  // of a lambda
template <class T> CUDAMM_IN_PLACE T __ldg(const T* p, CUDAMM_HERE) {
    if (cudamm::is_shared(p)) cudamm::stop_kernel("__ldg reads global memory only, and was given shared memory", line, file);
    return *p;
}
template <class T> CUDAMM_IN_PLACE T __ldcg(const T* p) { return *p; }
template <class T> CUDAMM_IN_PLACE T __ldcs(const T* p) { return *p; }
template <class T> CUDAMM_IN_PLACE void __stcg(T* p, T v) { *p = v; }
template <class T> CUDAMM_IN_PLACE void __stcs(T* p, T v) { *p = v; }

// ---- The interface between the runtime and the kernel -----------------------------------------------

namespace cudamm {

// An argument of the launch: the address of a buffer, a whole number, a real number, or the bytes of a struct.
struct Argument {
    void* pointer;
    long long whole;
    double real;
    const char* bytes;
    size_t byte_count;
};

[[noreturn]] void fail_size_of_struct(size_t passed, size_t compiled);

template <class T> constexpr bool is_real16 = false;  // sixteen_bits.h

template <class T>
inline T as(const Argument& a) {
    if constexpr (std::is_pointer_v<T>) return (T)a.pointer;
    else if constexpr (std::is_floating_point_v<T>) return (T)a.real;
    else if constexpr (is_real16<T>) return (T)a.real;
    else if constexpr (std::is_class_v<T>) {
        static_assert(std::is_trivially_copyable_v<T>, "a struct that a kernel takes by value is copied byte by byte");
        if (a.byte_count != sizeof(T)) fail_size_of_struct(a.byte_count, sizeof(T));
        alignas(T) char memory[sizeof(T)];
        memcpy(memory, a.bytes, sizeof(T));
        return *reinterpret_cast<T*>(memory);
    } else return (T)a.whole;
}

template <class... P, size_t... I>
inline void call(void (*kernel)(P...), const Argument* arguments, std::index_sequence<I...>) {
    kernel(as<std::remove_cv_t<P>>(arguments[I])...);
}
// LEAST_BYTES is the size of the smallest elements of A, B and C.
template <size_t LEAST_BYTES, class... P>
inline void call(void (*kernel)(P...), const Argument* arguments) {
    static_assert(LEAST_BYTES <= 2 || !(... || (std::is_pointer_v<P> && is_real16<std::remove_cv_t<std::remove_pointer_t<P>>>)),
                  "the kernel's matrices are half or bfloat16, and cudamm would pass matrices of another type");
    call(kernel, arguments, std::index_sequence_for<P...>());
}
// The kernel and its constants; the generated main file defines `kernel`.
struct Constant { const char* name; void* address; size_t bytes; };
struct Kernel {
    void (*call)(const Argument*);
    const Constant* constants;
    int constant_count;
};
extern const Kernel kernel;

// Maximum dynamic shared memory of a block on any GPU so far (compute capability 9.0 and 10.0), in bytes.
constexpr size_t largest_dynamic_shared = 227 * 1024;
// Bytes behind the array that are filled before each block and checked after it, to detect writes past the array.
constexpr size_t dynamic_shared_guard = 1024;

// Size of this kernel's array: the maximum plus the guard, or 0 if the kernel declares no dynamic array.
extern const size_t dynamic_shared_bytes;

}  // namespace cudamm

// The dynamic shared memory of a block, at which every `extern __shared__` array of the kernel starts.
extern "C" __thread unsigned char cudamm_dynamic_shared[] __attribute__((tls_model("initial-exec")));
