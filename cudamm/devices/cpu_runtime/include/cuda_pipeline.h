// Asynchronous copies from global to shared memory (cp.async). A copy takes effect when its thread waits for it, not
// before: a kernel that does not wait reads the previous contents, as it may on a GPU.
#pragma once
#include "asynchronous_copies.h"

CUDAMM_IN_PLACE void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zfill = 0, CUDAMM_HERE) {
    cudamm::start_hardware_copy(to, from, size, zfill, line, file);
}
CUDAMM_IN_PLACE void __pipeline_commit() { cudamm::commit_group(); }
// Waits for all groups except the last `prior`.
CUDAMM_IN_PLACE void __pipeline_wait_prior(size_t prior) { cudamm::wait_for_groups(prior); }
