// Cooperative groups on the CPU device: the group of all threads of a block.
#pragma once
#include "cuda_on_cpu.h"

namespace cooperative_groups {

class thread_block {
public:
    static void sync(CUDAMM_HERE) { __syncthreads(line, file); }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};

inline thread_block this_thread_block() { return {}; }
inline void sync(const thread_block&, CUDAMM_HERE) { __syncthreads(line, file); }

}  // namespace cooperative_groups
