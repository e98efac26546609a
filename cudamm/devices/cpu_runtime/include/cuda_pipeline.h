// Copies from global to shared memory that go on while the thread computes (cp.async). A copy is seen once it has
// been waited for, and not before: a kernel that forgets to wait reads what was there, as it may on a GPU.
#pragma once
#include "cuda_on_cpu.h"

#if defined(CUDAMM_OBSERVED)

// Each an access of its size, in the line that calls it.
CUDAMM_IN_PLACE void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zfill = 0) {
    if (zfill && zfill < size) {  // in parts, which a GPU does at once
        for (size_t i = 0; i < size / 4; ++i) ((float*)to)[i] = 4 * i < size - zfill ? ((const float*)from)[i] : 0;
    } else if (size == 16) {
        *(float4*)to = zfill ? float4{} : *(const float4*)from;
    } else if (size == 8) {
        *(float2*)to = zfill ? float2{} : *(const float2*)from;
    } else {
        *(float*)to = zfill ? 0 : *(const float*)from;
    }
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
