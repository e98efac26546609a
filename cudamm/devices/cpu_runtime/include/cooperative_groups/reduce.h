// Reductions over a group of lanes.
#pragma once
#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

template <class Group, class T, class Operation>
inline T reduce(const Group& group, T value, Operation&& operation, CUDAMM_HERE) {
    T values[32];
    unsigned left = group.gathered(value, values, "reduce", line, file);
    T result = values[__builtin_ctz(left)];
    for (left &= left - 1; left; left &= left - 1) result = operation(result, values[__builtin_ctz(left)]);
    return result;
}

}  // namespace cooperative_groups
