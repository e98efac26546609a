// Ends a kernel at the first access beside a thread's local variables, and counts the bytes of its accesses to matrices.
// The compiler instruments the kernel as for the AddressSanitizer of a kernel of an operating system
// (-fsanitize=kernel-address): each function leaves gaps between its variables and marks them, and the kernel calls a
// function before each access. This file defines those functions, in place of the sanitizer's library.
//
// The marks: of each 8 bytes at an address, the byte at `marks + address / 8` is 0 if all may be accessed, 1 to 7 if so
// many of the first may be, and negative in a gap. A function writes its name and its variables to the beginning of its
// frame, as `COUNT (OFFSET BYTES LENGTH NAME:LINE) ...`. Source: GCC's asan.cc, “asan_emit_stack_protection”.

#include "observe.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>

namespace cudamm {
namespace {

extern "C" char __executable_start;

signed char* const marks = (signed char*)0x7fff8000;  // the option -fasan-shadow-offset in host_compiler.py
constexpr size_t address_bits = 47, most_frame_bytes = 1 << 20;
constexpr signed char before_first = (signed char)0xf1;  // the mark of the gap before the first variable
constexpr long long magic = 0x41b58ab3;                  // the first word of a frame

bool has_marks;  // false if the address space of the process is limited: then accesses are counted only

__attribute__((constructor)) void map_marks() {
    has_marks = mmap(marks, (size_t)1 << (address_bits - 3), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == marks;
}

signed char mark_of(const char* address) { return marks[(size_t)address >> 3]; }

bool is_in_gap(const char* address) {
    const signed char mark = mark_of(address);
    return mark && (mark < 0 || (signed char)((size_t)address & 7) >= mark);
}

// Ends the kernel, with the nearest variable of the frame in whose gaps the address is.
void report(const char* address, size_t bytes, bool writes, const char* pc) {
    const char* frame = (const char*)((size_t)address & ~(size_t)7);
    const char* const least = frame - most_frame_bytes;
    while (frame > least && mark_of(frame) != before_first) frame -= 8;
    while (frame > least && mark_of(frame - 8) == before_first) frame -= 8;
    const long long* const words = (const long long*)frame;
    if (words[0] != magic) return;
    const char* text = (const char*)words[1];
    char* next;
    long long nearest = -1, offset = 0, size = 0;
    char name[64] = "";
    for (long count = strtol(text, &next, 10); count > 0; --count) {
        const long long from = strtol(next, &next, 10), length = strtol(next, &next, 10), letters = strtol(next, &next, 10);
        const char* const label = next + 1;
        next += 1 + letters;
        const long long at = address - (frame + from), distance = at < 0 ? -at : std::max(0ll, at + 1 - length);
        if (nearest >= 0 && distance >= nearest) continue;
        nearest = distance, offset = at, size = length;
        snprintf(name, sizeof name, "%.*s", (int)letters, label);
    }
    const uint3 b = place.block_index, t = place.thread_index;
    char why[256];
    snprintf(why, sizeof why, "outside of a local variable: %s %ld %zu %lld %lld %s %u %u %u %u %u %u",
             writes ? "store" : "load", (long)(pc - &__executable_start), bytes, offset, size, name, b.x, b.y, b.z, t.x,
             t.y, t.z);
    refuse(why);
}

// Returns whether an address is in a matrix or near one.
bool is_at_matrix(const char* address) {
    for (size_t i = 0; i < buffer_count(); ++i) {
        const Span b = buffer(i);
        if (address >= b.data - buffer_surroundings && address < b.data + b.bytes + buffer_surroundings) return true;
    }
    return false;
}

void check(const void* address, size_t bytes, bool writes, const void* pc) {
    const char* const first = (const char*)address;
    if (is_at_matrix(first)) accessed_bytes += bytes;
    if (!bytes || !has_marks || (size_t)first >> address_bits) return;
    for (const char* at = first; at < first + bytes; at = (const char*)(((size_t)at | 7) + 1))
        if (is_in_gap(std::min((const char*)((size_t)at | 7), first + bytes - 1)) || is_in_gap(at))
            return report(first, bytes, writes, (const char*)pc);
}

}  // namespace
}  // namespace cudamm

#define HERE __builtin_return_address(0)
#define ACCESSES(size)                                                                                  \
    void __asan_load##size##_noabort(const void* p) { cudamm::check(p, size, false, HERE); }            \
    void __asan_store##size##_noabort(const void* p) { cudamm::check(p, size, true, HERE); }
extern "C" {
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
void __asan_loadN_noabort(const void* p, size_t size) { cudamm::check(p, size, false, HERE); }
void __asan_storeN_noabort(const void* p, size_t size) { cudamm::check(p, size, true, HERE); }
void __asan_handle_no_return() {}
}
