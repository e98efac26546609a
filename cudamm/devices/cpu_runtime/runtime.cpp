// Runs a kernel compiled against cuda_on_cpu.h: reads commands, launches grids, reports what went wrong.
//
// One process a variant, so that a kernel that crashes takes only itself down. Commands arrive as lines on
// standard input, answers leave as lines on the file descriptor given as the first argument:
//
//     buffer NAME OFFSET LENGTH DATA BYTES                   ok    (a part of the shared file, guards included)
//     constant NAME VALUE                                    ok
//     launch GX GY GZ BX BY BZ SHARED ORDER ARGUMENT...      ok NANOSECONDS
//     call ARGUMENT...                                       ok NANOSECONDS    (a host function: no grid)
//     blocks INDEX...                                        ok                (the only ones to be launched)
//
// and, in a kernel that is traced, those of observe.cpp.
//
// An ARGUMENT is @BUFFER, a whole number, or a real one. Anything wrong is answered `failed TEXT` and ends
// the process: after a fault nothing it holds can be trusted.
//
// The threads of a block are fibers. A fiber is entered once through makecontext; from then on a switch is
// a setjmp and a longjmp, with no system call. Threads run in index order from barrier to barrier, or in
// reverse: a kernel whose result depends on the order has a race. A thread gets a fiber of its own only when
// the one before it waits, so a kernel without barriers runs all its threads on one stack.

#include "observe.h"

#include <errno.h>
#include <link.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace cudamm {

__thread Place place;
const Observing* observing = nullptr;

namespace {

constexpr unsigned poison = 0x7ff85eedu;  // of shared memory: NaN as float and, twice in a row, as double
constexpr size_t stack_bytes = 576 * 1024;  // a thread of a GPU has 512 KB of local memory at most
constexpr size_t page_bytes = 4096;
constexpr size_t fence_bytes = buffer_surroundings;  // never mapped, on both sides of a buffer: a far miss crashes
constexpr unsigned most_threads = 1024;
constexpr unsigned most_workers = 24;  // 1024 stacks each, two mappings a stack; Linux allows 65530 mappings

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
    // Workers may find faults at the same moment; the first is told.
    static std::atomic_flag told = ATOMIC_FLAG_INIT;
    if (told.test_and_set())
        for (;;) pause();
    if (observing) observing->failed();
    va_list values;
    va_start(values, format);
    answer("failed", format, values);
    va_end(values);
    _exit(3);
}

// ---- A worker: one operating system thread and the block it runs -----------------------------------------

// GCC's own setjmp keeps three words where the library's keeps some two hundred bytes: with hundreds of
// fibers taking turns that is the difference between the L1 cache and the L2, and a third of the time.
#if defined(__clang__)
using Point = jmp_buf;
#define SAVE(point) _setjmp(point)
#define JUMP(point) _longjmp(point, 1)
#else
using Point = void* [5];
#define SAVE(point) __builtin_setjmp(point)
#define JUMP(point) __builtin_longjmp(point, 1)
#endif

struct Fiber {
    Point resume;
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
    const std::vector<unsigned long long>* chosen;  // only these blocks; null: all
};

struct Named {
    char text[48];
};

uint3 index_in(dim3 extent, unsigned long long index) {
    return {(unsigned)(index % extent.x), (unsigned)(index / extent.x % extent.y),
            (unsigned)(index / extent.x / extent.y)};
}

Named name(uint3 index, dim3 extent) {
    Named n;
    if (extent.z > 1) snprintf(n.text, sizeof n.text, "(%u,%u,%u)", index.x, index.y, index.z);
    else snprintf(n.text, sizeof n.text, "(%u,%u)", index.x, index.y);
    return n;
}

// A copy that a thread has begun, and has not waited for.
struct Copy {
    void* to;
    const void* from;
    size_t size, zfill;
};
struct Copies {
    std::vector<Copy> begun;
    std::vector<size_t> groups;  // how many had begun at each commit
};

enum class Waits : unsigned char { no, at_block, at_warp, paused, done };

struct Worker {
    const Launch* launch;
    unsigned threads;  // of a block
    uint3 index_of[most_threads];

    Point scheduler;
    Fiber* running;
    Fiber* fiber_of[most_threads];  // null: not begun, or done
    std::vector<Fiber*> idle;

    unsigned done, last_done;
    Waits waits[most_threads];
    unsigned since[most_threads];  // epoch of the block's barrier it waits at
    unsigned mask[most_threads];   // of the lanes it waits for at a warp's barrier
    int line[most_threads];
    const char* file[most_threads];

    unsigned epoch, arrived, first_arrived;
    int sum[2];  // of block_sum, by the parity of the epoch
    unsigned waiting_at_warp;
    alignas(32) unsigned char exchanged[most_threads][32];

    std::vector<std::pair<char*, size_t>> static_shared;
    std::map<unsigned, Copies> copies;

    void begin(const Launch& l);
    void run_block(unsigned long long index);

    [[noreturn]] void live();  // a fiber's life
    // Never inlined: the jump must not be in the function that the jump returns to.
    [[noreturn]] __attribute__((noinline)) void go_on_with(unsigned thread);
    [[noreturn]] __attribute__((noinline)) void end_block() { JUMP(scheduler); }
    void wait(unsigned thread);
    void release_warp(unsigned thread);

    Named named(unsigned thread) const { return name(index_of[thread], launch->block); }
    Named block() const { return name(place.block_index, launch->grid); }
    unsigned after(unsigned thread) const {
        if (launch->descending) return thread == 0 ? threads - 1 : thread - 1;
        return thread + 1 == threads ? 0 : thread + 1;
    }
    bool ready(unsigned thread) const {
        switch (waits[thread]) {
            case Waits::no: return true;
            case Waits::at_block: return since[thread] != epoch;
            case Waits::at_warp:
            case Waits::paused:
            case Waits::done: break;
        }
        return false;
    }
    // The next thread that can run, in order, `thread` itself the last to be asked.
    unsigned next_ready(unsigned thread) const {
        for (unsigned next = after(thread);; next = after(next)) {
            if (ready(next)) return next;
            if (next == thread) stuck();
        }
    }
    // Likewise, of its own warp if there is one.
    unsigned next_of_warp(unsigned thread) const {
        const unsigned warp = thread & ~31u;
        for (unsigned next = warp; next < std::min(warp + 32, threads); ++next)
            if (ready(next)) return next;
        return next_ready(thread);
    }
    [[noreturn]] void stuck() const {
        unsigned t = 0;
        while (waits[t] == Waits::done) ++t;
        fail("block %s is stuck: thread %s waits in line %d of %s for threads that wait elsewhere or have left",
             block().text, named(t).text, line[t], file[t]);
    }
};

// Behind a pointer, so that thread-local storage other than this, `place` and the dynamic array is the
// kernel's static shared memory and nothing else.
__thread Worker* worker;

void enter() { worker->live(); }

Fiber* new_fiber() {
    Fiber* fiber = new Fiber;
    fiber->stack = (char*)mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (fiber->stack == MAP_FAILED) fail("out of memory for the stack of a thread");
    mprotect(fiber->stack, page_bytes, PROT_NONE);  // an overflow crashes, and is told, instead of spreading
    return fiber;
}

void Worker::go_on_with(unsigned thread) {
    Fiber* fiber = fiber_of[thread];
    const bool begun = fiber != nullptr;
    if (!begun) {
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
    if (fiber->stack) {  // cleared once the fiber has been entered
        // Stacks lie whole pages apart: without the shift their hot lines would share few cache sets.
        static std::atomic<size_t> entered{0};
        const size_t shift = entered++ % 32 * 320;
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = fiber->stack;
        context.uc_stack.ss_size = stack_bytes - shift;
        context.uc_link = nullptr;
        makecontext(&context, enter, 0);
        fiber->stack = nullptr;
        setcontext(&context);
    }
    JUMP(fiber->resume);
}

void Worker::live() {
    for (Fiber* const self = running;;) {
        const unsigned thread = self->thread;
        if (!observing || observing->thread_begins(thread)) kernel.call(launch->arguments);
        waits[thread] = Waits::done;
        if (observing) observing->stops(thread, Stop::ended);
        fiber_of[thread] = nullptr;
        last_done = thread;
        ++done;
        // Those that waited for this one in vain may now be complete.
        const unsigned warp = thread & ~31u;
        for (unsigned t = warp; waiting_at_warp && t < std::min(warp + 32, threads); ++t)
            if (waits[t] == Waits::at_warp) release_warp(t);
        if (arrived) {
            const unsigned t = first_arrived;
            fail("block %s: thread %s left the kernel while thread %s waits at the barrier in line %d of %s; all "
                 "threads of a block must reach it", block().text, named(thread).text, named(t).text, line[t], file[t]);
        }
        const bool all_done = done == threads;
        const unsigned next = all_done ? 0 : observing ? next_of_warp(thread) : next_ready(thread);
        if (!all_done && !fiber_of[next]) {  // not begun: this fiber is free to run it
            self->thread = next;
            fiber_of[next] = self;
            place.thread_index = index_of[next];
            place.thread = next;
            continue;
        }
        idle.push_back(self);
        if (SAVE(self->resume) == 0) {
            if (all_done) end_block();
            go_on_with(next);
        }
    }
}

// The running thread cannot go on: the others do, until it can.
void Worker::wait(unsigned thread) {
    const unsigned next = waits[thread] == Waits::paused ? next_of_warp(thread) : next_ready(thread);
    if (next != thread && SAVE(running->resume) == 0) go_on_with(next);
    worker->waits[thread] = Waits::no;
}

// Lets the lanes of a warp's barrier go on, if all that it names have come or have left.
void Worker::release_warp(unsigned thread) {
    const unsigned warp = thread & ~31u, named = mask[thread];
    for (unsigned t = warp; t < std::min(warp + 32, threads); ++t) {
        const bool wanted = named >> (t - warp) & 1, here = waits[t] == Waits::at_warp && mask[t] == named;
        if (wanted && !here && waits[t] != Waits::done) return;
    }
    for (unsigned t = warp; t < std::min(warp + 32, threads); ++t)
        if (waits[t] == Waits::at_warp && mask[t] == named) {
            waits[t] = Waits::no;
            --waiting_at_warp;
        }
}

void fill(char* at, size_t bytes) {
    for (; bytes >= 4; at += 4, bytes -= 4) memcpy(at, &poison, 4);
    memcpy(at, &poison, bytes);
}

// Where this thread's copy of the kernel's static `__shared__` variables lies.
std::vector<std::pair<char*, size_t>> find_static_shared() {
    std::pair<char*, size_t> all{nullptr, 0};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            for (int i = 0; i < info->dlpi_phnum; ++i)
                if (info->dlpi_phdr[i].p_type == PT_TLS)
                    *(std::pair<char*, size_t>*)out = {(char*)info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz};
            return 1;  // the first object is the program itself
        },
        &all);
    std::pair<char*, size_t> others[] = {{(char*)&place, sizeof place},
                                         {(char*)&worker, sizeof worker},
                                         {(char*)cudamm_dynamic_shared, dynamic_shared_bytes}};
    std::sort(std::begin(others), std::end(others));
    std::vector<std::pair<char*, size_t>> found;
    char* at = all.first;
    for (const auto& other : others) {
        if (other.first > at) found.push_back({at, other.first - at});
        at = other.first + other.second;
    }
    if (all.first + all.second > at) found.push_back({at, all.first + all.second - at});
    return found;
}

void Worker::begin(const Launch& l) {
    launch = &l;
    threads = l.block.x * l.block.y * l.block.z;
    for (unsigned t = 0; t < threads; ++t) index_of[t] = index_in(l.block, t);
    place.block_dim = l.block;
    place.grid_dim = l.grid;
}

void Worker::run_block(unsigned long long index) {
    place.block_index = index_in(launch->grid, index);
    for (const auto& part : static_shared) fill(part.first, part.second);
    char* const dynamic = (char*)cudamm_dynamic_shared;
    if (dynamic_shared_bytes) fill(dynamic, launch->shared_bytes + dynamic_shared_guard);
    memset(waits, 0, threads * sizeof *waits);
    memset(fiber_of, 0, threads * sizeof *fiber_of);
    copies.clear();
    done = arrived = waiting_at_warp = 0;
    sum[0] = sum[1] = 0;
    if (observing) observing->block_begins(index, place.block_index, launch->block, launch->shared_bytes);
    if (SAVE(scheduler) == 0) go_on_with(launch->descending ? threads - 1 : 0);
    if (observing) observing->block_ends();
    if (dynamic_shared_bytes) {
        const char* guard = (const char*)cudamm_dynamic_shared + launch->shared_bytes;
        for (size_t i = 0; i < dynamic_shared_guard; ++i)
            if (guard[i] != ((const char*)&poison)[i % 4])
                fail("block %s wrote past its dynamic shared memory: %zu bytes were asked for, byte %zu was written",
                     block().text, launch->shared_bytes, launch->shared_bytes + i);
    }
}

}  // namespace

// ---- What a kernel calls -------------------------------------------------------------------------------

void wait_for_block(int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread;
    w.line[thread] = line;
    w.file[thread] = file;
    if (w.done)
        fail("block %s: thread %s waits at the barrier in line %d of %s, but thread %s has left the kernel; all "
             "threads of a block must reach it", w.block().text, w.named(thread).text, line, file,
             w.named(w.last_done).text);
    const unsigned first = w.first_arrived;
    if (w.arrived && w.line[first] != line)
        fail("block %s: threads wait at different barriers, thread %s in line %d of %s and thread %s in line %d of %s",
             w.block().text, w.named(first).text, w.line[first], w.file[first], w.named(thread).text, line, file);
    if (w.arrived == 0) w.first_arrived = thread;
    w.waits[thread] = Waits::at_block;
    w.since[thread] = w.epoch;
    if (++w.arrived == w.threads) {
        if (observing) observing->all_at_barrier();
        w.arrived = 0;
        ++w.epoch;
        w.sum[w.epoch & 1] = 0;
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

void copy_later(void* to, const void* from, size_t size, size_t zfill, int line, const char* file) {
    Worker& w = *worker;
    if ((size != 4 && size != 8 && size != 16) || zfill > size || (size_t)to % size || (size_t)from % size)
        fail("block %s: thread %s begins a copy of %zu bytes in line %d of %s: of 4, 8 or 16 bytes it can be, from "
             "and to addresses that are multiples of that", w.block().text, w.named(w.running->thread).text, size,
             line, file);
    w.copies[w.running->thread].begun.push_back({to, from, size, zfill});
}

void commit_copies() {
    Copies& copies = worker->copies[worker->running->thread];
    copies.groups.push_back(copies.begun.size());
}

void wait_for_copies(size_t prior) {
    Copies& copies = worker->copies[worker->running->thread];
    if (copies.groups.size() <= prior) return;
    const size_t complete = copies.groups.size() - prior, count = copies.groups[complete - 1];
    for (size_t i = 0; i < count; ++i) {
        const Copy& copy = copies.begun[i];
        memcpy(copy.to, copy.from, copy.size - copy.zfill);
        memset((char*)copy.to + copy.size - copy.zfill, 0, copy.zfill);
    }
    copies.begun.erase(copies.begun.begin(), copies.begun.begin() + count);
    copies.groups.erase(copies.groups.begin(), copies.groups.begin() + complete);
    for (size_t& group : copies.groups) group -= count;
}

int lane() { return worker->running->thread % 32; }

unsigned active_mask() {
    const Worker& w = *worker;
    const unsigned base = w.running->thread & ~31u;
    unsigned mask = 0;
    for (unsigned t = base; t < w.threads && t < base + 32; ++t) mask |= (unsigned)(w.waits[t] != Waits::done) << (t - base);
    return mask;
}

void wait_for_warp(unsigned mask, int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread;
    w.line[thread] = line;
    w.file[thread] = file;
    if (!(mask >> thread % 32 & 1))
        fail("block %s: thread %s is not in the mask 0x%08x it passes in line %d of %s", w.block().text,
             w.named(thread).text, mask, line, file);
    w.waits[thread] = Waits::at_warp;
    w.mask[thread] = mask;
    ++w.waiting_at_warp;
    if (observing) observing->stops(thread, Stop::at_warp);
    w.release_warp(thread);
    w.wait(thread);
}

void exchange(unsigned mask, void* value, size_t bytes, int lane, int line, const char* file) {
    Worker& w = *worker;
    const unsigned thread = w.running->thread, source = (thread & ~31u) + lane;
    memcpy(w.exchanged[thread], value, bytes);
    wait_for_warp(mask, line, file);
    if (source < w.threads) memcpy(value, w.exchanged[source], bytes);
    wait_for_warp(mask, line, file);
}

namespace {

// ---- Crashes -------------------------------------------------------------------------------------------

std::vector<Span> buffers;

void crashed(int signal, siginfo_t* info, void*) {
    char where[160] = "";
    if (worker && worker->running && worker->launch)
        snprintf(where, sizeof where, " in thread %s of block %s", worker->named(worker->running->thread).text,
                 worker->block().text);
    char what[160] = "";
    if (signal == SIGSEGV || signal == SIGBUS) {
        const char* address = (const char*)info->si_addr;
        long nearest = 2 * fence_bytes;
        for (const Span& b : buffers) {
            const long past = address - (b.data + b.bytes), before = b.data - address;
            if (std::max(past, before) >= nearest) continue;
            nearest = std::max(past, before);
            const char* where = past >= 0 ? "past the end" : "before the start";
            snprintf(what, sizeof what, ": it reached %ld bytes %s of %s", nearest, where, b.name);
        }
    }
    const char* kind = signal == SIGSEGV || signal == SIGBUS ? "bad memory access"
                       : signal == SIGFPE                    ? "division by zero"
                       : signal == SIGABRT                   ? "failed assertion"
                                                             : "illegal instruction";
    fail("crashed: %s%s%s", kind, where, what);
}

void watch_this_thread() {
    static constexpr size_t bytes = 64 * 1024;  // a fiber's own stack may be what overflowed
    stack_t stack = {};
    stack.ss_sp = malloc(bytes);
    stack.ss_size = bytes;
    sigaltstack(&stack, nullptr);
}

// ---- The workers and the commands they serve -------------------------------------------------------------

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
        watch_this_thread();
        worker = new Worker();
        worker->static_shared = find_static_shared();
        for (unsigned long long seen = 0;;) {
            std::unique_lock<std::mutex> lock(mutex_);
            start_.wait(lock, [&] { return generation_ != seen; });
            seen = generation_;
            Launch& launch = *launch_;
            lock.unlock();
            worker->begin(launch);
            for (unsigned long long b; (b = launch.next_block++) < launch.blocks;)
                worker->run_block(launch.chosen ? (*launch.chosen)[b] : b);
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

long long now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

char* word() { return strtok(nullptr, " \n"); }
long long number() {
    const char* text = word();
    if (!text) fail("a command broke off");
    return strtoll(text, nullptr, 10);
}

void map_buffer() {
    Span buffer = {};
    snprintf(buffer.name, sizeof buffer.name, "%s", word());
    const long long offset = number(), length = number(), data = number();
    buffer.bytes = number();
    char* space = (char*)mmap(nullptr, length + 2 * fence_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED ||
        mmap(space + fence_bytes, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, data_file, offset) == MAP_FAILED)
        fail("out of memory for %s: %s", buffer.name, strerror(errno));
    buffer.data = space + fence_bytes + data;
    buffers.push_back(buffer);
}

void set_constant() {
    const char* name = word();
    const long long value = number();
    for (int i = 0; i < kernel.constant_count; ++i)
        if (!strcmp(kernel.constants[i].name, name)) memcpy(kernel.constants[i].address, &value, kernel.constants[i].bytes);
}

std::vector<Argument> read_arguments() {
    std::vector<Argument> arguments;
    while (const char* text = word()) {
        if (*text == '@') arguments.push_back({buffers.at(atoi(text + 1)).data, 0, 0});
        else arguments.push_back({nullptr, strtoll(text, nullptr, 10), strtod(text, nullptr)});
    }
    return arguments;
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
            ok("%s", "");
        } else if (!strcmp(command, "constant")) {
            set_constant();
            ok("%s", "");
        } else if (!strcmp(command, "call")) {
            const std::vector<Argument> arguments = read_arguments();
            const long long start = now_ns();
            kernel.call(arguments.data());
            ok("%lld", now_ns() - start);
        } else if (!strcmp(command, "blocks")) {
            chosen.clear();
            while (const char* text = word()) chosen.push_back(strtoull(text, nullptr, 10));
            ok("%s", "");
        } else if (observing && observing->command(command)) {
        } else if (!strcmp(command, "launch")) {
            Launch launch = {};
            launch.grid.x = number(), launch.grid.y = number(), launch.grid.z = number();
            launch.block.x = number(), launch.block.y = number(), launch.block.z = number();
            launch.shared_bytes = number();
            launch.descending = !strcmp(word(), "descending");
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
            const long long start = now_ns();
            pool->run(launch);
            ok("%lld", now_ns() - start);
        } else {
            fail("unknown command %s", command);
        }
    }
}

}  // namespace

// ---- What observe.cpp asks for ---------------------------------------------------------------------------

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

// Never outlive the program that started this one, not even in the middle of a kernel that never ends. The
// signal comes when the thread that forked ends, not only its process: cudamm forks from its main thread.
static void die_with_parent() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // A parent that died before that sends none, but it has closed the other end of standard input.
    pollfd commands = {0, 0, 0};
    if (poll(&commands, 1, 0) == 1 && commands.revents & POLLHUP) _exit(5);
}

int main(int, char** argv) {
    using namespace cudamm;
    die_with_parent();
    setvbuf(stdout, nullptr, _IONBF, 0);  // what a kernel prints is out before it crashes
    answers = atoi(argv[1]);
    data_file = atoi(argv[2]);
    struct sigaction action = {};
    action.sa_sigaction = crashed;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
    watch_this_thread();
    serve_commands(std::min((unsigned)atoi(argv[3]), most_workers));
    _exit(0);
}
