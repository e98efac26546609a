// Ways in which threads wait for each other besides __syncthreads and warp operations: barriers with phases
// (cuda::barrier, cuda::pipeline, PTX), sleep, and what a thread can ask the runtime.
#pragma once
#include "cuda_on_cpu.h"

namespace cudamm {

// A barrier in shared memory. A phase ends when `left` threads have arrived; then the next phase begins.
struct BlockBarrier {
    unsigned expected, left, phase, mark;
};
constexpr unsigned initialised_barrier = 0x0ba771e5u;  // the mark of a barrier that `init_barrier` has prepared

// The runtime reads and writes a barrier, not the kernel, because `trace` and `check` record what a kernel accesses.
void init_barrier(BlockBarrier* barrier, long long expected, int line, const char* file);
// Returns the number of the phase in which the thread arrives.
unsigned arrive_at(BlockBarrier* barrier, unsigned count, int line, const char* file);
void drop_from(BlockBarrier* barrier, int line, const char* file);
void wait_for_phase(const BlockBarrier* barrier, unsigned phase, int line, const char* file);
// Returns whether a phase has ended, after the other threads had a turn.
bool has_ended(const BlockBarrier* barrier, unsigned phase, int line, const char* file);
// Copies when the current phase of the barrier ends.
void copy_until(const BlockBarrier* barrier, void* to, const void* from, size_t size, int line, const char* file);
// The barriers of PTX: bar.sync and bar.arrive; 0 threads mean the whole block.
void meet_at(unsigned number, unsigned threads, bool waits, int line, const char* file);

// Asynchronous copies of the running thread (asynchronous_copies.h).
void check_copy(const void* to, const void* from, size_t size, size_t zfill, int line, const char* file);
void copy_later(void* to, const void* from, size_t size, size_t zfill);
void commit_copies();
void wait_for_copies(size_t prior);

void let_others_run();
// Waits until no lane of the warp can go on, and returns the lanes that wait in the same line, as those that a GPU
// executes together.
unsigned converged_lanes(int line, const char* file);
// Fills `values` with the values of all lanes that take part, and returns these lanes.
unsigned gather(unsigned mask, const void* value, size_t bytes, void* values, const char* operation, int line,
                const char* file);

// Returns the pointer of a 32-bit shared address, which is the lower half of the pointer: the shared variables of a
// block are close together, so the pointer is the one nearest to any of them.
CUDAMM_IN_PLACE char* shared_pointer(size_t address) {
    char* const near = (char*)cudamm_dynamic_shared;
    return near + (int)((unsigned)address - (unsigned)(size_t)near);
}
long long nanoseconds();
size_t dynamic_shared_size();

}  // namespace cudamm
