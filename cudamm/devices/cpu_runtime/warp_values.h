// Functions that compare or reduce a value over the lanes of a warp.
#pragma once
#include "waiting.h"

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, CUDAMM_HERE) {
    T values[32];
    const unsigned lanes = cudamm::gather(mask, &value, sizeof value, values, "__match_any_sync", line, file);
    unsigned equal = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1 && !__builtin_memcmp(&values[lane], &value, sizeof value)) equal |= 1u << lane;
    return equal;
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* all, CUDAMM_HERE) {
    T values[32];
    const unsigned lanes = cudamm::gather(mask, &value, sizeof value, values, "__match_all_sync", line, file);
    *all = 1;
    for (unsigned lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1 && __builtin_memcmp(&values[lane], &value, sizeof value)) *all = 0;
    return *all ? lanes : 0;
}

#define CUDAMM_REDUCE(name, combine)                                                             \
    template <class T>                                                                           \
    inline T name(unsigned mask, T value, CUDAMM_HERE) {                                         \
        static_assert(std::is_integral<T>::value, #name " takes int or unsigned");               \
        T values[32];                                                                            \
        const unsigned lanes = cudamm::gather(mask, &value, sizeof value, values, #name, line, file); \
        const unsigned self = cudamm::lane();                                                    \
        for (unsigned lane = 0; lane < 32; ++lane) {                                             \
            if (!(lanes >> lane & 1) || lane == self) continue;                                  \
            const T a = value, b = values[lane];                                                 \
            value = combine;                                                                     \
        }                                                                                        \
        return value;                                                                            \
    }
CUDAMM_REDUCE(__reduce_add_sync, a + b)
CUDAMM_REDUCE(__reduce_min_sync, b < a ? b : a)
CUDAMM_REDUCE(__reduce_max_sync, a < b ? b : a)
CUDAMM_REDUCE(__reduce_and_sync, a & b)
CUDAMM_REDUCE(__reduce_or_sync, a | b)
CUDAMM_REDUCE(__reduce_xor_sync, a ^ b)
#undef CUDAMM_REDUCE
