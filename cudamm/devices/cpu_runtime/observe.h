// What runtime.cpp tells observe.cpp, in a kernel that is traced, and what it can be asked meanwhile.
#pragma once

#include "cuda_on_cpu.h"

namespace cudamm {

enum class Stop { at_block, at_warp, ended };

// Called where something begins or ends; null in a kernel that is not traced.
struct Observing {
    bool (*command)(const char* name);  // whether it was one of its own; the rest of the line by strtok
    void (*block_begins)(unsigned long long index, uint3 block, dim3 threads, size_t shared_bytes);
    bool (*thread_begins)(unsigned thread);  // false: leave it out
    void (*stops)(unsigned thread, Stop where);  // not at a block's barrier that it completes
    void (*all_at_barrier)();
    void (*block_ends)();
    void (*failed)();  // the process is about to end: write what was seen
};
extern const Observing* observing;

struct Span {
    char name[64];
    char* data;
    size_t bytes;
};
// The matrices, and how far around each there is memory that answers or crashes.
size_t buffer_count();
Span buffer(size_t index);
constexpr size_t buffer_surroundings = 1 << 20;

// The thread-local segment of the worker that asks: shared variables lie in it.
char* thread_local_start();

// Whether a thread of the running block can still do something before all others have come to a barrier.
bool may_run(unsigned thread);
// Has the running thread wait until it is resumed, while others run.
void pause_running();
bool is_paused(unsigned thread);
void resume(unsigned thread);

void answer_ok();
[[noreturn]] void refuse(const char* why);

}  // namespace cudamm
