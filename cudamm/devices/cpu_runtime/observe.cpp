// Observes the memory accesses of a kernel. The compiler instruments the kernel as for ThreadSanitizer
// (-fsanitize=thread) and for coverage (-fsanitize-coverage=trace-pc): the kernel calls a function before each
// access and in each basic block. This file defines those functions, in place of the sanitizer's library.
//
// Commands, in addition to those of runtime.cpp:
//
//     shared NAME OFFSET BYTES      a shared variable in the thread-local segment; 0 bytes for the dynamic array
//     guard OFFSET                  a byte beside a shared variable that says whether its constructor has run
//     device NAME OFFSET BYTES      a variable in global memory; OFFSET is from the start of the program
//     observe CHECKED CALLS         start to observe. CHECKED 1: also find faults. CALLS: approximate maximum of
//                                   calls of these functions in a block, 0 for no limit; if no thread waits for
//                                   another, only some warps are traced
//     watch BLOCK WARP MOST         keep the first MOST requests of a warp
//     trap                          end the kernel at the first NaN that it computes
//     into FILE                     set the file descriptor of the report, which is also written after a fault
//     report                        write the report
//
// Merging threads into warps. The accesses and basic blocks of each thread are recorded in order. When all threads
// of a warp have reached a barrier or the end, or a buffer is full, the 32 records are merged. The next event is
// always the access or basic block in the deepest call, and there at the lowest address; all threads with that
// event take part. So threads that diverged meet again behind the loop or branch, as on a GPU. For the basic
// blocks between two accesses it is enough to record those at a higher address than all that follow, and of these
// the first three.

#include "observe.h"

#include <fenv.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cudamm {
namespace {

extern "C" char __executable_start, etext;

constexpr unsigned lanes = 32, most_threads = 1024, most_arrays = 64;
constexpr unsigned word_shift = 2;  // log2 of the bytes of a word
constexpr size_t most_events = 1 << 12;  // maximum number of a thread's events before its warp is merged

// A copy by cp.async has two events: copy_load, then copy_store.
enum Op : unsigned char { load, store, atomic, copy_load, copy_store, atomic_store, block };

struct Event {
    unsigned pc;  // address in the code, from the start of the program
    unsigned char depth, op, size, array;
    long long offset : 48;  // bytes from the array's start
    long long step : 16;    // number of warp barriers that the thread has passed

    // Position of the event in the order in which a warp executes its events.
    unsigned long long order() const { return (unsigned long long)(255 - depth) << 32 | pc; }
};

struct Array {
    char name[64];
    char *low, *high;  // an access between these addresses belongs to the array
    char* data;
    size_t bytes;
    bool shared, device;
};

struct Site {
    unsigned pc = 0;
    unsigned char op = 0, size = 0;
    bool shared = false;
    int array = -2;  // index in `arrays`; -2: no access yet, -1: several arrays
    unsigned long long requests = 0, threads = 0, bytes_requested = 0, bytes_used = 0;
    unsigned long long sectors = 0, ideal_sectors = 0, wavefronts = 0, ideal_wavefronts = 0, broadcasts = 0;
    unsigned long long wide_requests = 0, wide_wavefronts = 0, wide_ideal = 0;
    unsigned long long pair_requests = 0, pair_wavefronts = 0, pair_ideal = 0;
    unsigned long long merged_threads = 0, merged_bytes_used = 0;  // without elements that are loaded again
    unsigned long long unrolled_requests = 0, unrolled_sectors = 0;
    int phase = -1;         // of the first access: the remainder of its offset by 16
    unsigned aligned = 16;  // the offsets of first accesses after a barrier have one remainder by so many bytes
    long long low = (1ll << 47), high = -(1ll << 47);  // bytes of the array that were accessed

    // Bytes of the widest access into which nvcc merges those of a thread: of four elements, and of 16 bytes at most.
    unsigned wide_bytes() const { return std::min(4u * size, 16u); }
    // nvcc merges the accesses of all warps or of none: a row of 33 elements begins elsewhere for each warp.
    void begin(int remainder) {
        if (phase < 0) phase = remainder;
        while ((remainder - phase) % (int)aligned) aligned /= 2;
    }
    void reach(long long from, long long to) { low = std::min(low, from), high = std::max(high, to); }
};

// Up to 16 bytes of shared memory for each thread of a warp, and the elements of them that one site accessed.
struct Chunk {
    unsigned mask;      // threads
    // Bits 0 to 3: elements of a chunk of up to 16 bytes; bit 4: single elements that cannot be merged; bits 5 and 6:
    // elements of a chunk of 8 bytes, of threads that begin in different halves of 16 bytes.
    unsigned elements;
    int offset[lanes];  // offset of the chunk, or of the single element
    unsigned wavefronts, ideal;
    unsigned different;  // places that the threads access
    unsigned requests() const { return __builtin_popcount(elements); }
    static unsigned kind(unsigned elements) { return elements >> 5 ? 2 : elements >> 4; }
};

// The accesses of 2, 4 or 8 bytes of a warp to shared memory at one site between two barriers.
struct Chunks {
    std::vector<Chunk> all;
    std::unordered_map<unsigned long long, unsigned> by_key;
};

// A loop of stores to adjacent elements: the first offset and the number of elements of each thread.
struct Loop {
    unsigned last_mask = 0;
    long long first[lanes];
    unsigned count[lanes];
};

// Basic blocks that a thread has passed since its last event, at which it may have to wait for other threads: the
// block at the highest address, the highest after that block, and the highest after the second. The first may be
// the end of a loop, and the second the end of an inner loop. 0: none.
constexpr unsigned most_highest = 3;
struct PassedBlocks {
    unsigned highest[most_highest];
    unsigned left_at;  // address at which a function was left just before; 0: none was left
};

// The load of a copy whose store has not been recorded.
struct CopySource {
    unsigned mask = 0, sectors = 0;
    long long offset[lanes];
    std::pair<unsigned, unsigned> site;
};

struct Thread {
    unsigned short id;  // number of the thread in its block
    uint3 block, index;
};

struct Fault {
    const char* kind;
    unsigned pc, other_pc;
    unsigned char op, other_op, size;
    int array;
    long long offset;
    unsigned long long count;
    Thread thread, other;
};

// Bytes of memory whose accesses are remembered together, and the last accesses to them: the last write, the last one
// that was not atomic, and two reads by different threads. If threads of several warps read between two barriers, the two readers are of different warps:
// one of them is not of the next writer's warp.
struct Unit {
    unsigned write_interval = 0, write_pc = 0, write_block = 0;
    unsigned plain_interval = 0, plain_pc = 0, plain_block = 0;
    unsigned read_interval[2] = {0, 0}, read_pc[2] = {0, 0}, read_block[2] = {0, 0};
    unsigned short write_thread = 0, plain_thread = 0, read_thread[2] = {0, 0};
    unsigned short write_step = 0, plain_step = 0, read_step[2] = {0, 0};
    bool write_atomic = false, read_atomic[2] = {false, false};
};

// The last atomic operation by which a block may have released others: what it did before is ordered before what they do
// after an operation on the same memory, as with a lock.
struct Release {
    unsigned interval = 0;
    unsigned short thread = 0;
};

struct Unwritten {
    int array;
    size_t unit;
    Event event;
    unsigned short thread;
};

// An index outside of its array, which the compiler's own check found (-fsanitize=bounds). It may be an array that is
// no memory of interest otherwise, such as one on the stack, or a row of a larger array.
struct BadIndex {
    const char* type;
    long long index;
    unsigned long long count;
    Thread thread;
};

struct Request {
    unsigned pc;
    unsigned mask;
    long long offset[lanes];
    int array;
};

std::mutex totals_mutex;
std::map<std::pair<unsigned, unsigned>, Site> totals;  // by address in the code and kind of access
enum Reached : unsigned char { nothing, loads_only, stores_too };
std::map<unsigned long long, Reached> traced_blocks;  // what each block did in global memory, by its index
unsigned long long traced_warps = 0, all_warps = 0;

std::vector<long long> guards;  // offsets in the thread-local segment
std::vector<Array> variables;  // `data` contains offsets, to which a worker adds the address of its segment
bool checked = false;
unsigned long long most_calls = 0;  // approximate maximum in a block; 0: no limit
long long watched_block = -1, watched_warp = -1;
size_t most_requests = 0;
std::vector<Request> watched;
std::map<std::tuple<const char*, unsigned, unsigned>, Fault> faults;
std::map<std::tuple<const char*, unsigned, unsigned>, BadIndex> bad_indices;  // by file, line and column
bool traps = false;
int report_file = -1;  // file descriptor

// Passes through the banks of shared memory. Source: counts of Nsight Compute on an H200 (docs/trace.md). A request
// of up to 4 bytes a thread needs as many passes as the busiest bank has different words. A request of 8 or 16
// bytes a thread is split into halves or quarters of the warp; two of them become one if pairs of threads access
// equal addresses.
struct Passes {
    unsigned needed, least;
};

// ---- One worker's record of the block it runs -----------------------------------------------------------

struct Recorder {
    std::vector<Array> arrays;
    std::map<std::pair<unsigned, unsigned>, Site> sites;
    std::map<std::pair<unsigned, unsigned>, Chunks> chunks[2];  // loads and stores, by warp and address in the code
    std::map<std::pair<unsigned, unsigned>, Loop> loops;  // by warp and address in the code
    CopySource copy_sources[most_threads / lanes];
    Event* events[most_threads] = {};
    unsigned head[most_threads], tail[most_threads];  // the first event to merge, and the end of the events
    PassedBlocks passed[most_threads];
    unsigned char depth[most_threads];  // depth of function calls
    unsigned short step[most_threads];  // number of warp barriers passed
    bool seen[most_threads];

    uint3 block, extent;
    unsigned long long index;
    unsigned threads, interval = 0, first_interval = 0, block_number = 0;
    bool barrier_seen, left_out;
    // One of `group_stride` groups of warps is traced, if no thread waits for another. A group has several warps, as
    // rows may begin at alternating places in a sector.
    unsigned warps_of_group, group_stride;
    unsigned long long calls;
    unsigned last_pc = 0;  // the last access or basic block
    bool tries_again = false;  // after a weak exchange that failed because another block was faster
    const char* gap = nullptr;  // start of a range of addresses without arrays, such as the threads' stacks
    size_t gap_bytes = 0;
    std::vector<uint3> blocks;  // by block number, from 1
    std::vector<std::vector<Unit>> units;  // by array
    unsigned char unit_shift[most_arrays];  // log2 of the bytes of an array's units: 4 bytes, until an access needs less
    std::vector<Unwritten> unwritten;
    std::vector<Release> known;  // by block number: the releases of other blocks that the running block knows
    std::map<const char*, std::vector<Release>> releases;  // by address: what an operation there makes known

    void place_arrays(size_t dynamic_bytes);
    void begin(unsigned long long block_index, uint3 block, dim3 extent, size_t dynamic_bytes);
    void merge(unsigned warp);
    void merge_all();
    void request(unsigned warp, unsigned mask, const Event* event);
    void global_request(unsigned warp, Site& site, unsigned mask, const Event* event);
    void shared_request(unsigned warp, Site& site, unsigned mask, const Event* event);
    void add_to_chunk(unsigned warp, Site& site, unsigned mask, const long long* offset, unsigned different,
                      const Passes& p);
    void count_chunk(Site& site, const Chunk& chunk);
    void count_chunks(Site& site, Chunks& open);
    void add_to_loop(unsigned warp, Site& site, unsigned mask, const Event* event);
    void count_loop(Site& site, Loop& loop);
    void count_open_requests();
    void record_passed_blocks(unsigned thread);
    void before_depth_changes(unsigned thread);
    void access(const char* at, unsigned size, Op op, unsigned pc);
    void check(unsigned thread, const Event& event);
    void split_units(unsigned array, unsigned shift);
    bool is_unwritten(const Event& event, size_t unit) const;
    void next_interval();
    void synchronise(const char* at, bool releases_others);
    bool is_released(unsigned in_block, unsigned when, unsigned short thread) const;
    Thread thread_info(unsigned thread) const;
    void fault(const char* kind, const Event& event, unsigned thread, unsigned other_pc = 0, Op other_op = load,
               const Thread* other = nullptr);
    void make_space(unsigned thread);
};

Recorder* recorder() { return (Recorder*)place.recorder; }

Passes passes_of_group(const long long* offset, unsigned mask, unsigned size) {
    long long word[lanes * 4];
    unsigned count = 0;
    const unsigned words = size < 4 ? 1 : size / 4;
    for (unsigned m = mask; m; m &= m - 1) {
        const unsigned lane = __builtin_ctz(m);
        for (unsigned i = 0; i < words; ++i) word[count++] = (offset[lane] >> 2) + i;
    }
    if (!count) return {0, 0};
    if (!std::is_sorted(word, word + count)) std::sort(word, word + count);
    count = std::unique(word, word + count) - word;
    unsigned char in_bank[32] = {};
    unsigned most = 0;
    for (unsigned i = 0; i < count; ++i) most = std::max<unsigned>(most, ++in_bank[word[i] & 31]);
    return {most, (count + 31) / 32};
}

bool paired(const long long* offset, unsigned mask) {
    for (unsigned distance : {1u, 2u}) {
        bool all = true;
        for (unsigned m = mask; m && all; m &= m - 1) {
            const unsigned lane = __builtin_ctz(m), other = lane ^ distance;
            all = mask >> other & 1 && offset[lane] == offset[other];
        }
        if (all) return true;
    }
    return false;
}

Passes passes(const long long* offset, unsigned mask, unsigned size) {
    if (size <= 4) return passes_of_group(offset, mask, size);
    Passes sum = {0, 0};
    const unsigned width = size == 8 ? 32 : 16;  // threads that one pass can serve: the whole warp, or a half
    for (unsigned from = 0; from < 32; from += width) {
        const unsigned part = mask & (unsigned)(((1ull << width) - 1) << from);
        if (!part) continue;
        if (paired(offset, part)) {
            const Passes p = passes_of_group(offset, part, size);
            sum.needed += p.needed, sum.least += p.least;
            continue;
        }
        for (unsigned half = 0; half < 2; ++half) {
            const unsigned quarter = part & (unsigned)(((1ull << width / 2) - 1) << (from + half * width / 2));
            const Passes p = passes_of_group(offset, quarter, size);
            sum.needed += p.needed, sum.least += p.least;
        }
    }
    return sum;
}

void Recorder::place_arrays(size_t dynamic_bytes) {
    arrays.clear();
    for (size_t i = 0; i < buffer_count(); ++i) {
        const Span span = buffer(i);
        Array array = {};
        strcpy(array.name, span.name);
        array.data = span.data;
        array.bytes = span.bytes;
        array.low = span.data - buffer_surroundings;
        array.high = span.data + span.bytes + buffer_surroundings;
        arrays.push_back(array);
    }
    char* const start = thread_local_start();
    for (const Array& known : variables) {
        Array array = known;
        array.data = start + (size_t)known.data;
        if (!known.bytes) array.bytes = dynamic_bytes;
        if (known.device) array.data = &__executable_start + (size_t)known.data;
        array.low = array.data;
        array.high = array.data + (known.device ? array.bytes : std::max<size_t>(array.bytes + 1, 65536));
        arrays.push_back(array);
    }
    // A variable's range ends where the next variable or `place` begins; variables are 64 kB apart.
    for (Array& array : arrays) {
        if (!array.shared) continue;
        if ((char*)&place > array.data) array.high = std::min(array.high, (char*)&place);
        for (const Array& next : arrays)
            if (next.shared && next.data > array.data) array.high = std::min(array.high, next.data);
    }
}

void Recorder::begin(unsigned long long block_index, uint3 block_place, dim3 block_extent, size_t dynamic_bytes) {
    if (arrays.empty()) place_arrays(dynamic_bytes);
    index = block_index, block = block_place, extent = block_extent;
    threads = block_extent.x * block_extent.y * block_extent.z;
    memset(head, 0, sizeof head);
    memset(tail, 0, sizeof tail);
    memset(passed, 0, sizeof passed);
    memset(depth, 0, sizeof depth);
    memset(step, 0, sizeof step);
    memset(seen, 0, sizeof seen);
    for (unsigned t = 0; t < threads; ++t)
        if (!events[t]) events[t] = new Event[most_events + 2 * most_highest + 1];
    barrier_seen = left_out = false;
    warps_of_group = group_stride = 1;
    calls = 0;
    blocks.resize(++block_number + 1);
    known.assign(block_number + 1, Release());
    blocks[block_number] = block;
    first_interval = ++interval;
    if (checked) {
        if (units.empty()) memset(unit_shift, word_shift, sizeof unit_shift);
        units.resize(arrays.size());
        for (size_t i = 0; i < arrays.size(); ++i) {
            const size_t count = ((arrays[i].bytes + 3) & ~(size_t)3) >> unit_shift[i];
            if (arrays[i].shared) units[i].assign(count, Unit());
            else units[i].resize(count);
        }
    }
    std::lock_guard<std::mutex> lock(totals_mutex);
    traced_blocks[block_index] = nothing;
    all_warps += (threads + lanes - 1) / lanes;
}

Thread Recorder::thread_info(unsigned thread) const {
    return {(unsigned short)thread, block,
            {thread % extent.x, thread / extent.x % extent.y, thread / extent.x / extent.y}};
}

void Recorder::fault(const char* kind, const Event& event, unsigned thread, unsigned other_pc, Op other_op,
                     const Thread* other) {
    const Thread self = thread_info(thread);
    Fault& found = faults[{kind, event.pc, other_pc}];
    const unsigned long long count = found.count + 1;
    // The first fault is the example, but rather a race between warps than one within a warp.
    const auto warp_of = [&](const Thread& of) { return of.id / lanes; };
    const auto is_within_warp = [&](const Thread& one, const Thread& two) {
        return !memcmp(&one.block, &two.block, sizeof one.block) && warp_of(one) == warp_of(two);
    };
    if (count == 1 || (other && is_within_warp(found.thread, found.other) && !is_within_warp(self, *other)))
        found = {kind,        event.pc,     other_pc, event.op, other_op, event.size,
                 event.array, event.offset, count,    self,     other ? *other : self};
    found.count = count;
}

// Remembers the accesses to an array by smaller units, because an access reaches only a part of the present ones.
void Recorder::split_units(unsigned array, unsigned shift) {
    const unsigned by = unit_shift[array] - shift;
    const std::vector<Unit> before = std::move(units[array]);
    units[array].clear();
    units[array].reserve(before.size() << by);
    for (const Unit& unit : before) units[array].insert(units[array].end(), (size_t)1 << by, unit);
    for (Unwritten& read : unwritten)
        if (read.array == (int)array) read.unit <<= by;
    unit_shift[array] = shift;
}

// Returns whether what an access reads of a unit's word was never written. Of an access to a whole word or more it is
// enough that some byte of the word was written: the others may be between the members of a structure.
bool Recorder::is_unwritten(const Event& event, size_t unit) const {
    const std::vector<Unit>& all = units[event.array];
    if (all[unit].write_interval) return false;
    const unsigned in_word = 1u << (word_shift - unit_shift[event.array]);
    if (event.size < 4 || in_word == 1) return true;
    const size_t first = unit / in_word * in_word;
    for (size_t u = first; u < first + in_word; ++u)
        if (all[u].write_interval) return false;
    return true;
}

// Checks one access for faults: its bounds, its alignment, and races with earlier accesses to the same memory.
void Recorder::check(unsigned thread, const Event& event) {
    const Array& array = arrays[event.array];
    if (event.offset < 0 || event.offset + event.size > (long long)array.bytes) {
        fault("out-of-bounds", event, thread);
        return;
    }
    const unsigned finest = __builtin_ctzll((unsigned long long)event.offset | event.size);
    if (finest < unit_shift[event.array]) split_units(event.array, finest);
    if (!(event.size & (event.size - 1)) && event.offset % event.size) fault("misaligned", event, thread);
    const unsigned shift = unit_shift[event.array];
    const bool writes = event.op != load, is_atomic = event.op == atomic || event.op == atomic_store;
    const size_t end = (size_t)(event.offset + event.size) >> shift;
    for (size_t u = event.offset >> shift; u < end; ++u) {
        Unit& unit = units[event.array][u];
        // Accesses of different blocks are not ordered, nor are those of threads of a block between two barriers.
        const auto unordered = [&](unsigned when, unsigned in_block, unsigned short other, unsigned short other_step) {
            if (!when || (in_block == block_number && other == thread)) return false;
            if (in_block != block_number) return !array.shared && !is_released(in_block, when, other);
            return when == interval && !(other / lanes == thread / lanes && other_step != (unsigned short)event.step);
        };
        const auto other_thread = [&](unsigned in_block, unsigned short other) {
            Thread result = thread_info(other);
            result.block = blocks[in_block];
            return result;
        };
        // What two accesses have in common may be a part of each: 16 bytes from byte 0, and 16 from byte 4.
        const auto race = [&](const Thread& other, unsigned pc, Op op, auto&& is_of_other) {
            size_t next = u + 1;
            while (next < end && is_of_other(units[event.array][next])) ++next;
            Event common = event;
            common.offset = (long long)u << shift, common.size = (next - u) << shift;
            fault("race", common, thread, pc, op, &other);
        };
        if (unordered(unit.write_interval, unit.write_block, unit.write_thread, unit.write_step) &&
            !(is_atomic && unit.write_atomic))
            race(other_thread(unit.write_block, unit.write_thread), unit.write_pc, unit.write_atomic ? atomic : store,
                 [&](const Unit& of) {
                     return of.write_interval == unit.write_interval && of.write_block == unit.write_block &&
                            of.write_thread == unit.write_thread && of.write_pc == unit.write_pc;
                 });
        // A thread that stores and then adds atomically, such as a 0 and its sum, may overwrite the sums of others.
        if (is_atomic && unit.write_atomic &&
            unordered(unit.plain_interval, unit.plain_block, unit.plain_thread, unit.plain_step))
            race(other_thread(unit.plain_block, unit.plain_thread), unit.plain_pc, store, [&](const Unit& of) {
                return of.plain_interval == unit.plain_interval && of.plain_block == unit.plain_block &&
                       of.plain_thread == unit.plain_thread && of.plain_pc == unit.plain_pc;
            });
        for (int i = 0; writes && i < 2; ++i)
            if (unordered(unit.read_interval[i], unit.read_block[i], unit.read_thread[i], unit.read_step[i]) &&
                !(is_atomic && unit.read_atomic[i]))
                race(other_thread(unit.read_block[i], unit.read_thread[i]), unit.read_pc[i], load, [&](const Unit& of) {
                    return of.read_interval[i] == unit.read_interval[i] && of.read_block[i] == unit.read_block[i] &&
                           of.read_thread[i] == unit.read_thread[i] && of.read_pc[i] == unit.read_pc[i];
                });
        const bool is_input = !array.shared && (array.name[0] != 'C' || array.name[1]);
        if (event.op != store && event.op != atomic_store && !is_input && is_unwritten(event, u))
            unwritten.push_back({event.array, u, event, (unsigned short)thread});
        if (writes) {
            unit.write_interval = interval, unit.write_block = block_number, unit.write_thread = thread;
            unit.write_pc = event.pc, unit.write_step = (unsigned short)event.step, unit.write_atomic = is_atomic;
            if (!is_atomic) {
                unit.plain_interval = interval, unit.plain_block = block_number, unit.plain_thread = thread;
                unit.plain_pc = event.pc, unit.plain_step = (unsigned short)event.step;
            }
        } else {
            const auto is_current = [&](int i) {
                return unit.read_interval[i] == interval && unit.read_block[i] == block_number;
            };
            const auto is_of_warp = [&](int i) { return unit.read_thread[i] / lanes == thread / lanes; };
            const int i = is_current(0) && unit.read_thread[0] != thread ? 1 : 0;
            if (i && is_current(1) && is_of_warp(0) && !is_of_warp(1)) continue;
            unit.read_interval[i] = interval, unit.read_block[i] = block_number, unit.read_thread[i] = thread;
            unit.read_pc[i] = event.pc, unit.read_step[i] = (unsigned short)event.step, unit.read_atomic[i] = false;
        }
    }
}

void Recorder::next_interval() {
    // If another thread wrote the memory between the same two barriers, the fault is a race, and is recorded as one.
    // If the same thread wrote it, it wrote after reading.
    for (const Unwritten& read : unwritten) {
        const Unit& unit = units[read.array][read.unit];
        if (!unit.write_interval || unit.write_thread == read.thread) fault("uninitialised", read.event, read.thread);
    }
    unwritten.clear();
    ++interval;
}

// Records an atomic operation, if it is on none of the arrays: on a variable of the program.
void Recorder::synchronise(const char* at, bool releases_others) {
    for (const Array& array : arrays)
        if (at >= array.low && at < array.high) return;
    std::vector<Release>& there = releases[at];
    const auto add = [](std::vector<Release>& to, const std::vector<Release>& from) {
        if (to.size() < from.size()) to.resize(from.size());
        for (size_t b = 0; b < from.size(); ++b)
            if (from[b].interval > to[b].interval) to[b] = from[b];
    };
    add(known, there);
    if (!releases_others) return;
    known[block_number] = {interval, (unsigned short)place.thread};
    add(there, known);
    there[block_number] = known[block_number];
}

// Returns whether an access of another block is ordered before those of the running block.
bool Recorder::is_released(unsigned in_block, unsigned when, unsigned short thread) const {
    if (in_block >= known.size()) return false;
    const Release& last = known[in_block];
    return when < last.interval || (when == last.interval && thread == last.thread);
}

unsigned sectors_of(const Event* event, unsigned mask) {
    long long sector[2 * lanes];
    unsigned count = 0;
    for (unsigned m = mask; m; m &= m - 1) {
        const Event& e = event[__builtin_ctz(m)];
        sector[count++] = e.offset >> 5;
        if ((e.offset + e.size - 1) >> 5 != e.offset >> 5) sector[count++] = (e.offset + e.size - 1) >> 5;
    }
    if (!std::is_sorted(sector, sector + count)) std::sort(sector, sector + count);
    return std::unique(sector, sector + count) - sector;
}

void Recorder::global_request(unsigned warp, Site& site, unsigned mask, const Event* event) {
    long long first[lanes];
    unsigned threads_in = 0;
    for (unsigned m = mask; m; m &= m - 1) first[threads_in++] = event[__builtin_ctz(m)].offset;
    if (!std::is_sorted(first, first + threads_in)) std::sort(first, first + threads_in);
    const unsigned different = std::unique(first, first + threads_in) - first;
    const unsigned used = different * site.size, sectors = sectors_of(event, mask);
    site.ideal_sectors += (used + 31) / 32;
    site.bytes_used += used;
    site.broadcasts += different == 1 && threads_in > 1;
    if (site.op == copy_load) {  // the sectors depend on the copy's store
        CopySource& source = copy_sources[warp];
        source.mask = mask, source.sectors = sectors, source.site = {site.pc, site.op};
        for (unsigned m = mask; m; m &= m - 1) source.offset[__builtin_ctz(m)] = event[__builtin_ctz(m)].offset;
        return;
    }
    site.sectors += sectors;
    if (site.op == store) add_to_loop(warp, site, mask, event);
}

// Counts the requests of a loop of stores as nvcc unrolls it if it does not know the loop's length. Source: its
// machine code. First come single stores, up to a multiple of four; then 16 stores at a time while more than 12
// are left, 8 if more than 4 are left, and 4. Threads with different lengths diverge there.
void Recorder::count_loop(Site& site, Loop& loop) {
    Event event[lanes];
    const auto stores = [&](unsigned mask, const unsigned* index) {
        for (unsigned m = mask; m; m &= m - 1) {
            const unsigned lane = __builtin_ctz(m);
            event[lane].offset = loop.first[lane] + (long long)index[lane] * site.size;
            event[lane].size = site.size;
        }
        if (mask) ++site.unrolled_requests, site.unrolled_sectors += sectors_of(event, mask);
    };
    unsigned next[lanes] = {};
    const auto in_turns_of = [&](unsigned turn, auto&& takes) {
        for (;;) {
            unsigned mask = 0;
            for (unsigned lane = 0; lane < lanes; ++lane)
                if (loop.count[lane] > next[lane] && takes(loop.count[lane] - next[lane])) mask |= 1u << lane;
            if (!mask) return;
            for (unsigned i = 0; i < turn; ++i) {
                stores(mask, next);
                for (unsigned m = mask; m; m &= m - 1) ++next[__builtin_ctz(m)];
            }
        }
    };
    // All threads with at least i + 1 single stores execute store i together.
    unsigned left[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) left[lane] = loop.count[lane] % 4;
    for (unsigned i = 0; i < 3; ++i) {
        unsigned mask = 0;
        for (unsigned lane = 0; lane < lanes; ++lane)
            if (left[lane] > i) mask |= 1u << lane;
        stores(mask, next);
        for (unsigned m = mask; m; m &= m - 1) ++next[__builtin_ctz(m)];
    }
    in_turns_of(16, [](unsigned more) { return more > 12; });
    in_turns_of(8, [](unsigned more) { return more > 4; });
    in_turns_of(4, [](unsigned) { return true; });
    loop.last_mask = 0;
}

void Recorder::add_to_loop(unsigned warp, Site& site, unsigned mask, const Event* event) {
    Loop& loop = loops[{warp, site.pc}];
    bool goes_on = loop.last_mask && !(mask & ~loop.last_mask);
    for (unsigned m = mask; m && goes_on; m &= m - 1) {
        const unsigned lane = __builtin_ctz(m);
        goes_on = event[lane].offset == loop.first[lane] + (long long)loop.count[lane] * site.size;
    }
    if (!goes_on) {
        if (loop.last_mask) count_loop(site, loop);
        memset(loop.count, 0, sizeof loop.count);
        for (unsigned m = mask; m; m &= m - 1) loop.first[__builtin_ctz(m)] = event[__builtin_ctz(m)].offset;
    }
    for (unsigned m = mask; m; m &= m - 1) ++loop.count[__builtin_ctz(m)];
    loop.last_mask = mask;
}

void Recorder::count_chunk(Site& site, const Chunk& chunk) {
    const auto counted = [&](unsigned from, unsigned bytes) {
        long long offset[lanes];
        for (unsigned m = chunk.mask; m; m &= m - 1) offset[__builtin_ctz(m)] = chunk.offset[__builtin_ctz(m)] + from;
        return passes(offset, chunk.mask, bytes);
    };
    const unsigned first = (chunk.elements | chunk.elements >> 5) & 3, second = chunk.elements >> 2 & 3;
    unsigned requests = 0, wavefronts = 0, ideal = 0;  // in pairs
    if (site.size != 4 || (first != 3 && second != 3)) {
        requests = chunk.requests(), wavefronts = chunk.wavefronts, ideal = chunk.ideal;
    } else {
        for (const auto& [elements, from] : {std::pair(first, 0u), std::pair(second, 8u)}) {
            if (!elements) continue;
            const Passes pair = elements == 3 ? counted(from, 8) : counted(from + (elements == 2) * 4, 4);
            requests += 1, wavefronts += pair.needed, ideal += pair.least;
        }
    }
    site.merged_threads += chunk.requests() * __builtin_popcount(chunk.mask);
    site.merged_bytes_used += chunk.requests() * chunk.different * site.size;
    site.pair_requests += requests, site.pair_wavefronts += wavefronts, site.pair_ideal += ideal;
    if (chunk.elements == (1u << site.wide_bytes() / site.size) - 1) {
        const Passes wide = counted(0, site.wide_bytes());
        site.wide_requests += 1, site.wide_wavefronts += wide.needed, site.wide_ideal += wide.least;
    } else {  // such as each second row of a tile whose rows have 66 elements
        site.wide_requests += requests, site.wide_wavefronts += wavefronts, site.wide_ideal += ideal;
    }
}

void Recorder::count_chunks(Site& site, Chunks& open) {
    for (const Chunk& chunk : open.all) count_chunk(site, chunk);
    open.all.clear(), open.by_key.clear();
}

// Counts open chunks and loops at a block's barrier and at its end: nothing is merged across a barrier.
void Recorder::count_open_requests() {
    for (Op op : {load, store})
        for (auto& [key, open] : chunks[op])
            if (!open.all.empty()) count_chunks(sites[{key.second, op}], open);
    for (auto& [key, loop] : loops)
        if (loop.last_mask) count_loop(sites[{key.second, store}], loop);
}

// Adds a request for elements of shared memory, which may be part of a wider request: nvcc unrolls loops, and merges
// up to four elements of a thread at one site between the same barriers. An element that is read again is in a
// register; an element that is written again is stored again.
void Recorder::add_to_chunk(unsigned warp, Site& site, unsigned mask, const long long* offset, unsigned different,
                            const Passes& p) {
    Chunks& open = chunks[site.op][{warp, site.pc}];
    const long long at = offset[__builtin_ctz(mask)];
    const auto are_together = [&](long long bytes) {  // all threads access one place in chunks of so many bytes
        bool together = at % site.size == 0;
        for (unsigned m = mask; m && together; m &= m - 1) together = (offset[__builtin_ctz(m)] - at) % bytes == 0;
        return together;
    };
    if (open.all.empty()) site.begin(at & 15);
    unsigned element = 1u << 4;
    long long from = 0;
    if (are_together(site.wide_bytes())) {
        from = at & (site.wide_bytes() - 1), element = 1u << from / site.size;
    } else if (site.size == 4 && are_together(8)) {  // such as rows of 18 elements
        from = at & 7, element = 1u << 5 << from / site.size;
    }
    unsigned long long key = mask * 4ull + Chunk::kind(element);
    for (unsigned m = mask; m; m &= m - 1) {
        key = (key ^ (unsigned long long)(offset[__builtin_ctz(m)] - from)) * 0x9e3779b97f4a7c15ull;
        key ^= key >> 29;
    }
    const auto matches = [&](const Chunk& found) {
        bool same = found.mask == mask && Chunk::kind(found.elements) == Chunk::kind(element);
        for (unsigned m = mask; m && same; m &= m - 1)
            same = found.offset[__builtin_ctz(m)] == offset[__builtin_ctz(m)] - from;
        return same;
    };
    const auto known = open.by_key.find(key);
    if (known != open.by_key.end() && matches(open.all[known->second])) {
        Chunk& found = open.all[known->second];
        if (found.elements & element) {
            if (site.op == load) return;
            count_chunk(site, found);
            found.elements = found.wavefronts = found.ideal = 0;
        }
        found.elements |= element, found.wavefronts += p.needed, found.ideal += p.least;
        return;
    }
    if (open.all.size() == most_events) count_chunks(site, open);
    open.by_key[key] = open.all.size();
    open.all.push_back({mask, element, {}, p.needed, p.least, different});
    for (unsigned m = mask; m; m &= m - 1)
        open.all.back().offset[__builtin_ctz(m)] = offset[__builtin_ctz(m)] - from;
}

void Recorder::shared_request(unsigned warp, Site& site, unsigned mask, const Event* event) {
    long long offset[lanes], first[lanes];
    unsigned threads_in = 0;
    for (unsigned m = mask; m; m &= m - 1) {
        const unsigned lane = __builtin_ctz(m);
        offset[lane] = event[lane].offset;
        first[threads_in++] = offset[lane];
    }
    const Passes p = passes(offset, mask, site.size);
    if (!std::is_sorted(first, first + threads_in)) std::sort(first, first + threads_in);
    const unsigned different = std::unique(first, first + threads_in) - first;
    site.wavefronts += p.needed, site.ideal_wavefronts += p.least;
    site.bytes_used += different * site.size;
    site.broadcasts += different == 1 && threads_in > 1;
    if ((site.op == load || site.op == store) && (site.size == 2 || site.size == 4 || site.size == 8)) {
        add_to_chunk(warp, site, mask, offset, different, p);
    } else {
        site.wide_requests += 1, site.wide_wavefronts += p.needed, site.wide_ideal += p.least;
        site.pair_requests += 1, site.pair_wavefronts += p.needed, site.pair_ideal += p.least;
        site.merged_threads += threads_in, site.merged_bytes_used += different * site.size;
    }
    if (site.op != load) {  // what a thread has read of an array is read again once it has written there
        const auto& open = chunks[load];
        for (auto read = chunks[load].lower_bound({warp, 0}); read != open.end() && read->first.first == warp; ++read) {
            Site& loaded = sites[{read->first.second, load}];
            if (loaded.array == site.array && !read->second.all.empty()) count_chunks(loaded, read->second);
        }
    }
    CopySource& source = copy_sources[warp];
    if (site.op == copy_store && source.mask) {
        // Source: counts of Nsight Compute (docs/trace.md). A copy of 16 bytes a thread bypasses L1: for each line
        // of 128 bytes that is read, the sectors are the pieces of 32 bytes of shared memory that are written, even
        // if fewer sectors are read. A smaller copy uses L1, and its sectors are those of a load.
        std::pair<long long, long long> parts[lanes];
        unsigned count = 0;
        for (unsigned m = site.size == 16 ? source.mask & mask : 0; m; m &= m - 1) {
            const unsigned lane = __builtin_ctz(m);
            parts[count++] = {source.offset[lane] >> 7, offset[lane] >> 5};
        }
        std::sort(parts, parts + count);
        count = std::unique(parts, parts + count) - parts;
        sites[source.site].sectors += std::max(source.sectors, count);
        source.mask = 0;
    }
}

void Recorder::request(unsigned warp, unsigned mask, const Event* event) {
    const Event& one = event[__builtin_ctz(mask)];
    const Array& array = arrays[one.array];
    Site& site = sites[{one.pc, one.op}];
    if (site.array == -2) site.pc = one.pc, site.op = one.op, site.size = one.size, site.shared = array.shared;
    for (unsigned m = mask; m; m &= m - 1) {
        const int reached = event[__builtin_ctz(m)].array;
        site.array = site.array == -2 ? reached : site.array == reached ? reached : -1;
        site.reach(event[__builtin_ctz(m)].offset, event[__builtin_ctz(m)].offset + one.size);
    }
    const unsigned count = __builtin_popcount(mask);
    ++site.requests;
    site.threads += count;
    site.bytes_requested += (unsigned long long)count * one.size;
    if (array.shared) shared_request(warp, site, mask, event);
    else global_request(warp, site, mask, event);
    if ((long long)index == watched_block && warp == watched_warp && watched.size() < most_requests) {
        Request kept = {one.pc, mask, {}, one.array};
        for (unsigned m = mask; m; m &= m - 1) kept.offset[__builtin_ctz(m)] = event[__builtin_ctz(m)].offset;
        watched.push_back(kept);
    }
}

// Merges the events of a warp's threads, until the next event of a thread is not known.
void Recorder::merge(unsigned warp) {
    const unsigned from = warp * lanes, count = std::min(lanes, threads - from);
    Event* const* const record = events + from;
    unsigned *const at = head + from, *const end = tail + from;
    for (unsigned lane = 0; lane < count; ++lane) record_passed_blocks(from + lane);
    Event event[lanes];
    for (;;) {
        unsigned long long next = ~0ull;
        bool unknown = false;
        for (unsigned lane = 0; lane < count; ++lane) {
            if (at[lane] < end[lane]) next = std::min(next, record[lane][at[lane]].order());
            else unknown = unknown || may_run(from + lane) || is_paused(from + lane);
        }
        if (next == ~0ull || unknown) break;
        unsigned mask = 0;
        for (unsigned lane = 0; lane < count; ++lane) {
            if (at[lane] == end[lane] || record[lane][at[lane]].order() != next) continue;
            event[lane] = record[lane][at[lane]++];
            mask |= 1u << lane;
        }
        const Event& one = event[__builtin_ctz(mask)];
        if (one.op == Op::block) continue;
        if (checked)
            for (unsigned m = mask; m; m &= m - 1) check(from + __builtin_ctz(m), event[__builtin_ctz(m)]);
        // If one access reaches both global and shared memory, it makes two requests.
        unsigned shared = 0;
        for (unsigned m = mask; m; m &= m - 1)
            if (arrays[event[__builtin_ctz(m)].array].shared) shared |= 1u << __builtin_ctz(m);
        if (mask & ~shared) request(warp, mask & ~shared, event);
        if (shared) request(warp, shared, event);
    }
    for (unsigned lane = 0; lane < count; ++lane) {
        memmove(record[lane], record[lane] + at[lane], (end[lane] - at[lane]) * sizeof(Event));
        end[lane] -= at[lane];
        at[lane] = 0;
        if (end[lane] < most_events) resume(from + lane);
    }
}

void Recorder::merge_all() {
    for (unsigned warp = 0; warp * lanes < threads; ++warp) merge(warp);
}

// Records the basic blocks that a thread has passed since its last event.
void Recorder::record_passed_blocks(unsigned thread) {
    PassedBlocks& path = passed[thread];
    // With GCC the end of a function is a basic block, directly behind the call of __tsan_func_exit.
    for (unsigned pc : path.highest)
        if (pc && !(path.left_at && pc - path.left_at <= 8))
            events[thread][tail[thread]++] = {pc, depth[thread], Op::block, 0, 0, 0, 0};
    path = {};
}

void Recorder::make_space(unsigned thread) {
    merge(thread / lanes);
    while (tail[thread] >= most_events) {
        pause_running();
        merge(thread / lanes);
    }
}

// Records an access, if the address belongs to one of the arrays.
void Recorder::access(const char* at, unsigned size, Op op, unsigned pc) {
    unsigned found = 0;
    const unsigned count = arrays.size();
    for (; found < count; ++found)
        if (at >= arrays[found].low && at < arrays[found].high) break;
    if (found == count) {  // the stack, a constant, or memory of the runtime
        const char *low = nullptr, *high = (const char*)~(size_t)0;
        for (const Array& array : arrays) {
            if (array.high <= at) low = std::max<const char*>(low, array.high);
            else high = std::min<const char*>(high, array.low);
        }
        gap = low, gap_bytes = high - low;
        return;
    }
    if (arrays[found].shared && at >= arrays[found].data + arrays[found].bytes &&
        std::count(guards.begin(), guards.end(), at - thread_local_start()))
        return;
    const unsigned thread = place.thread;
    if (tail[thread] >= most_events) make_space(thread);
    record_passed_blocks(thread);
    ++calls;
    events[thread][tail[thread]++] = {pc, depth[thread], op, (unsigned char)size, (unsigned char)found,
                                      at - arrays[found].data, (short)step[thread]};
}

// Records the passed basic blocks at a call or a return, before the depth changes.
void Recorder::before_depth_changes(unsigned thread) {
    if (!passed[thread].highest[0]) return;
    if (tail[thread] >= most_events) make_space(thread);
    record_passed_blocks(thread);
}

// ---- Functions that the runtime calls -----------------------------------------------------------------------

void block_begins(unsigned long long index, uint3 block, dim3 extent, size_t dynamic_bytes) {
    if (traps) feenableexcept(FE_INVALID);
    if (!place.recorder) place.recorder = new Recorder();
    recorder()->begin(index, block, extent, dynamic_bytes);
}

bool thread_begins(unsigned thread) {
    Recorder& r = *recorder();
    const bool is_watched = (long long)r.index == watched_block && thread / lanes == watched_warp;
    const unsigned group = thread / lanes / r.warps_of_group;
    if (thread % lanes == 0) r.left_out = !r.barrier_seen && group % r.group_stride && !is_watched;
    if (r.left_out) return false;
    r.seen[thread] = true;
    return true;
}

void stops(unsigned thread, Stop where) {
    Recorder& r = *recorder();
    if (where == Stop::at_block) r.barrier_seen = true;
    if (where == Stop::at_warp) r.barrier_seen = true, ++r.step[thread];
    if (where == Stop::in_matrix_operation) r.barrier_seen = true;
    const unsigned from = thread / lanes * lanes;
    for (unsigned t = from; t < std::min(from + lanes, r.threads); ++t)
        if (may_run(t)) return;
    // No thread of the warp can continue, except threads that were paused because their buffers are full.
    r.merge(thread / lanes);
    // After the first warp: if no thread waited, no thread needs the warps that are left out.
    if (thread < lanes && where == Stop::ended && most_calls) {
        const unsigned long long affordable = std::max(1ull, most_calls / std::max(1ull, r.calls));
        while (r.warps_of_group < 8 && 2 * r.warps_of_group <= affordable) r.warps_of_group *= 2;
        const unsigned threads = lanes * r.warps_of_group, groups = (r.threads + threads - 1) / threads;
        const unsigned long long affordable_groups = affordable / r.warps_of_group;
        r.group_stride = (groups + affordable_groups - 1) / affordable_groups;
    }
}

void all_at_barrier() {
    Recorder& r = *recorder();
    r.barrier_seen = true;
    r.merge_all();
    r.count_open_requests();
    if (checked) r.next_interval();
}

void add_to_totals(Recorder& r) {
    std::lock_guard<std::mutex> lock(totals_mutex);
    Reached& reached = traced_blocks[r.index];
    for (const auto& [key, site] : r.sites) {
        const bool only_loads = site.op == load || site.op == copy_load;
        if (!site.shared && site.requests) reached = std::max(reached, only_loads ? loads_only : stores_too);
        Site& total = totals[key];
        if (total.array == -2) {
            total = site;
            continue;
        }
        if (total.array != site.array) total.array = -1;
        if (site.phase >= 0) total.aligned = std::min(total.aligned, site.aligned), total.begin(site.phase);
        total.requests += site.requests, total.threads += site.threads;
        total.bytes_requested += site.bytes_requested, total.bytes_used += site.bytes_used;
        total.sectors += site.sectors, total.ideal_sectors += site.ideal_sectors;
        total.wavefronts += site.wavefronts, total.ideal_wavefronts += site.ideal_wavefronts;
        total.broadcasts += site.broadcasts;
        total.wide_requests += site.wide_requests, total.wide_wavefronts += site.wide_wavefronts;
        total.wide_ideal += site.wide_ideal;
        total.pair_requests += site.pair_requests, total.pair_wavefronts += site.pair_wavefronts;
        total.pair_ideal += site.pair_ideal;
        total.merged_threads += site.merged_threads, total.merged_bytes_used += site.merged_bytes_used;
        total.unrolled_requests += site.unrolled_requests, total.unrolled_sectors += site.unrolled_sectors;
        total.reach(site.low, site.high);
    }
    r.sites.clear(), r.loops.clear();
    for (auto& by_site : r.chunks) by_site.clear();
}

void end_of_block(Recorder& r) {
    r.merge_all();
    r.count_open_requests();
    if (checked) r.next_interval();
    unsigned warps = 0;
    for (unsigned t = 0; t < r.threads; t += lanes) warps += r.seen[t];
    add_to_totals(r);
    std::lock_guard<std::mutex> lock(totals_mutex);
    traced_warps += warps;
}

void block_ends() { end_of_block(*recorder()); }

void write_thread(FILE* file, const Thread& t) {
    fprintf(file, " %u %u %u %u %u %u", t.block.x, t.block.y, t.block.z, t.index.x, t.index.y, t.index.z);
}

void write_report() {
    FILE* const file = report_file >= 0 ? fdopen(report_file, "w") : nullptr;
    if (!file) return;
    std::vector<Array> arrays;
    for (size_t i = 0; i < buffer_count(); ++i) {
        arrays.push_back({});
        strcpy(arrays.back().name, buffer(i).name);
    }
    arrays.insert(arrays.end(), variables.begin(), variables.end());
    const auto name = [&](int array) { return array < 0 ? "-" : arrays[array].name; };
    static const char* const ops[] = {"load", "store", "atomic", "load", "store", "atomic"};
    std::lock_guard<std::mutex> lock(totals_mutex);
    fprintf(file, "warps %llu %llu\n", traced_warps, all_warps);
    for (const auto& [index, reached] : traced_blocks) fprintf(file, "block %llu %d\n", index, reached);
    for (const auto& [key, s] : totals)
        fprintf(file, "site %u %s %s %s %u %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %u %d\n", s.pc,
                s.shared ? "shared" : "global", ops[s.op], name(s.array), s.size, s.requests, s.threads,
                s.bytes_requested, s.bytes_used, s.sectors, s.ideal_sectors, s.wavefronts, s.ideal_wavefronts,
                s.broadcasts, s.wide_requests, s.wide_wavefronts, s.wide_ideal, s.pair_requests, s.pair_wavefronts,
                s.pair_ideal, s.merged_threads, s.merged_bytes_used, s.unrolled_requests, s.unrolled_sectors,
                s.aligned, s.op == copy_load || s.op == copy_store);
    for (const auto& [key, s] : totals)
        if (s.shared && s.array >= 0) fprintf(file, "reach %u %s %lld %lld\n", s.pc, name(s.array), s.low, s.high);
    for (const Request& r : watched) {
        fprintf(file, "request %u %s", r.pc, name(r.array));
        for (unsigned m = r.mask; m; m &= m - 1) fprintf(file, " %d:%lld", __builtin_ctz(m), r.offset[__builtin_ctz(m)]);
        fprintf(file, "\n");
    }
    for (const auto& [key, f] : faults) {
        fprintf(file, "fault %s %u %s %s %u %lld %llu", f.kind, f.pc, ops[f.op], name(f.array), f.size, f.offset, f.count);
        write_thread(file, f.thread);
        fprintf(file, " %u %s", f.other_pc, ops[f.other_op]);
        write_thread(file, f.other);
        fprintf(file, "\n");
    }
    for (const auto& [place, b] : bad_indices) {
        fprintf(file, "index %u %u %lld %llu", std::get<1>(place), std::get<2>(place), b.index, b.count);
        write_thread(file, b.thread);
        fputc(' ', file);
        for (const char* c = b.type; *c; ++c)
            if (*c != '\'' && *c != ' ') fputc(*c, file);
        fprintf(file, " %s\n", std::get<0>(place));
    }
    fclose(file);
}

// Records that the instruction at an address ended the kernel; in a function of a library or of the runtime, where the
// kernel called it, and without an address, where the kernel accessed memory last.
void stopped(const char* kind, const char* address) {
    if (!recorder()) return;
    const bool is_own = address >= &__executable_start && address < &etext && !computes_for_warp();
    Event event = {};
    event.pc = is_own ? address - &__executable_start + 1 : recorder()->last_pc;
    const Thread self = recorder()->thread_info(place.thread);
    faults[{kind, event.pc, 0}] = {kind, event.pc, 0, load, load, 4, -1, 0, 1, self, self};
}

void failed() {
    static bool again = false;
    if (again) return;
    again = true;
    if (Recorder* const r = recorder()) {
        r->merge_all();
        r->count_open_requests();
        if (checked) r->next_interval();
        add_to_totals(*r);
    }
    write_report();
}

long long number() {
    const char* const text = strtok(nullptr, " \n");
    return text ? strtoll(text, nullptr, 10) : 0;
}

bool command(const char* name) {
    if (!strcmp(name, "shared") || !strcmp(name, "device")) {
        Array array = {};
        array.shared = name[0] == 's', array.device = !array.shared;
        snprintf(array.name, sizeof array.name, "%s", strtok(nullptr, " \n"));
        array.data = (char*)number();
        array.bytes = number();
        if (variables.size() + buffer_count() >= most_arrays)
            refuse("too many variables in shared and global memory to observe them all");
        variables.push_back(array);
    } else if (!strcmp(name, "guard")) {
        guards.push_back(number());
    } else if (!strcmp(name, "observe")) {
        checked = number();
        most_calls = number();
        totals.clear(), traced_blocks.clear(), watched.clear(), faults.clear();
        traced_warps = all_warps = 0;
    } else if (!strcmp(name, "watch")) {
        watched_block = number(), watched_warp = number(), most_requests = number();
    } else if (!strcmp(name, "trap")) {
        traps = true;
    } else if (!strcmp(name, "into")) {
        report_file = atoi(strtok(nullptr, "\n"));
    } else if (!strcmp(name, "report")) {
        write_report();
    } else {
        return false;
    }
    answer_ok();
    return true;
}

const Observing table = {command, block_begins, thread_begins, stops, all_at_barrier, block_ends, failed, stopped};
struct Registration {
    Registration() { observing = &table; }
} registration;

// ---- Functions that the kernel calls -------------------------------------------------------------------------

// Records a load or store of a thread; most go to its stack and are ignored.
inline void record(const void* address, unsigned size, Op op, const void* pc) {
    Recorder* const r = recorder();
    if (!r) return;
    r->last_pc = (const char*)pc - &__executable_start;
    if ((op == atomic || op == atomic_store) && checked) r->synchronise((const char*)address, true);
    if ((size_t)((const char*)address - r->gap) < r->gap_bytes) return;
    r->access((const char*)address, size, op, r->last_pc);
}

// Records an attempt of atomicAdd() or the like, which is one operation on a GPU however often it is tried here.
void record_attempt(const void* address, unsigned size, const void* pc) {
    Recorder* const r = recorder();
    if (!r || !r->tries_again) return record(address, size, atomic, pc);
    if (checked) r->synchronise((const char*)address, true);
}

// Records one access if a GPU has accesses of that size, else an access for each word, as for float3.
void record_range(const void* address, unsigned long size, Op op, const void* pc) {
    const char* p = (const char*)address;
    if (size == 8 || size == 16) return record(p, size, op, pc);
    for (; size >= 4; p += 4, size -= 4) record(p, 4, op, pc);
    if (size) record(p, size, op, pc);
}

// Records a basic block.
inline void pass_block(const void* pc) {
    Recorder* const r = recorder();
    if (!r) return;
    PassedBlocks& path = r->passed[place.thread];
    const unsigned at = (const char*)pc - &__executable_start;
    r->last_pc = at;
    ++r->calls;
    if (at < path.highest[0]) {
        if (at < path.highest[1]) path.highest[2] = std::max(path.highest[2], at);
        else path.highest[1] = at, path.highest[2] = 0;
    } else {
        path.highest[0] = at, path.highest[1] = path.highest[2] = 0;
    }
}

// Records and performs a copy from global to shared memory; `pc` is in the line of the kernel's call. The memory is
// copied word by word, because a function that copies memory may itself be instrumented.
void copy(void* to, const void* from, size_t size, size_t zeros, const void* pc) {
    const size_t loaded = size - std::min(zeros, size);
    // To find faults, a copy is a load and a store like any other.
    if (loaded && checked) record_range(from, loaded, load, pc);
    else if (loaded) record(from, loaded, copy_load, (const char*)pc - 1);  // inside the call: a site of its own
    record(to, size, checked ? store : copy_store, pc);
    const size_t words = size % 4 ? 0 : size / 4;
    for (size_t i = 0; i < words; ++i)
        ((volatile unsigned*)to)[i] = 4 * i < loaded ? ((const volatile unsigned*)from)[i] : 0;
    for (size_t i = 4 * words; i < size; ++i)
        ((volatile char*)to)[i] = i < loaded ? ((const volatile char*)from)[i] : 0;
}

}  // namespace
}  // namespace cudamm

using namespace cudamm;

#define HERE __builtin_return_address(0)
#define ACCESSES(size)                                                                          \
    void __tsan_read##size(void* p) { record(p, size, load, HERE); }                            \
    void __tsan_write##size(void* p) { record(p, size, store, HERE); }                          \
    void __tsan_unaligned_read##size(void* p) { record(p, size, load, HERE); }                  \
    void __tsan_unaligned_write##size(void* p) { record(p, size, store, HERE); }                \
    void __tsan_volatile_read##size(void* p) { record(p, size, load, HERE); }                   \
    void __tsan_volatile_write##size(void* p) { record(p, size, store, HERE); }                 \
    void __tsan_read_write##size(void* p) { record(p, size, load, HERE), record(p, size, store, HERE); }

#define FETCH(bits, type, operation)                                                   \
    type __tsan_atomic##bits##_fetch_##operation(volatile type* p, type v, int) {      \
        record((void*)p, sizeof v, atomic, HERE);                                      \
        return __atomic_fetch_##operation(p, v, __ATOMIC_SEQ_CST);                     \
    }

#define ATOMICS(bits, type)                                                                                      \
    type __tsan_atomic##bits##_load(const volatile type* p, int) {                                               \
        if (checked && recorder()) recorder()->synchronise((const char*)p, false);                               \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                             \
    }                                                                                                            \
    void __tsan_atomic##bits##_store(volatile type* p, type v, int) {                                            \
        record((void*)p, sizeof v, atomic_store, HERE);                                                          \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                                \
    }                                                                                                            \
    type __tsan_atomic##bits##_exchange(volatile type* p, type v, int) {                                         \
        record((void*)p, sizeof v, atomic, HERE);                                                                \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                      \
    }                                                                                                            \
    FETCH(bits, type, add) FETCH(bits, type, sub) FETCH(bits, type, and) FETCH(bits, type, or)                   \
    FETCH(bits, type, xor) FETCH(bits, type, nand)                                                               \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* expected, type v, int, int) {      \
        record((void*)p, sizeof v, atomic, HERE);                                                                \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);           \
    }                                                                                                            \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* expected, type v, int, int) {        \
        record_attempt((void*)p, sizeof v, HERE);                                                                \
        const bool is_exchanged =                                                                                \
            __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);              \
        if (recorder()) recorder()->tries_again = !is_exchanged;                                                 \
        return is_exchanged;                                                                                     \
    }                                                                                                            \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* p, type expected, type v, int, int) {         \
        record((void*)p, sizeof v, atomic, HERE);                                                                \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
        return expected;                                                                                         \
    }

extern "C" {
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned)
ATOMICS(64, unsigned long long)

void __tsan_read_range(void* p, unsigned long size) { record_range(p, size, load, HERE); }
void __tsan_write_range(void* p, unsigned long size) { record_range(p, size, store, HERE); }
void* __tsan_memcpy(void* to, const void* from, unsigned long size) {
    record_range(from, size, load, HERE), record_range(to, size, store, HERE);
    return memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, unsigned long size) {
    record_range(from, size, load, HERE), record_range(to, size, store, HERE);
    return memmove(to, from, size);
}
void* __tsan_memset(void* to, int value, unsigned long size) {
    record_range(to, size, store, HERE);
    return memset(to, value, size);
}

// What GCC makes of a call of memcpy and the like in a traced kernel (cuda_on_cpu.h).
void* cudamm_memcpy(void* to, const void* from, unsigned long size) {
    record_range(from, size, load, HERE), record_range(to, size, store, HERE);
    return memcpy(to, from, size);
}
void* cudamm_memmove(void* to, const void* from, unsigned long size) {
    record_range(from, size, load, HERE), record_range(to, size, store, HERE);
    return memmove(to, from, size);
}
void* cudamm_memset(void* to, int value, unsigned long size) {
    record_range(to, size, store, HERE);
    return memset(to, value, size);
}
int cudamm_memcmp(const void* a, const void* b, unsigned long size) {
    record_range(a, size, load, HERE), record_range(b, size, load, HERE);
    return memcmp(a, b, size);
}

#if defined(__clang__)
// Clang calls memcpy to copy structures such as float4; the linker's --wrap=memcpy redirects these calls.
void* __real_memcpy(void* to, const void* from, unsigned long size);
void* __wrap_memcpy(void* to, const void* from, unsigned long size) {
    record_range(from, size, load, HERE), record_range(to, size, store, HERE);
    return __real_memcpy(to, from, size);
}
#endif

// Its arguments are described by GCC's libsanitizer, ubsan_handlers.h. An index of up to 64 bits is passed as it is.
struct SourceLocation {
    const char* file;
    unsigned line, column;
};
struct TypeDescriptor {
    unsigned short kind, info;
    char name[1];
};
struct OutOfBoundsData {
    SourceLocation location;
    const TypeDescriptor *array, *index;
};
void __ubsan_handle_out_of_bounds(void* data, void* index) {
    const OutOfBoundsData& found = *(const OutOfBoundsData*)data;
    Recorder* const r = recorder();
    if (!r) return;
    std::lock_guard<std::mutex> lock(totals_mutex);
    const SourceLocation& at = found.location;
    const auto inserted = bad_indices.insert({{at.file, at.line, at.column},
                                              {found.array->name, (long long)index, 0, r->thread_info(place.thread)}});
    ++inserted.first->second.count;
}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}
void __tsan_init() {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_func_entry(void*) {
    if (Recorder* const r = recorder()) r->before_depth_changes(place.thread), ++r->depth[place.thread];
}
void __tsan_func_exit() {
    Recorder* const r = recorder();
    if (!r) return;
    r->before_depth_changes(place.thread), --r->depth[place.thread];
    r->passed[place.thread].left_at = (const char*)HERE - &__executable_start;
}
void cudamm_copy(void* to, const void* from, unsigned long size, unsigned long zeros) {
    copy(to, from, size, zeros, HERE);
}
void __sanitizer_cov_trace_pc() { pass_block(HERE); }
}
