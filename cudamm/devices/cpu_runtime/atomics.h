// Atomic functions. `_block` and `_system` name the threads that see the operation as one; here all threads do.
#pragma once
#include "cuda_on_cpu.h"

// Replaces `old` by `expression`, which may contain `old` and the arguments, and returns `old`. The exchange is weak
// because observe.cpp counts all attempts of a weak one as one operation, which it is on a GPU.
#define CUDAMM_ATOMIC(name, expression)                                                            \
    template <class T, class V>                                                                    \
    CUDAMM_IN_PLACE std::remove_cv_t<T> name(T* address, V given) {                                   \
        std::remove_cv_t<T> old, next;                                                                \
        const std::remove_cv_t<T> value = (std::remove_cv_t<T>)given;                                    \
        __atomic_load(address, &old, __ATOMIC_RELAXED);                                            \
        do next = expression;                                                                      \
        while (!__atomic_compare_exchange(address, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
        return old;                                                                                \
    }
#define CUDAMM_ATOMIC_SCOPES(name, expression)                                                     \
    CUDAMM_ATOMIC(name, expression)                                                                \
    CUDAMM_ATOMIC(name##_block, expression)                                                        \
    CUDAMM_ATOMIC(name##_system, expression)

CUDAMM_ATOMIC_SCOPES(atomicAdd, old + value)
CUDAMM_ATOMIC_SCOPES(atomicSub, old - value)
CUDAMM_ATOMIC_SCOPES(atomicMin, value < old ? value : old)
CUDAMM_ATOMIC_SCOPES(atomicMax, old < value ? value : old)
CUDAMM_ATOMIC_SCOPES(atomicAnd, old & value)
CUDAMM_ATOMIC_SCOPES(atomicOr, old | value)
CUDAMM_ATOMIC_SCOPES(atomicXor, old ^ value)
CUDAMM_ATOMIC_SCOPES(atomicInc, old >= value ? 0 : old + 1)
CUDAMM_ATOMIC_SCOPES(atomicDec, old == 0 || old > value ? value : old - 1)
#undef CUDAMM_ATOMIC
#undef CUDAMM_ATOMIC_SCOPES

#define CUDAMM_EXCHANGES(exchange, compare_and_swap)                                               \
    template <class T, class V>                                                                    \
    CUDAMM_IN_PLACE std::remove_cv_t<T> exchange(T* address, V value) {                               \
        std::remove_cv_t<T> desired = value, old;                                                     \
        __atomic_exchange(address, &desired, &old, __ATOMIC_RELAXED);                              \
        return old;                                                                                \
    }                                                                                              \
    template <class T, class E, class D>                                                           \
    CUDAMM_IN_PLACE std::remove_cv_t<T> compare_and_swap(T* address, E compare, D value) {            \
        std::remove_cv_t<T> expected = compare, desired = value;                                      \
        __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
        return expected;                                                                           \
    }
CUDAMM_EXCHANGES(atomicExch, atomicCAS)
CUDAMM_EXCHANGES(atomicExch_block, atomicCAS_block)
CUDAMM_EXCHANGES(atomicExch_system, atomicCAS_system)
#undef CUDAMM_EXCHANGES
