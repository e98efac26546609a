// Runs a kernel compiled against cuda_on_cpu.h: reads commands, launches grids, and reports faults.
//
// Each variant runs in a process of its own, so that a kernel that crashes ends only that process. Commands are
// lines on standard input. Answers are lines on the file descriptor given as the first argument:
//
//     buffer NAME OFFSET LENGTH DATA BYTES                   ok ADDRESS    (a part of the shared file, with guards)
//     constant NAME VALUE                                    ok
//     launch GX GY GZ BX BY BZ SHARED ORDER ARGUMENT...      ok NANOSECONDS [UNDEFINED]
//     call ARGUMENT...                                       ok NANOSECONDS    (a host function, without a grid)
//     blocks INDEX...                                        ok                (launch only these blocks)
//     prints LABEL                                           ok    (show what the next launch prints, below LABEL)
//
// While a traced kernel runs, further answers are `busy`: a block has ended. There are at most ten a second.
// UNDEFINED describes the first shuffle whose value CUDA leaves undefined, and behind a tab MISSED the first barrier that
// threads had left the kernel without. Neither is a fault: a kernel may ignore the value, and since compute capability
// 7.0 a barrier waits for the threads that have not left (CUDA C++ Programming Guide, independent thread scheduling). A traced kernel also accepts the commands of observe.cpp.
//
// An ARGUMENT is @BUFFER, # with the bytes of a struct in hexadecimal, a whole number, or a real number. After a fault the answer is `failed TEXT`, and the
// process ends, because its memory may be damaged.
//
// The threads of a block are fibers. A fiber starts through makecontext; after that, a switch between fibers is
// a setjmp and a longjmp, without a system call. From barrier to barrier, threads run in the order of their
// indices, or in reverse: if the result depends on the order, the kernel has a race. A warp's barrier does not order the
// warps: in one of the two orders a warp goes on to the next barrier of the block before other warps run, and in the
// other the warps take turns at each warp's barrier. In even blocks the warps take turns if the order is reversed, in odd
// blocks if it is not. A thread gets a fiber of its own only if the previous thread waits, so a kernel without barriers
// runs all its threads on one stack.

#include "observe.h"
#include "tensor_cores.h"
#include "waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cudamm {

__thread Place place;
const Observing* observing = nullptr;
unsigned long long accessed_bytes = 0;

namespace {

constexpr unsigned poison = 0x7ff85eedu;  // fills shared memory: NaN as float and, repeated, as double
constexpr unsigned undefined_value = 0x7ff81a4eu;  // a shuffle's value from a lane that does not take part: a NaN
constexpr size_t stack_bytes = 576 * 1024;  // a thread on a GPU has at most 512 KB of local memory
constexpr size_t page_bytes = 4096;
constexpr size_t fence_bytes = buffer_surroundings;  // unmapped memory on both sides of a buffer: accesses crash
constexpr unsigned most_threads = 1024;
constexpr unsigned most_workers = 24;  // each has 1024 stacks of two mappings each; Linux allows 65530 mappings

// ---- Answers ------------------------------------------------------------------------------------------

int answers = 1;    // file descriptor
int data_file = 0;  // file descriptor

void answer(const char* kind, const char* format, va_list values) {
    char line[2048];
    int n = snprintf(line, sizeof line, "%s ", kind);
    n += vsnprintf(line + n, sizeof line - 1 - n, format, values);
    n = std::min(n, (int)sizeof line - 2);
    line[n++] = '\n';
    if (write(answers, line, n) != n) _exit(4);
}

__attribute__((format(printf, 1, 2))) void ok(const char* format, ...) {
    va_list values;
    va_start(values, format);
    answer("ok", format, values);
    va_end(values);
}

[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char* format, ...) {
    // Several workers may find faults at the same time; only the first fault is reported.
    static std::atomic_flag is_reported = ATOMIC_FLAG_INIT;
    if (is_reported.test_and_set())
        for (;;) pause();
    if (observing) observing->failed();
    va_list values;
    va_start(values, format);
    answer("failed", format, values);
    va_end(values);
    _exit(3);
}

// ---- A worker: one operating system thread and the block it runs -----------------------------------------

// GCC's built-in setjmp saves three words, the library's about two hundred bytes. With hundreds of fibers, the
// small contexts fit the L1 cache, which saves a third of the time.
#if defined(__clang__)
using SavedContext = jmp_buf;
#define SAVE(context) _setjmp(context)
#define JUMP(context) _longjmp(context, 1)
#else
using SavedContext = void* [5];
#define SAVE(context) __builtin_setjmp(context)
#define JUMP(context) __builtin_longjmp(context, 1)
#endif

struct Fiber {
    SavedContext resume;
    unsigned thread;
    char* stack;
};

struct Launch {
    dim3 grid, block;
    size_t shared_bytes;
    bool descending;
    const Argument* arguments;
    unsigned long long blocks;
    std::atomic<unsigned long long> next_block;
    const std::vector<unsigned long long>* chosen;  // the blocks to launch; null: all blocks
};

struct IndexText {
    char text[48];
};

uint3 index_in(dim3 extent, unsigned long long index) {
    return {(unsigned)(index % extent.x), (unsigned)(index / extent.x % extent.y),
            (unsigned)(index / extent.x / extent.y)};
}

IndexText text_of(uint3 index, dim3 extent) {
    IndexText result;
    if (extent.z > 1) snprintf(result.text, sizeof result.text, "(%u,%u,%u)", index.x, index.y, index.z);
    else snprintf(result.text, sizeof result.text, "(%u,%u)", index.x, index.y);
    return result;
}

// An asynchronous copy that a thread has started and has not waited for.
struct Copy {
    void* to;
    const void* from;
    size_t size, zfill;
};
struct Copies {
    std::vector<Copy> started;
    std::vector<size_t> groups;  // number of started copies at each commit
};

// A copy that takes effect when a phase of a barrier ends.
struct BarrierCopy {
    const BlockBarrier* barrier;
    void* to;
    const void* from;
    size_t size;
};

enum class Waits : unsigned char { no, at_block, at_warp, at_phase, converging, paused, done };

constexpr unsigned named_barriers = 16;  // of PTX: bar.sync 0 to 15

struct Worker {
    const Launch* launch;
    unsigned long long block;  // index of the running block, counted along x first
    unsigned threads;  // number of threads of a block
    uint3 index_of[most_threads];

    SavedContext scheduler;
    Fiber* running;
    Fiber* fiber_of[most_threads];  // null: the thread has not started, or is done
    std::vector<Fiber*> idle;

    unsigned done, last_done;  // number of threads that have left the kernel; the last of them
    Waits waits[most_threads];
    unsigned wait_epoch[most_threads];  // epoch in which the thread reached the block's barrier
    unsigned mask[most_threads];  // lanes that the thread waits for at a warp's barrier
    unsigned participants[most_threads];  // lanes that were released from a warp's barrier together with the thread
    const char* operation[most_threads];  // name of the function with which the thread waits at a warp's barrier
    int line[most_threads];  // line and file of the barrier at which the thread waits
    const char* file[most_threads];

    unsigned epoch;  // number of block barriers that were completed
    unsigned arrived, first_arrived;  // number of threads at the block's barrier; the first of them
    int sum[2];  // sums of block_sum for even and odd epochs
    const BlockBarrier* barrier[most_threads];  // the barrier for the end of whose phase the thread waits
    unsigned phase[most_threads];  // the number of that phase
    BlockBarrier named[named_barriers];
    unsigned waiting_at_warp;  // number of threads at a warp's barrier
    bool keeps_warp;  // whether the threads of a warp go on behind its barrier before other warps run
    unsigned kept;    // number of times that a warp was kept since other warps had a turn for that reason
    alignas(32) unsigned char exchanged[most_threads][32];
    void* passed[most_threads];  // what each thread passed to compute_together; null after the computation
    bool is_computing;           // whether compute_together computes for a warp

    std::vector<std::pair<char*, size_t>> static_shared;
    std::map<unsigned, Copies> copies;
    std::vector<BarrierCopy> barrier_copies;

    void begin(const Launch& l);
    void run_block(unsigned long long index);

    [[noreturn]] void run_threads();
    // These functions are never inlined: a jump must not be in the function to which it returns.
    [[noreturn]] __attribute__((noinline)) void switch_to(unsigned thread);
    [[noreturn]] __attribute__((noinline)) void end_block() { JUMP(scheduler); }
    void wait(unsigned thread);
    void go_on_with(unsigned thread, unsigned next);
    void end_barrier();
    void release_warp(unsigned thread);

    IndexText thread_text(unsigned thread) const { return text_of(index_of[thread], launch->block); }
    IndexText block_text() const { return text_of(place.block_index, launch->grid); }
    unsigned after(unsigned thread) const {
        if (launch->descending) return thread == 0 ? threads - 1 : thread - 1;
        return thread + 1 == threads ? 0 : thread + 1;
    }
    bool ready(unsigned thread) const {
        switch (waits[thread]) {
            case Waits::no: return true;
            case Waits::at_block: return wait_epoch[thread] != epoch;
            case Waits::at_phase: return barrier[thread]->phase != phase[thread];
            case Waits::converging: return has_converged(thread);
            case Waits::at_warp:
            case Waits::paused:
            case Waits::done: break;
        }
        return false;
    }
    // Returns whether no lane of the thread's warp can run, apart from those that wait to be a group.
    bool has_converged(unsigned thread) const {
        const unsigned warp = thread & ~31u;
        for (unsigned t = warp; t < std::min(warp + 32, threads); ++t)
            if (waits[t] != Waits::converging && (waits[t] == Waits::paused || ready(t))) return false;
        return true;
    }
    // Returns the next thread that can run, in the launch's order; `thread` itself is the last candidate.
    unsigned next_ready(unsigned thread) const {
        for (unsigned next = after(thread);; next = after(next)) {
            if (ready(next)) return next;
            if (next == thread) stuck();
        }
    }
    // Returns a thread of the same warp that can run, or the next thread of another warp if there is none.
    unsigned next_of_warp(unsigned thread) const {
        const unsigned warp = thread & ~31u;
        for (unsigned next = warp; next < std::min(warp + 32, threads); ++next)
            if (ready(next)) return next;
        return next_ready(thread);
    }
    // Returns the thread that runs when `thread` waits at a warp's barrier.
    unsigned next_at_warp_barrier(unsigned thread) {
        constexpr unsigned most_kept = 1 << 14;  // a warp may wait in a loop for what another warp does
        const unsigned warp = thread & ~31u, end = std::min(warp + 32, threads);
        if (keeps_warp && kept < most_kept)
            for (unsigned i = warp; i < end; ++i) {
                const unsigned next = launch->descending ? warp + end - 1 - i : i;
                if (!ready(next)) continue;
                ++kept;
                return next;
            }
        kept = 0;
        return next_ready(thread);
    }
    // Returns whether a lane waits at a warp's barrier with this mask.
    bool waits_with(unsigned thread, unsigned lanes) const {
        return waits[thread] == Waits::at_warp && mask[thread] == lanes;
    }
    [[noreturn]] void stuck() const {
        unsigned t = 0;
        while (waits[t] == Waits::done) ++t;
        const unsigned warp = t & ~31u;
        for (unsigned o = warp; waits[t] == Waits::at_warp && o < std::min(warp + 32, threads); ++o)
            if (mask[t] >> (o - warp) & 1 && waits[o] != Waits::done && !waits_with(o, mask[t]))
                fail("block %s is stuck: thread %s waits in line %d of %s, where it executes %s with the mask 0x%08x, for "
                     "thread %s, which waits in line %d of %s", block_text().text, thread_text(t).text, line[t], file[t],
                     operation[t], mask[t], thread_text(o).text, line[o], file[o]);
        if (waits[t] == Waits::at_phase)
            fail("block %s is stuck: thread %s waits in line %d of %s at a barrier for %u threads, at which %u have arrived",
                 block_text().text, thread_text(t).text, line[t], file[t], barrier[t]->expected,
                 barrier[t]->expected - barrier[t]->left);
        fail("block %s is stuck: thread %s waits in line %d of %s for threads that wait elsewhere or have left",
             block_text().text, thread_text(t).text, line[t], file[t]);
    }
};

// A pointer, so that the thread-local storage contains only this pointer, `place`, the dynamic array and the
// kernel's static shared memory.
__thread Worker* worker;

// What is remarkable in a launch: the first case in the block with the lowest index.
struct Remark {
    std::mutex mutex;
    unsigned long long block;
    char text[512];

    void clear() {
        block = ~0ull;
        text[0] = 0;
    }

    __attribute__((format(printf, 3, 4))) void set(unsigned long long of_block, const char* format, ...) {
        std::lock_guard<std::mutex> lock(mutex);
        if (of_block >= block) return;
        block = of_block;
        va_list values;
        va_start(values, format);
        vsnprintf(text, sizeof text, format, values);
        va_end(values);
    }
} undefined_shuffle, missed_barrier;

constexpr const char* without_thread =
    "a GPU before compute capability 7.0 may wait for it for ever, a later one goes on without it";

// Notes that threads have left the kernel without a barrier; an observed kernel fails there.
#define misses_barrier(...) (observing ? fail(__VA_ARGS__) : missed_barrier.set(worker->block, __VA_ARGS__))

void start_fiber() { worker->run_threads(); }

Fiber* new_fiber() {
    Fiber* fiber = new Fiber;
    fiber->stack = (char*)mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (fiber->stack == MAP_FAILED) fail("out of memory for the stack of a thread");
    mprotect(fiber->stack, page_bytes, PROT_NONE);  // a stack overflow crashes, and does not damage other memory
    return fiber;
}

// Continues or starts a thread; the caller has saved the running fiber's context.
void Worker::switch_to(unsigned thread) {
    Fiber* fiber = fiber_of[thread];
    const bool has_started = fiber != nullptr;
    if (!has_started) {
        if (idle.empty()) {
            fiber = new_fiber();
        } else {
            fiber = idle.back();
            idle.pop_back();
        }
        fiber->thread = thread;
        fiber_of[thread] = fiber;
    }
    running = fiber;
    place.thread_index = index_of[thread];
    place.thread = thread;
    if (fiber->stack) {  // the fiber is new: `stack` is null after its start
        // Stacks are whole pages apart. Without the shift their used cache lines would share a few cache sets.
        static std::atomic<size_t> started{0};
        const size_t shift = started++ % 32 * 320;
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = fiber->stack;
        context.uc_stack.ss_size = stack_bytes - shift;
        context.uc_link = nullptr;
        makecontext(&context, start_fiber, 0);
        fiber->stack = nullptr;
        setcontext(&context);
    }
    JUMP(fiber->resume);
}

// The main function of a fiber: runs its thread, and then further threads that have not started.
void Worker::run_threads() {
    for (Fiber* const self = running;;) {
        const unsigned thread = self->thread;
        if (!observing || observing->thread_begins(thread)) kernel.call(launch->arguments);
        waits[thread] = Waits::done;
        if (observing) observing->stops(thread, Stop::ended);
        fiber_of[thread] = nullptr;
        last_done = thread;
        ++done;
        // A warp's barrier may have waited for this thread, and need not any more.
        const unsigned warp = thread & ~31u;
        for (unsigned t = warp; waiting_at_warp && t < std::min(warp + 32, threads); ++t)
            if (waits[t] == Waits::at_warp) release_warp(t);
        if (arrived) {
            const unsigned t = first_arrived;
            misses_barrier("block %s: thread %s left the kernel while thread %s waits at the barrier in line %d of %s; "
                           "%s", block_text().text, thread_text(thread).text, thread_text(t).text, line[t], file[t],
                           without_thread);
            if (arrived == threads - done) end_barrier();
        }
        const bool all_done = done == threads;
        const unsigned next = all_done ? 0 : observing ? next_of_warp(thread) : next_ready(thread);
        if (!all_done && !fiber_of[next]) {  // the next thread has not started: this fiber can run it
            self->thread = next;
            fiber_of[next] = self;
            place.thread_index = index_of[next];
            place.thread = next;
            continue;
        }
        idle.push_back(self);
        if (SAVE(self->resume) == 0) {
            if (all_done) end_block();
            switch_to(next);
        }
    }
}

// Lets the threads at the block's barrier continue.
void Worker::end_barrier() {
    if (observing) observing->all_at_barrier();
    arrived = 0;
    ++epoch;
    sum[epoch & 1] = 0;
}

// Runs other threads until the running thread can continue.
void Worker::wait(unsigned thread) {
    go_on_with(thread, waits[thread] == Waits::paused ? next_of_warp(thread) : next_ready(thread));
}

// Runs a thread, and others after it, until the running thread can continue.
void Worker::go_on_with(unsigned thread, unsigned next) {
    if (next != thread && SAVE(running->resume) == 0) switch_to(next);
    worker->waits[thread] = Waits::no;
}

// Releases the lanes at a warp's barrier if each lane in their mask has reached it or has left the kernel.
void Worker::release_warp(unsigned thread) {
    const unsigned warp = thread & ~31u, lanes = mask[thread];
    unsigned waiting = 0;
    for (unsigned t = warp; t < std::min(warp + 32, threads); ++t) {
        if (waits_with(t, lanes)) waiting |= 1u << (t - warp);
        else if (lanes >> (t - warp) & 1 && waits[t] != Waits::done) return;
    }
    for (unsigned t = warp; t < std::min(warp + 32, threads); ++t) {
        if (!(waiting >> (t - warp) & 1)) continue;
        if (operation[t] != operation[thread] && strcmp(operation[t], operation[thread]))
            fail("block %s: threads of a warp meet in different operations with the mask 0x%08x, thread %s in line %d of %s "
                 "(%s) and thread %s in line %d of %s (%s)", block_text().text, lanes, thread_text(t).text, line[t],
                 file[t], operation[t], thread_text(thread).text, line[thread], file[thread], operation[thread]);
        waits[t] = Waits::no;
        participants[t] = waiting;
        --waiting_at_warp;
    }
}

void fill(char* memory, size_t bytes, unsigned word) {
    for (; bytes >= 4; memory += 4, bytes -= 4) memcpy(memory, &word, 4);
    memcpy(memory, &word, bytes);
}

// Finds this thread's copy of the kernel's static `__shared__` variables.
std::vector<std::pair<char*, size_t>> find_static_shared() {
    std::pair<char*, size_t> segment{nullptr, 0};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            for (int i = 0; i < info->dlpi_phnum; ++i)
                if (info->dlpi_phdr[i].p_type == PT_TLS)
                    *(std::pair<char*, size_t>*)out = {(char*)info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz};
            return 1;  // the first object is the program itself
        },
        &segment);
    std::pair<char*, size_t> excluded[] = {{(char*)&place, sizeof place},
                                           {(char*)&worker, sizeof worker},
                                           {(char*)cudamm_dynamic_shared, dynamic_shared_bytes}};
    std::sort(std::begin(excluded), std::end(excluded));
    std::vector<std::pair<char*, size_t>> parts;
    char* start = segment.first;
    for (const auto& part : excluded) {
        if (part.first > start) parts.push_back({start, part.first - start});
        start = part.first + part.second;
    }
    char* const end = segment.first + segment.second;
    if (end > start) parts.push_back({start, end - start});
    return parts;
}

void Worker::begin(const Launch& l) {
    launch = &l;
    threads = l.block.x * l.block.y * l.block.z;
    for (unsigned t = 0; t < threads; ++t) index_of[t] = index_in(l.block, t);
    place.block_dim = l.block;
    place.grid_dim = l.grid;
}

void Worker::run_block(unsigned long long index) {
    block = index;
    place.block_index = index_in(launch->grid, index);
    for (const auto& part : static_shared) fill(part.first, part.second, poison);
    char* const dynamic = (char*)cudamm_dynamic_shared;
    if (dynamic_shared_bytes) fill(dynamic, launch->shared_bytes + dynamic_shared_guard, poison);
    memset(waits, 0, threads * sizeof *waits);
    memset(fiber_of, 0, threads * sizeof *fiber_of);
    copies.clear();
    barrier_copies.clear();
    memset(named, 0, sizeof named);
    done = arrived = waiting_at_warp = 0;
    sum[0] = sum[1] = 0;
    keeps_warp = !observing && (index & 1) == launch->descending;
    kept = 0;
    if (observing) observing->block_begins(index, place.block_index, launch->block, launch->shared_bytes);
    if (SAVE(scheduler) == 0) switch_to(launch->descending ? threads - 1 : 0);
    if (observing) observing->block_ends();
    if (dynamic_shared_bytes) {
        const char* guard = (const char*)cudamm_dynamic_shared + launch->shared_bytes;
        for (size_t i = 0; i < dynamic_shared_guard; ++i)
            if (guard[i] != ((const char*)&poison)[i % 4])
                fail("block %s wrote past its dynamic shared memory: %zu bytes were requested, byte %zu was written",
                     block_text().text, launch->shared_bytes, launch->shared_bytes + i);
    }
}

}  // namespace

// ---- Functions that a kernel calls ---------------------------------------------------------------------

void wait_for_block(int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread;
    w.line[thread] = line;
    w.file[thread] = file;
    if (w.done)
        misses_barrier("block %s: thread %s waits at the barrier in line %d of %s, but thread %s has left the kernel; "
                       "%s", w.block_text().text, w.thread_text(thread).text, line, file,
                       w.thread_text(w.last_done).text, without_thread);
    const unsigned first = w.first_arrived;
    if (w.arrived && w.line[first] != line)
        fail("block %s: threads wait at different barriers, thread %s in line %d of %s and thread %s in line %d of %s",
             w.block_text().text, w.thread_text(first).text, w.line[first], w.file[first],
             w.thread_text(thread).text, line, file);
    if (w.arrived == 0) w.first_arrived = thread;
    w.waits[thread] = Waits::at_block;
    w.wait_epoch[thread] = w.epoch;
    if (++w.arrived == w.threads - w.done) {
        w.end_barrier();
    } else if (observing) {
        observing->stops(thread, Stop::at_block);
    }
    w.wait(thread);
}

int block_sum(int value, int line, const char* file) {
    const unsigned parity = worker->epoch & 1;
    worker->sum[parity] += value;
    wait_for_block(line, file);
    return worker->sum[parity];
}

void check_copy(const void* to, const void* from, size_t size, size_t zfill, int line, const char* file) {
    if ((size != 4 && size != 8 && size != 16) || zfill > size || (size_t)to % size || (size_t)from % size)
        fail("block %s: thread %s begins a copy of %zu bytes in line %d of %s: a copy must have 4, 8 or 16 bytes, "
             "and both addresses must be multiples of its size", worker->block_text().text,
             worker->thread_text(worker->running->thread).text, size, line, file);
}

void copy_later(void* to, const void* from, size_t size, size_t zfill) {
    worker->copies[worker->running->thread].started.push_back({to, from, size, zfill});
}

void commit_copies() {
    Copies& copies = worker->copies[worker->running->thread];
    copies.groups.push_back(copies.started.size());
}

void wait_for_copies(size_t prior) {
    Copies& copies = worker->copies[worker->running->thread];
    if (copies.groups.size() <= prior) return;
    const size_t complete = copies.groups.size() - prior, count = copies.groups[complete - 1];
    for (size_t i = 0; i < count; ++i) {
        const Copy& copy = copies.started[i];
        memcpy(copy.to, copy.from, copy.size - copy.zfill);
        memset((char*)copy.to + copy.size - copy.zfill, 0, copy.zfill);
    }
    copies.started.erase(copies.started.begin(), copies.started.begin() + count);
    copies.groups.erase(copies.groups.begin(), copies.groups.begin() + complete);
    for (size_t& group : copies.groups) group -= count;
}

int lane() { return worker->running->thread % 32; }

unsigned converged_lanes(int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread, warp = thread & ~31u;
    w.line[thread] = line;
    w.file[thread] = file;
    w.waits[thread] = Waits::converging;
    w.participants[thread] = 0;
    if (observing) observing->stops(thread, Stop::at_block);
    w.wait(thread);
    if (!w.participants[thread]) {  // the first lane of its group to go on
        unsigned lanes = 1u << (thread - warp);
        for (unsigned t = warp; t < std::min(warp + 32, w.threads); ++t)
            if (w.waits[t] == Waits::converging && !w.participants[t] && w.line[t] == line && !strcmp(w.file[t], file))
                lanes |= 1u << (t - warp);
        for (unsigned t = warp; t < std::min(warp + 32, w.threads); ++t)
            if (lanes >> (t - warp) & 1) w.participants[t] = lanes, w.waits[t] = Waits::no;
    }
    return w.participants[thread];
}

static void meet_warp(unsigned mask, Stop kind, const char* operation, int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread;
    w.line[thread] = line;
    w.file[thread] = file;
    w.operation[thread] = operation;
    if (!(mask >> thread % 32 & 1))
        fail("block %s: thread %s is not in the mask 0x%08x that it passes to %s in line %d of %s", w.block_text().text,
             w.thread_text(thread).text, mask, operation, line, file);
    w.waits[thread] = Waits::at_warp;
    w.mask[thread] = mask;
    ++w.waiting_at_warp;
    if (observing) observing->stops(thread, kind);
    w.release_warp(thread);
    w.go_on_with(thread, w.next_at_warp_barrier(thread));
}

void wait_for_warp(unsigned mask, const char* operation, int line, const char* file) {
    meet_warp(mask, Stop::at_warp, operation, line, file);
}

void compute_together(void* of_lane, void (*compute)(void* const*), const char* operation, int line, const char* file) {
    constexpr unsigned all = ~0u;
    Worker& w = *worker;
    const unsigned thread = w.running->thread, warp = thread & ~31u;
    w.passed[thread] = of_lane;
    meet_warp(all, Stop::in_matrix_operation, operation, line, file);
    const unsigned missing = ~w.participants[thread];
    if (missing) {
        const unsigned other = warp + __builtin_ctz(missing);
        if (other >= w.threads)
            fail("block %s: thread %s executes %s in line %d of %s, but its warp has only %u threads: %s needs all 32",
                 w.block_text().text, w.thread_text(thread).text, operation, line, file, w.threads - warp, operation);
        fail("block %s: thread %s executes %s in line %d of %s, but thread %s has left the kernel: %s needs all 32 "
             "threads of a warp", w.block_text().text, w.thread_text(thread).text, operation, line, file,
             w.thread_text(other).text, operation);
    }
    if (!w.passed[thread]) return;  // another lane has computed
    for (unsigned t = warp; t < warp + 32; ++t) {
        if (w.line[t] == line && !strcmp(w.file[t], file)) continue;
        fail("block %s: threads of a warp execute %s in different lines, thread %s in line %d of %s and thread %s in line %d "
             "of %s: all 32 threads must execute the same", w.block_text().text, operation, w.thread_text(thread).text, line,
             file, w.thread_text(t).text, w.line[t], w.file[t]);
    }
    w.is_computing = true;
    if (compute) compute(w.passed + warp);
    w.is_computing = false;
    memset(w.passed + warp, 0, 32 * sizeof *w.passed);
}

void exchange(unsigned mask, void* value, size_t bytes, int lane, const char* operation, int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread, source = (thread & ~31u) + lane;
    memcpy(w.exchanged[thread], value, bytes);
    wait_for_warp(mask, operation, line, file);
    if (lane >= 0 && lane < 32 && w.participants[thread] >> lane & 1) {
        memcpy(value, w.exchanged[source], bytes);
    } else {
        fill((char*)value, bytes, undefined_value);
        const bool named = lane >= 0 && lane < 32 && mask >> lane & 1;
        undefined_shuffle.set(
            w.block, "in line %d of %s, thread %s of block %s reads lane %d with %s and the mask 0x%08x, but that lane %s, so "
            "the value is undefined", line, file, w.thread_text(thread).text, w.block_text().text, lane, operation,
            mask, !named ? "is not in the mask" : source >= w.threads ? "has no thread" : "has left the kernel");
    }
    wait_for_warp(mask, operation, line, file);
}

unsigned gather(unsigned mask, const void* value, size_t bytes, void* values, const char* operation, int line,
                const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread;
    memcpy(w.exchanged[thread], value, bytes);
    wait_for_warp(mask, operation, line, file);
    const unsigned took_part = w.participants[thread];
    for (unsigned lanes = took_part; lanes; lanes &= lanes - 1) {
        const unsigned lane = __builtin_ctz(lanes);
        memcpy((char*)values + lane * bytes, w.exchanged[(thread & ~31u) + lane], bytes);
    }
    wait_for_warp(mask, operation, line, file);
    return took_part;
}

unsigned vote(unsigned mask, bool predicate, const char* operation, int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread;
    w.exchanged[thread][0] = predicate;
    wait_for_warp(mask, operation, line, file);
    unsigned votes = 0;
    for (unsigned lanes = w.participants[thread]; lanes; lanes &= lanes - 1) {
        const unsigned lane = __builtin_ctz(lanes);
        votes |= (unsigned)w.exchanged[(thread & ~31u) + lane][0] << lane;
    }
    wait_for_warp(mask, operation, line, file);
    return votes;
}

// ---- Barriers with phases (waiting.h) ---------------------------------------------------------------------

void init_barrier(BlockBarrier* barrier, long long expected, int line, const char* file) {
    if (expected < 1 || expected > (1 << 20) - 1)
        fail("block %s: thread %s initialises a barrier for %lld threads in line %d of %s", worker->block_text().text,
             worker->thread_text(worker->running->thread).text, expected, line, file);
    *barrier = {(unsigned)expected, (unsigned)expected, 0, initialised_barrier};
}

static void check_barrier(const BlockBarrier* barrier, int line, const char* file) {
    if (barrier->mark != initialised_barrier)
        fail("block %s: thread %s uses a barrier in line %d of %s that was not initialised", worker->block_text().text,
             worker->thread_text(worker->running->thread).text, line, file);
}

unsigned arrive_at(BlockBarrier* barrier, unsigned count, int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread;
    check_barrier(barrier, line, file);
    const unsigned phase = barrier->phase;
    if (count > barrier->left)
        fail("block %s: thread %s arrives in line %d of %s at a barrier at which all %u threads have arrived",
             w.block_text().text, w.thread_text(thread).text, line, file, barrier->expected);
    barrier->left -= count;
    if (barrier->left) return phase;
    std::vector<BarrierCopy> later;
    for (const BarrierCopy& copy : w.barrier_copies) {
        if (copy.barrier == barrier) memcpy(copy.to, copy.from, copy.size);
        else later.push_back(copy);
    }
    w.barrier_copies.swap(later);
    if (observing) {  // as if this thread waited too: what it did before belongs to the phase that ends
        const Waits before = w.waits[thread];
        w.waits[thread] = Waits::at_phase, w.barrier[thread] = barrier, w.phase[thread] = phase;
        observing->all_at_barrier();
        w.waits[thread] = before;
    }
    barrier->left = barrier->expected;
    ++barrier->phase;
    return phase;
}

void drop_from(BlockBarrier* barrier, int line, const char* file) {
    check_barrier(barrier, line, file);
    --barrier->expected;
    arrive_at(barrier, 1, line, file);
}

void wait_for_phase(const BlockBarrier* barrier, unsigned phase, int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread;
    check_barrier(barrier, line, file);
    if (barrier->phase != phase) return;
    w.line[thread] = line;
    w.file[thread] = file;
    w.waits[thread] = Waits::at_phase;
    w.barrier[thread] = barrier;
    w.phase[thread] = phase;
    if (observing) observing->stops(thread, Stop::at_block);
    w.wait(thread);
}

bool has_ended(const BlockBarrier* barrier, unsigned phase, int line, const char* file) {
    check_barrier(barrier, line, file);
    if (barrier->phase == phase) let_others_run();
    return barrier->phase != phase;
}

void copy_until(const BlockBarrier* barrier, void* to, const void* from, size_t size, int line, const char* file) {
    check_barrier(barrier, line, file);
    worker->barrier_copies.push_back({barrier, to, from, size});
}

void meet_at(unsigned number, unsigned threads, bool waits, int line, const char* file) {
    Worker& w = *worker;
    if (number == 0 && waits && (threads == 0 || threads == w.threads)) return wait_for_block(line, file);
    const unsigned count = threads ? threads : w.threads;
    if (number >= named_barriers || (threads && threads % 32))
        fail("block %s: thread %s waits at barrier %u for %u threads in line %d of %s: barriers are 0 to 15, and "
             "wait for a multiple of 32 threads", w.block_text().text, w.thread_text(w.running->thread).text, number,
             threads, line, file);
    BlockBarrier& barrier = w.named[number];
    if (!barrier.mark || barrier.left == barrier.expected)
        barrier = {count, count, barrier.phase, initialised_barrier};
    if (barrier.expected != count)
        fail("block %s: thread %s waits at barrier %u for %u threads in line %d of %s, and another thread for %u",
             w.block_text().text, w.thread_text(w.running->thread).text, number, count, line, file, barrier.expected);
    const unsigned phase = arrive_at(&barrier, 1, line, file);
    if (waits) wait_for_phase(&barrier, phase, line, file);
}

void let_others_run() {
    Worker& w = *worker;
    w.wait(w.running->thread);
}

// ---- Other functions of a thread --------------------------------------------------------------------------

[[noreturn]] void stop_kernel(const char* what, int line, const char* file) {
    fail("%s in line %d of %s, in thread %s of block %s", what, line, file,
         worker->thread_text(worker->running->thread).text, worker->block_text().text);
}

bool is_shared(const void* address) {
    const char* const at = (const char*)address;
    for (const auto& part : worker->static_shared)
        if (at >= part.first && at < part.first + part.second) return true;
    const char* const dynamic = (const char*)cudamm_dynamic_shared;
    return at >= dynamic && at < dynamic + dynamic_shared_bytes;
}

long long nanoseconds() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

size_t dynamic_shared_size() { return worker->launch->shared_bytes; }

namespace {

// ---- What a kernel prints ------------------------------------------------------------------------------

// Only one launch of several on the same problem shows what it prints. The label says whose output it is.
struct Output {
    std::mutex mutex;
    bool shown = false;
    char label[256] = "";
} output;

ssize_t print(void*, const char* text, size_t bytes) {
    std::lock_guard<std::mutex> lock(output.mutex);
    if (!output.shown) return bytes;
    if (*output.label && write(1, output.label, strlen(output.label)) < 0) return bytes;
    *output.label = 0;
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = write(1, text + done, bytes - done);
        if (n <= 0) break;
        done += n;
    }
    return bytes;
}

// The kernel's printf goes to `print`, without a buffer: nothing may be lost if the kernel crashes.
void catch_output() {
    FILE* const file = fopencookie(nullptr, "w", {nullptr, print, nullptr, nullptr});
    if (!file) return;
    setvbuf(file, nullptr, _IONBF, 0);
    stdout = file;
}

void show_next_output(const char* label) {
    snprintf(output.label, sizeof output.label, "%s\n", label ? label : "");
    output.shown = true;
}

// ---- Crashes -------------------------------------------------------------------------------------------

std::vector<Span> buffers;
std::vector<std::pair<char*, size_t>> mappings;  // the memory of each buffer, with its guards
std::atomic<bool> is_reachable{true};            // whether the mappings can be accessed now

const char still_runs[] = "the kernel started a thread of the host, which still ran when the launch had ended";

// Returns the number of this process's threads; 0 if the system does not say.
unsigned running_threads() {
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 ? tasks.st_nlink - 2 : 0;
}

// Lets the buffers be accessed during launches only. A thread that the kernel has started, and that goes on when the
// kernel has returned, would compute in time that nobody measures.
void make_reachable(bool reachable) {
    if (observing) return;
    is_reachable = reachable;
    for (const auto& mapping : mappings)
        mprotect(mapping.first, mapping.second, reachable ? PROT_READ | PROT_WRITE : PROT_NONE);
}

const char* forbidden_call(int number) {
#ifdef SYS_fork
    if (number == SYS_fork || number == SYS_vfork) return "attempt to start a process";
#endif
    const bool starts = number == SYS_clone || number == SYS_execve || number == SYS_execveat;
    return starts ? "attempt to start a process" : "system call that no confined kernel may make";
}

void crashed(int signal, siginfo_t* info, void*) {
    char thread[160] = "";
    if (worker && worker->running && worker->launch) {
        const IndexText of_thread = worker->thread_text(worker->running->thread);
        // The index of the block lies beside the shared memory, past the end of which the kernel may have written.
        const uint3 block = place.block_index;
        const dim3& grid = worker->launch->grid;
        if (block.x < grid.x && block.y < grid.y && block.z < grid.z)
            snprintf(thread, sizeof thread, " in thread %s of block %s", of_thread.text, worker->block_text().text);
        else
            snprintf(thread, sizeof thread, " in thread %s", of_thread.text);
    }
    char distance[160] = "";
    if (signal == SIGSEGV || signal == SIGBUS) {
        const char* address = (const char*)info->si_addr;
        for (size_t i = 0; !is_reachable && i < mappings.size(); ++i)
            if (address >= mappings[i].first && address < mappings[i].first + mappings[i].second)
                fail("%s", still_runs);
        long nearest = 2 * fence_bytes;
        const auto reached = [&](const char* data, size_t bytes, const char* name) {
            const long past = address - (data + bytes), before = data - address;
            if (std::max(past, before) >= nearest) return;
            nearest = std::max(past, before);
            const char* side = past >= 0 ? "past the end" : "before the start";
            snprintf(distance, sizeof distance, ": it reached %ld bytes %s of %s", nearest, side, name);
        };
        for (const Span& b : buffers) reached(b.data, b.bytes, b.name);
        if (worker && worker->running)
            for (const auto& part : worker->static_shared) reached(part.first, part.second, "shared memory");
    }
    const bool is_nan = signal == SIGFPE && info->si_code == FPE_FLTINV;
    const bool has_instruction = signal == SIGFPE || signal == SIGILL;  // of the others it is an address in memory, or none
    if (observing && signal != SIGABRT)
        observing->stopped(is_nan ? "nan" : "crash", has_instruction ? (const char*)info->si_addr : nullptr);
    const char* kind = is_nan ? "NaN computed"
                       : signal == SIGSEGV || signal == SIGBUS ? "bad memory access"
                       : signal == SIGFPE                    ? "division by zero"
                       : signal == SIGABRT                   ? "call of abort()"
                       : signal == SIGSYS                    ? forbidden_call(info->si_syscall)
                                                             : "illegal instruction";
    fail("crashed: %s%s%s", kind, thread, distance);
}

// Gives this thread a stack of its own for signal handlers, because a fiber's stack may have overflowed.
void use_signal_stack() {
    static constexpr size_t bytes = 64 * 1024;
    stack_t stack = {};
    stack.ss_sp = malloc(bytes);
    stack.ss_size = bytes;
    sigaltstack(&stack, nullptr);
}

// ---- The workers and the commands ------------------------------------------------------------------------

// Answers `busy`, at most ten times a second: a block has ended. A kernel whose accesses are recorded can run for minutes.
void report_progress() {
    static std::atomic<long long> next_ns{0};
    const long long now = nanoseconds();
    long long due = next_ns;
    if (now >= due && next_ns.compare_exchange_strong(due, now + 100000000) && write(answers, "busy\n", 5) != 5) _exit(4);
}

class Pool {
  public:
    explicit Pool(unsigned count) {
        for (unsigned i = 0; i < count; ++i) std::thread([this] { serve(); }).detach();
        count_ = count;
    }
    void run(Launch& launch) {
        std::unique_lock<std::mutex> lock(mutex_);
        launch_ = &launch;
        busy_ = count_;
        ++generation_;
        start_.notify_all();
        finished_.wait(lock, [this] { return busy_ == 0; });
    }

  private:
    void serve() {
        use_signal_stack();
        worker = new Worker();
        worker->static_shared = find_static_shared();
        for (unsigned long long seen = 0;;) {
            std::unique_lock<std::mutex> lock(mutex_);
            start_.wait(lock, [&] { return generation_ != seen; });
            seen = generation_;
            Launch& launch = *launch_;
            lock.unlock();
            worker->begin(launch);
            for (unsigned long long b; (b = launch.next_block++) < launch.blocks;) {
                worker->run_block(launch.chosen ? (*launch.chosen)[b] : b);
                if (observing) report_progress();
            }
            lock.lock();
            if (--busy_ == 0) finished_.notify_one();
        }
    }
    std::mutex mutex_;
    std::condition_variable start_, finished_;
    Launch* launch_ = nullptr;
    unsigned long long generation_ = 0;
    unsigned count_ = 0, busy_ = 0;
};

char* next_word() { return strtok(nullptr, " \n"); }
long long next_number() {
    const char* text = next_word();
    if (!text) fail("a command is incomplete");
    return strtoll(text, nullptr, 10);
}

void map_buffer() {
    Span buffer = {};
    snprintf(buffer.name, sizeof buffer.name, "%s", next_word());
    const long long offset = next_number(), length = next_number(), data = next_number();
    buffer.bytes = next_number();
    char* space = (char*)mmap(nullptr, length + 2 * fence_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED ||
        mmap(space + fence_bytes, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, data_file, offset) == MAP_FAILED)
        fail("out of memory for %s: %s", buffer.name, strerror(errno));
    buffer.data = space + fence_bytes + data;
    mappings.push_back({space + fence_bytes, length});
    buffers.push_back(buffer);
}

void set_constant() {
    const char* name = next_word();
    const long long value = next_number();
    for (int i = 0; i < kernel.constant_count; ++i)
        if (!strcmp(kernel.constants[i].name, name)) memcpy(kernel.constants[i].address, &value, kernel.constants[i].bytes);
}

Argument read_struct(const char* hexadecimal) {
    static std::map<std::string, std::string> known;  // the bytes of each struct stay where they are
    std::string& bytes = known[hexadecimal];
    if (bytes.empty())
        for (unsigned byte; sscanf(hexadecimal, "%2x", &byte) == 1; hexadecimal += 2) bytes.push_back((char)byte);
    return {nullptr, 0, 0, bytes.data(), bytes.size()};
}

std::vector<Argument> read_arguments() {
    std::vector<Argument> arguments;
    while (const char* text = next_word()) {
        if (*text == '@') arguments.push_back({buffers.at(atoi(text + 1)).data, 0, 0, nullptr, 0});
        else if (*text == '#') arguments.push_back(read_struct(text + 1));
        else arguments.push_back({nullptr, strtoll(text, nullptr, 10), strtod(text, nullptr), nullptr, 0});
    }
    return arguments;
}

// New inputs were written by another process. A call finds them in this processor's cache, as far as they fit, as it
// would after an earlier call on them.
void read_into_cache() {
    for (const Span& buffer : buffers)
        for (size_t i = 0; i < buffer.bytes; i += 64) (void)*(const volatile char*)(buffer.data + i);
}

void serve_commands(unsigned worker_count) {
    Pool* pool = nullptr;
    std::vector<unsigned long long> chosen;
    char* line = nullptr;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        const char* command = strtok(line, " \n");
        if (!command) continue;
        if (!strcmp(command, "buffer")) {
            map_buffer();
            ok("%p", (void*)buffers.back().data);
        } else if (!strcmp(command, "constant")) {
            set_constant();
            ok("%s", "");
        } else if (!strcmp(command, "call")) {
            const std::vector<Argument> arguments = read_arguments();
            make_reachable(true);
            read_into_cache();
            const long long start = nanoseconds();
            kernel.call(arguments.data());
            const long long end = nanoseconds();
            make_reachable(false);
            output.shown = false;
            ok("%lld", end - start);
        } else if (!strcmp(command, "blocks")) {
            chosen.clear();
            while (const char* text = next_word()) chosen.push_back(strtoull(text, nullptr, 10));
            ok("%s", "");
        } else if (!strcmp(command, "prints")) {
            show_next_output(strtok(nullptr, "\n"));
            ok("%s", "");
        } else if (!strcmp(command, "accessed")) {
            ok("%llu", accessed_bytes);
        } else if (observing && observing->command(command)) {
        } else if (!strcmp(command, "launch")) {
            Launch launch = {};
            launch.grid.x = next_number(), launch.grid.y = next_number(), launch.grid.z = next_number();
            launch.block.x = next_number(), launch.block.y = next_number(), launch.block.z = next_number();
            launch.shared_bytes = next_number();
            launch.descending = !strcmp(next_word(), "descending");
            const std::vector<Argument> arguments = read_arguments();
            launch.arguments = arguments.data();
            launch.blocks = (unsigned long long)launch.grid.x * launch.grid.y * launch.grid.z;
            if (!chosen.empty()) {
                for (unsigned long long b : chosen)
                    if (b >= launch.blocks) fail("there is no block %llu in a grid of %llu", b, launch.blocks);
                launch.chosen = &chosen;
                launch.blocks = chosen.size();
            }
            if (!pool) pool = new Pool(worker_count);
            make_reachable(true);
            const long long start = nanoseconds();
            undefined_shuffle.clear();
            missed_barrier.clear();
            pool->run(launch);
            const long long end = nanoseconds();
            make_reachable(false);
            if (running_threads() > 1 + worker_count) fail("%s", still_runs);
            output.shown = false;
            ok("%lld %s\t%s", end - start, undefined_shuffle.text, missed_barrier.text);
        } else {
            fail("unknown command %s", command);
        }
    }
}

}  // namespace

void fail_size_of_struct(size_t passed, size_t compiled) {
    fail("a struct that the kernel takes by value has %zu bytes, and %zu were expected from its members", compiled, passed);
}

// ---- Functions for observe.cpp ---------------------------------------------------------------------------

size_t buffer_count() { return buffers.size(); }
Span buffer(size_t index) { return buffers[index]; }

char* thread_local_start() {
    char* start = nullptr;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            for (int i = 0; i < info->dlpi_phnum; ++i)
                if (info->dlpi_phdr[i].p_type == PT_TLS) *(char**)out = (char*)info->dlpi_tls_data;
            return 1;
        },
        &start);
    return start;
}

bool may_run(unsigned thread) {
    return worker->ready(thread);
}

bool computes_for_warp() { return worker->is_computing; }

void pause_running() {
    Worker& w = *worker;
    const unsigned thread = w.running->thread;
    w.waits[thread] = Waits::paused;
    w.wait(thread);
}

bool is_paused(unsigned thread) { return worker->waits[thread] == Waits::paused; }

void resume(unsigned thread) {
    if (is_paused(thread)) worker->waits[thread] = Waits::no;
}

void answer_ok() { ok("%s", ""); }
void refuse(const char* why) { fail("%s", why); }

}  // namespace cudamm

// Takes the place of the C library's function, which `assert` calls and which knows no threads of a block.
extern "C" [[noreturn]] void __assert_fail(const char* condition, const char* file, unsigned line, const char*) noexcept {
    using namespace cudamm;
    if (!worker || !worker->running) fail("assertion failed in line %u of %s: %s", line, file, condition);
    fail("assertion failed in line %u of %s: %s, in thread %s of block %s", line, file, condition,
         worker->thread_text(worker->running->thread).text, worker->block_text().text);
}

// Takes the place of the C library's function, which counts microseconds.
extern "C" clock_t clock() noexcept { return (clock_t)cudamm::nanoseconds(); }

// Ends this process with its parent, even if a kernel never ends. The signal is sent when the thread that forked
// ends, which can be before its process ends; cudamm forks from its main thread.
static void die_with_parent() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // If the parent died before this call there is no signal, but the other end of standard input is closed.
    pollfd commands = {0, 0, 0};
    if (poll(&commands, 1, 0) == 1 && commands.revents & POLLHUP) _exit(5);
}

// Makes each attempt to start a process a fault: such a process could outlive this one. Threads are allowed. A confined
// process has only the system calls that kernels need: memory, threads, time, and its open files. It opens no file and no
// connection, and sends no signal to another process. On a system without seccomp nothing changes.
static void forbid_system_calls(bool is_confined) {
#if defined(__x86_64__)
    constexpr unsigned architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
    constexpr unsigned architecture = AUDIT_ARCH_AARCH64;
#endif
#ifndef SYS_clone3
#define SYS_clone3 435  // not in the headers of old systems
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    const auto load = [](size_t offset) -> sock_filter { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset); };
    const auto argument = [](int i) { return offsetof(seccomp_data, args) + 8 * i; };  // its lower half
    const sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_filter fault = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    const sock_filter not_permitted = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    std::vector<sock_filter> filter = {
        load(offsetof(seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),
        is_confined ? fault : allow,  // the calls of another architecture have other numbers
        load(offsetof(seccomp_data, nr)),
    };
    const auto always = [&](unsigned call, sock_filter action) {
        filter.insert(filter.end(), {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), action});
    };
    // Tests an argument of a call: `test` is BPF_JEQ or BPF_JSET.
    const auto depending = [&](unsigned call, int i, unsigned short test, unsigned value, sock_filter yes, sock_filter no) {
        filter.insert(filter.end(), {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4), load(argument(i)),
                                     BPF_JUMP((unsigned short)(BPF_JMP | test | BPF_K), value, 0, 1), yes, no});
    };
    // `clone3` has its flags in memory, which a filter cannot read. Without it, libraries call `clone`.
    always(SYS_clone3, BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
    depending(SYS_clone, 0, BPF_JSET, CLONE_THREAD, allow, fault);
    for (const unsigned call : {SYS_execve, SYS_execveat}) always(call, fault);
#ifdef SYS_fork
    for (const unsigned call : {SYS_fork, SYS_vfork}) always(call, fault);
#endif
    if (is_confined) {
        for (const unsigned call : {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_close, SYS_lseek, SYS_fstat, SYS_ppoll,
                                    SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_futex, SYS_set_robust_list,
                                    SYS_gettid, SYS_getpid, SYS_sched_yield, SYS_sched_getaffinity, SYS_getcpu,
                                    SYS_membarrier, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack,
                                    SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_nanosleep,
                                    SYS_clock_nanosleep, SYS_restart_syscall, SYS_getrandom, SYS_exit, SYS_exit_group})
            always(call, allow);
#ifdef SYS_rseq
        always(SYS_rseq, allow);
#endif
#ifdef SYS_poll  // calls that new architectures lack
        for (const unsigned call : {SYS_poll, SYS_pause, SYS_time}) always(call, allow);
        for (const unsigned call : {SYS_open, SYS_access, SYS_readlink}) always(call, not_permitted);
#endif
        // Libraries make these calls too, and do without an answer.
        for (const unsigned call : {SYS_openat, SYS_faccessat, SYS_readlinkat, SYS_prctl, SYS_prlimit64, SYS_sysinfo, SYS_uname})
            always(call, not_permitted);
        for (const unsigned call : {SYS_mmap, SYS_mprotect}) depending(call, 2, BPF_JSET, PROT_EXEC, not_permitted, allow);
        always(SYS_newfstatat, allow);  // `fstat` and `stat` of the C library, which read no contents
#ifdef SYS_stat
        always(SYS_stat, allow);
#endif
        depending(SYS_fcntl, 1, BPF_JEQ, F_GETFL, allow, not_permitted);              // of `fdopen`
        depending(SYS_tgkill, 0, BPF_JEQ, (unsigned)getpid(), allow, fault);          // of `abort`
    }
    filter.push_back(is_confined ? fault : allow);
    const sock_fprog program = {(unsigned short)filter.size(), filter.data()};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    // A confined process is of an untrusted kernel, which must not run without the filter.
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) && is_confined) _exit(6);
#else
    if (is_confined) _exit(6);
#endif
}

// Runs before every initialiser of the kernel's file.
static void begin(int, char**, char** environment) {
    die_with_parent();
    bool is_confined = false;
    for (char** variable = environment; *variable; ++variable) is_confined |= !strcmp(*variable, "CUDAMM_CONFINED=1");
    forbid_system_calls(is_confined);
}
__attribute__((section(".preinit_array"), used)) static void (*const begin_first)(int, char**, char**) = begin;

int main(int, char** argv) {
    using namespace cudamm;
    catch_output();
    answers = atoi(argv[1]);
    data_file = atoi(argv[2]);
    struct sigaction action = {};
    action.sa_sigaction = crashed;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS}) sigaction(signal, &action, nullptr);
    use_signal_stack();
    serve_commands(std::min((unsigned)atoi(argv[3]), most_workers));
    _exit(0);
}
