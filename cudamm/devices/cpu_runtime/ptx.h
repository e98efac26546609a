// Functions that translated inline PTX calls (cudamm/compile/inline_ptx.py).
#pragma once
#include "asynchronous_copies.h"
#include "atomics.h"
#include "intrinsics.h"
#include "sixteen_bits.h"
#include "tensor_cores.h"
#include "warp_values.h"

namespace cudamm::ptx {

// Returns the bits of a register as a type: its lower bits if the type is smaller, zeros above them if it is larger.
template <class To, class From>
CUDAMM_IN_PLACE To get(From from) {
    if constexpr (sizeof(To) == sizeof from || std::is_floating_point_v<From> || std::is_floating_point_v<To>) {
        To to = To();
        __builtin_memcpy(&to, &from, sizeof to < sizeof from ? sizeof to : sizeof from);
        return to;
    } else if constexpr (std::is_same_v<To, bool>) {
        return from != 0;
    } else {
        return (To)from;  // which extends the sign of a constant
    }
}
// Sets a register to a value of a type; a smaller value is extended, with its sign if it has one.
template <class Type, class Register>
CUDAMM_IN_PLACE void set(Register& to, Type value) {
    if constexpr (sizeof to == sizeof value || std::is_floating_point_v<Register> || std::is_floating_point_v<Type>)
        to = get<Register>(value);
    else to = (Register)value;
}
// Converts the expression of an operand to its register: a pointer, a number, or an enumeration.
template <class Register, class T>
CUDAMM_IN_PLACE Register in(T value) {
    if constexpr (std::is_pointer_v<T>) return (Register)(size_t)value;
    else if constexpr (std::is_class_v<T>) return get<Register>(value);
    else return (Register)value;
}
template <class T, class Register>
CUDAMM_IN_PLACE void out(T& to, Register value) {
    if constexpr (std::is_pointer_v<T>) to = (T)(size_t)value;
    else if constexpr (std::is_class_v<T>) to = get<T>(value);
    else to = (T)value;
}

inline unsigned warps_of_block() { return (blockDim.x * blockDim.y * blockDim.z + 31) / 32; }

template <class T, int N>
struct alignas(N * sizeof(T)) Vector { T at[N]; };

template <class T>
CUDAMM_IN_PLACE T atomic_load(T* p) {
    T value;
    __atomic_load(p, &value, __ATOMIC_ACQUIRE);
    return value;
}
template <class T>
CUDAMM_IN_PLACE void atomic_store(T* p, T value) { __atomic_store(p, &value, __ATOMIC_RELEASE); }

inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double square_root(double x) { return __builtin_sqrt(x); }
template <class T>
inline T saturated(T x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
template <class To, class From>
inline To clamped(From x) {
    constexpr __int128 least = (To)-1 < 0 ? -((__int128)1 << (8 * sizeof(To) - 1)) : 0;
    constexpr __int128 most = least + (((__int128)1 << 8 * sizeof(To)) - 1);
    return (__int128)x < least ? (To)least : (__int128)x > most ? (To)most : (To)x;
}
template <class T>
inline T high_product(T a, T b) {
    using Wide = std::conditional_t<((T)-1 < 0), __int128, unsigned __int128>;
    return (T)((Wide)a * b >> 8 * sizeof(T));
}
template <class T>
inline T shl(T x, unsigned by) { return by < 8 * sizeof x ? (T)(x << by) : 0; }
template <class T>
inline T shr(T x, unsigned by) { return by < 8 * sizeof x ? (T)(x >> by) : x < 0 ? (T)-1 : 0; }
template <class T>
inline T bfe(T x, unsigned at, unsigned count) {
    constexpr unsigned width = 8 * sizeof x;
    at &= 0xff, count &= 0xff;
    if (!count || at >= width) return count && x < 0 ? (T)-1 : 0;
    if (count > width - at) count = width - at;
    return (T)(x << (width - at - count)) >> (width - count);
}
template <class T>
inline T bfi(T bits, T into, unsigned at, unsigned count) {
    constexpr unsigned width = 8 * sizeof into;
    if (at >= width || !count) return into;
    const T mask = (T)((count >= width ? ~(T)0 : ((T)1 << count) - 1) << at);
    return (into & ~mask) | (bits << at & mask);
}
inline unsigned prmt(unsigned a, unsigned b, unsigned selector) {
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned byte = __byte_perm(a, b, selector >> 4 * i & 7) & 0xff;
        result |= (selector >> 4 * i & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << 8 * i;
    }
    return result;
}
inline unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
    unsigned result = 0;
    for (unsigned i = 0; i < 8; ++i)
        if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}

// A shuffle with the operands of PTX: `c` has the limit of the lanes in its lower bits, and the bits of a lane that
// are the number of its segment from bit 8. Returns whether the lane that was asked for is in the segment.
inline bool shuffled(unsigned& value, int lane, int source, bool is_valid, unsigned mask, const char* name, int line,
                     const char* file) {
    exchange(mask, &value, sizeof value, is_valid ? source : lane, name, line, file);
    return is_valid;
}
inline bool shuffle_up(unsigned& value, unsigned b, unsigned c, unsigned mask, int line, const char* file) {
    const int lane = cudamm::lane(), segment = c >> 8 & 31, least = lane & segment | (c & 31) & ~segment;
    const int source = lane - (int)(b & 31);
    return shuffled(value, lane, source, source >= least, mask, "shfl.sync.up", line, file);
}
inline bool shuffle_down(unsigned& value, unsigned b, unsigned c, unsigned mask, int line, const char* file) {
    const int lane = cudamm::lane(), segment = c >> 8 & 31, most = lane & segment | (c & 31) & ~segment;
    const int source = lane + (int)(b & 31);
    return shuffled(value, lane, source, source <= most, mask, "shfl.sync.down", line, file);
}
inline bool shuffle_bfly(unsigned& value, unsigned b, unsigned c, unsigned mask, int line, const char* file) {
    const int lane = cudamm::lane(), segment = c >> 8 & 31, most = lane & segment | (c & 31) & ~segment;
    const int source = lane ^ (int)(b & 31);
    return shuffled(value, lane, source, source <= most, mask, "shfl.sync.bfly", line, file);
}
inline bool shuffle_idx(unsigned& value, unsigned b, unsigned c, unsigned mask, int line, const char* file) {
    const int lane = cudamm::lane(), segment = c >> 8 & 31, most = lane & segment | (c & 31) & ~segment;
    const int source = lane & segment | (int)(b & 31) & ~segment;
    return shuffled(value, lane, source, source <= most, mask, "shfl.sync.idx", line, file);
}

// ldmatrix: lane 8 i + r reads row r of matrix i, 16 bytes, and gets its part of each matrix: two numbers of 16 bits.
CUDAMM_IN_PLACE void load_matrices(unsigned* parts, const char* row, unsigned count, bool transposed, int line,
                                   const char* file) {
    compute_together(parts, nullptr, "ldmatrix", line, file);
    Vector<unsigned, 4> numbers = {};
    if ((unsigned)cudamm::lane() < 8 * count) {
        if ((size_t)row % 16) stop_kernel("ldmatrix got an address that is no multiple of 16 bytes", line, file);
        numbers = *(const Vector<unsigned, 4>*)row;
    }
    share_rows(parts, &numbers, count, transposed, line, file);
}

}  // namespace cudamm::ptx
