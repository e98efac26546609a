// Prefix sums over a group of lanes.
#pragma once
#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Operation = plus<T>>
inline T inclusive_scan(const Group& group, T value, Operation&& operation = {}, CUDAMM_HERE) {
    T values[32];
    const unsigned lanes = group.gathered(value, values, "inclusive_scan", line, file);
    unsigned left = lanes & (2u << cudamm::lane()) - 1;
    T result = values[__builtin_ctz(left)];
    for (left &= left - 1; left; left &= left - 1) result = operation(result, values[__builtin_ctz(left)]);
    return result;
}
template <class Group, class T, class Operation = plus<T>>
inline T exclusive_scan(const Group& group, T value, Operation&& operation = {}, CUDAMM_HERE) {
    T values[32];
    const unsigned lanes = group.gathered(value, values, "exclusive_scan", line, file);
    unsigned left = lanes & (1u << cudamm::lane()) - 1;
    if (!left) return T();
    T result = values[__builtin_ctz(left)];
    for (left &= left - 1; left; left &= left - 1) result = operation(result, values[__builtin_ctz(left)]);
    return result;
}

}  // namespace cooperative_groups
