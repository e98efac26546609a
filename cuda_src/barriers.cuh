// Barriers in shared memory, and the copies that arrive at them: instructions of GPUs from sm_90 on, each behind a
// named function.
//
// The copy engine (Tensor Memory Accelerator) works while the threads do something else, and takes no part in
// __syncthreads. It takes part in a barrier in shared memory (*mbarrier*): threads arrive there, the engine counts the
// bytes that it has written, and threads that wait go on when both numbers are complete.

#pragma once
#include <cuda.h>

// Return a pointer's address within shared memory: 32 bits, as the instructions expect it.
__device__ __forceinline__ unsigned shared_address(const void *pointer) {
    return __cvta_generic_to_shared(pointer);
}

// ---- Barriers in shared memory ------------------------------------------------------------------------------------

typedef unsigned long long Barrier;

// Make the barrier ready for use. It counts in phases: a phase ends after this number of arrivals, and when all bytes
// that were announced (`barrier_arrive_expect`) have arrived too. Then the next phase begins.
__device__ __forceinline__ void barrier_init(Barrier *barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Arrive: this thread has finished what others wait for.
__device__ __forceinline__ void barrier_arrive(Barrier *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(shared_address(barrier)) : "memory");
}

// Arrive, and announce a number of bytes, which the copy engine counts at the barrier as it writes them.
__device__ __forceinline__ void barrier_arrive_expect(Barrier *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 : : "r"(shared_address(barrier)), "r"(bytes) : "memory");
}

// Wait until the phase of this parity has ended. Phases have parity 0, 1, 0, 1, … A wait for parity 1 returns at once
// during the first phase, as if a phase before it had ended.
__device__ __forceinline__ void barrier_wait(Barrier *barrier, int parity) {
    const unsigned address = shared_address(barrier);
    int ended;
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.b32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(ended) : "r"(address), "r"(parity) : "memory");
    } while (!ended);
}

// Make this thread's writes to shared memory, also those to barriers, visible to the copy engine and the tensor cores.
// These reach memory by another way than the threads, the *async proxy*.
__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }

// ---- The copy engine ----------------------------------------------------------------------------------------------

// Start the copy of a *box*, the rectangle of a matrix that one instruction copies. The tensor map declares its size
// and swizzle. It begins at (row, column) of the matrix, and at a multiple of 1024 bytes in shared memory. The barrier
// counts its bytes. The engine stores zeros where the box reaches beyond the matrix.
__device__ __forceinline__ void copy_box(void *target, const CUtensorMap *map, int row, int column, Barrier *barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 : : "r"(shared_address(target)), "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
                 : "memory");
}
