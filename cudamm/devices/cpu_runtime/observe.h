// Interface between runtime.cpp and observe.cpp, for a kernel that is traced.
#pragma once

#include "cuda_on_cpu.h"

namespace cudamm {

// A matrix operation lets the lanes of a warp wait for each other, and does not order their accesses to memory.
enum class Stop { at_block, at_warp, in_matrix_operation, ended };

// Functions of observe.cpp that runtime.cpp calls; `observing` is null if the kernel is not traced.
struct Observing {
    bool (*command)(const char* name);  // runs a command of observe.cpp, or returns false; strtok reads the line
    void (*block_begins)(unsigned long long index, uint3 block, dim3 threads, size_t shared_bytes);
    bool (*thread_begins)(unsigned thread);  // returns false if the thread is not to be run
    void (*stops)(unsigned thread, Stop where);  // not called for the thread that completes a block's barrier
    void (*all_at_barrier)();
    void (*block_ends)();
    void (*failed)();  // called before the process ends after a fault: writes the report
    // Called in a signal handler after a fault of a kind: with the address of the instruction, or null for the last access.
    void (*stopped)(const char* kind, const char* address);
};
extern const Observing* observing;

struct Span {
    char name[64];
    char* data;
    size_t bytes;
};
// The matrices.
size_t buffer_count();
Span buffer(size_t index);
// Bytes on each side of a matrix that contain a guard or unmapped memory.
constexpr size_t buffer_surroundings = 1 << 20;

// Returns the start of the calling worker's thread-local segment, which contains the shared variables.
char* thread_local_start();

// Returns whether a thread of the running block can run before the other threads reach a barrier.
bool may_run(unsigned thread);
// Returns whether the runtime multiplies matrices for a warp (tensor_cores.h).
bool computes_for_warp();
// Runs other threads until the running thread is resumed.
void pause_running();
bool is_paused(unsigned thread);
void resume(unsigned thread);

// The bytes of a kernel's accesses to matrices, if local_variables.cpp counts them.
extern unsigned long long accessed_bytes;

void answer_ok();
[[noreturn]] void refuse(const char* why);

}  // namespace cudamm
