// The kernel before this one in its stream, and the one after it: for kernels whose header has `dependent-launch`.

#pragma once

// Say that this block no longer keeps the next kernel from starting. That one may start when all blocks of this launch
// have said so, or have ended. So all of them have started by then: blocks of a launch may wait for one another, and
// those of the next one take no place that they need.
__device__ __forceinline__ void allow_next_kernel() {
    asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
}

// Wait until the previous kernel is complete, and what it has written is visible.
__device__ __forceinline__ void wait_for_previous_kernel() { asm volatile("griddepcontrol.wait;" : : : "memory"); }
