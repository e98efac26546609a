// Asynchronous copies, for <cuda_pipeline.h>, <cuda/pipeline>, <cuda/barrier>, cooperative groups and PTX.
#pragma once
#include "waiting.h"

#if defined(CUDAMM_OBSERVED)
extern "C" void cudamm_copy(void* to, const void* from, unsigned long size, unsigned long zeros);  // observe.cpp
#endif

namespace cudamm {

#if defined(CUDAMM_OBSERVED)
// In a traced kernel a copy takes effect at once, and is recorded at the line that calls it.
CUDAMM_IN_PLACE void start_hardware_copy(void* to, const void* from, size_t size, size_t zfill, int, const char*) {
    cudamm_copy(to, from, size, zfill);
}
CUDAMM_IN_PLACE void start_copy(void* to, const void* from, size_t size, int, const char*) {
    cudamm_copy(to, from, size, 0);
}
CUDAMM_IN_PLACE void start_copy_until(BlockBarrier*, void* to, const void* from, size_t size, int, const char*) {
    cudamm_copy(to, from, size, 0);
}
CUDAMM_IN_PLACE void commit_group() {}
CUDAMM_IN_PLACE void wait_for_groups(size_t) {}
#else
// cp.async: 4, 8 or 16 bytes, of which the last `zfill` become zeros.
inline void start_hardware_copy(void* to, const void* from, size_t size, size_t zfill, int line, const char* file) {
    check_copy(to, from, size, zfill, line, file);
    copy_later(to, from, size, zfill);
}
// A copy of any size.
inline void start_copy(void* to, const void* from, size_t size, int, const char*) { copy_later(to, from, size, 0); }
inline void start_copy_until(BlockBarrier* barrier, void* to, const void* from, size_t size, int line, const char* file) {
    copy_until(barrier, to, from, size, line, file);
}
inline void commit_group() { commit_copies(); }
inline void wait_for_groups(size_t prior) { wait_for_copies(prior); }
#endif

// Calls `copy` for the running thread's share of a copy by a group, in the largest units that the alignment allows.
template <class Group, class Copy>
CUDAMM_IN_PLACE void for_each_unit(const Group& group, void* to, const void* from, size_t bytes, Copy copy) {
    const size_t alignment = (size_t)to | (size_t)from | bytes;
    const size_t unit = alignment % 16 == 0 ? 16 : alignment % 8 == 0 ? 8 : alignment % 4 == 0 ? 4 : 1;
    for (size_t at = group.thread_rank() * unit; at < bytes; at += group.size() * unit)
        copy((char*)to + at, (const char*)from + at, unit);
}

}  // namespace cudamm
