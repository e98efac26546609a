// What <cuda/atomic>, <cuda/barrier> and <cuda/pipeline> share.
#pragma once
#include "asynchronous_copies.h"

#include "std/cstddef"
#include "std/utility"

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

// A size in bytes that is a multiple of ALIGNMENT, as are the addresses.
template <size_t ALIGNMENT>
struct aligned_size_t {
    static constexpr size_t align = ALIGNMENT;
    size_t value;
    constexpr explicit aligned_size_t(size_t bytes) : value(bytes) {}
    constexpr operator size_t() const { return value; }
};

}  // namespace cuda
