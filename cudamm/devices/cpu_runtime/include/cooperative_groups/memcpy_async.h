// Asynchronous copies by all threads of a group.
#pragma once
#include "../cooperative_groups.h"
#include "asynchronous_copies.h"

namespace cooperative_groups {

// Each thread of the group copies its share.
template <class Group>
CUDAMM_IN_PLACE void memcpy_async(const Group& group, void* to, const void* from, size_t bytes, CUDAMM_HERE) {
    cudamm::for_each_unit(group, to, from, bytes, [&](void* a, const void* b, size_t size) CUDAMM_INLINED {
        cudamm::start_copy(a, b, size, line, file);
    });
    cudamm::commit_group();
}
template <class Group, class T, class Bytes, class = decltype((size_t)Bytes())>
CUDAMM_IN_PLACE void memcpy_async(const Group& group, T* to, const T* from, const Bytes& bytes, CUDAMM_HERE) {
    memcpy_async(group, (void*)to, (const void*)from, (size_t)bytes, line, file);
}
// Counts are numbers of elements.
template <class Group, class T, class To, class From>
CUDAMM_IN_PLACE void memcpy_async(const Group& group, T* to, const To& to_count, const T* from, const From& from_count,
                                  CUDAMM_HERE) {
    const size_t count = (size_t)to_count < (size_t)from_count ? (size_t)to_count : (size_t)from_count;
    memcpy_async(group, (void*)to, (const void*)from, count * sizeof(T), line, file);
}
template <class Group>
inline void wait(const Group& group, CUDAMM_HERE) {
    cudamm::wait_for_groups(0);
    group.sync(line, file);
}
template <unsigned STAGES, class Group>
inline void wait_prior(const Group& group, CUDAMM_HERE) {
    cudamm::wait_for_groups(STAGES);
    group.sync(line, file);
}

}  // namespace cooperative_groups
