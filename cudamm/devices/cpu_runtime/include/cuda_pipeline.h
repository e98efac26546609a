// Asynchronous copies from global to shared memory (cp.async). A copy takes effect when its thread waits for it, not
// before: a kernel that does not wait reads the previous contents, as it may on a GPU.
#pragma once
#include "cuda_on_cpu.h"

#if defined(CUDAMM_OBSERVED)

extern "C" void cudamm_copy(void* to, const void* from, unsigned long size, unsigned long zeros);  // observe.cpp

// In a traced kernel a copy takes effect at once, and is recorded at the line that calls it.
CUDAMM_IN_PLACE void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zfill = 0) {
    cudamm_copy(to, from, size, zfill);
}
CUDAMM_IN_PLACE void __pipeline_commit() {}
CUDAMM_IN_PLACE void __pipeline_wait_prior(size_t) {}

#else

inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zfill = 0, CUDAMM_HERE) {
    cudamm::copy_later(to, from, size, zfill, line, file);
}
inline void __pipeline_commit() { cudamm::commit_copies(); }
// Waits for all groups except the last `prior`.
inline void __pipeline_wait_prior(size_t prior) { cudamm::wait_for_copies(prior); }

#endif
