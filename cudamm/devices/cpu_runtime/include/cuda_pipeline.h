// Copies from global to shared memory that go on while the thread computes (cp.async). A copy is seen once it has
// been waited for, and not before: a kernel that forgets to wait reads what was there, as it may on a GPU.
#pragma once
#include "cuda_on_cpu.h"

#if defined(CUDAMM_OBSERVED)

// Each an access of its size, in the line that calls it.
CUDAMM_IN_PLACE void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zfill = 0) {
    if (size == 16 && !zfill) *(float4*)to = *(const float4*)from;
    else if (size == 8 && !zfill) *(float2*)to = *(const float2*)from;
    else if (size == 4 && !zfill) *(float*)to = *(const float*)from;
    else
        for (size_t i = 0; i < size; ++i) ((char*)to)[i] = i < size - zfill ? ((const char*)from)[i] : 0;
}
CUDAMM_IN_PLACE void __pipeline_commit() {}
CUDAMM_IN_PLACE void __pipeline_wait_prior(size_t) {}

#else

inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zfill = 0, CUDAMM_HERE) {
    cudamm::copy_later(to, from, size, zfill, line, file);
}
inline void __pipeline_commit() { cudamm::commit_copies(); }
// All groups but the last `prior` are there.
inline void __pipeline_wait_prior(size_t prior) { cudamm::wait_for_copies(prior); }

#endif
