// The kernel before this one in its stream, and the one after it: for kernels whose header has `dependent-launch`.

#pragma once

// Allow the next kernel to start. It starts when every block of this launch has called this function or has ended. All
// blocks of this launch are then running, so the next kernel cannot take a place that one of them needs.
__device__ __forceinline__ void allow_next_kernel() {
    asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
}

// Wait until the previous kernel is complete, and what it has written is visible.
__device__ __forceinline__ void wait_for_previous_kernel() { asm volatile("griddepcontrol.wait;" : : : "memory"); }
