// Tensor cores: one instruction multiplies small matrices, D = A B + C, and all 32 lanes of a warp take part.
//
// A *fragment* is a lane's share of a matrix: the elements that lie in its registers. No lane has a whole row or
// column, so the lanes need each other, and a missing lane is an error. An element's lane follows from one rule (PTX
// ISA, "Matrix Fragments for mma"). A matrix consists of tiles of 8 rows of 4 x P elements, and in each tile
//
//                columns 0 … P-1   P … 2P-1   2P … 3P-1   3P … 4P-1
//       row 0       lane 0          lane 1      lane 2      lane 3
//       row 1       lane 4          lane 5      lane 6      lane 7
//         …
//       row 7       lane 28         lane 29     lane 30     lane 31
//
// so lane L holds P elements of row L / 4. P is the number of elements in a register of 32 bits: 4 of 8 bits, 2 of 16
// bits, and 1 of TF32; also 1 of double. In C and D it is always 2. Row after row of tiles, a lane's elements follow
// each other: those of the tile below come next, then those of the next column of tiles. Of B, this picture shows the
// transpose, because a product needs columns of B: its "rows" here are the columns of B, and its tiles follow each
// other along the sum first.
#pragma once
#include "waiting.h"

namespace cudamm {

enum class Number : unsigned char { half, bfloat16, tf32, float32, float64, int8, uint8, int32 };

constexpr unsigned bytes_of(Number number) {
    return number == Number::float64 ? 8
           : number == Number::half || number == Number::bfloat16 ? 2
           : number == Number::int8 || number == Number::uint8    ? 1
                                                                  : 4;
}

// The place of a lane's element: `across` counts the rows of the picture above, and `along` its columns.
struct FragmentPlace {
    unsigned across, along;
};
struct FragmentLayout {
    unsigned together;                   // P of the picture above
    unsigned tiles_across, tiles_along;  // number of tiles
    bool along_first;                    // in which order the tiles follow each other

    constexpr unsigned elements() const { return together * tiles_across * tiles_along; }
    constexpr FragmentPlace place(unsigned lane, unsigned i) const {
        const unsigned tile = i / together;
        return {lane / 4 + 8 * (along_first ? tile / tiles_along : tile % tiles_across),
                lane % 4 * together + i % together +
                    4 * together * (along_first ? tile % tiles_along : tile / tiles_across)};
    }
};
constexpr unsigned elements_together(Number number) { return bytes_of(number) < 4 ? 4 / bytes_of(number) : 1; }
constexpr FragmentLayout layout_of_a(Number number, unsigned m, unsigned k) {
    return {elements_together(number), m / 8, k / 4 / elements_together(number), false};
}
constexpr FragmentLayout layout_of_b(Number number, unsigned k, unsigned n) {
    return {elements_together(number), n / 8, k / 4 / elements_together(number), true};
}
constexpr FragmentLayout layout_of_sums(unsigned m, unsigned n) { return {2, m / 8, n / 8, false}; }

// D = A B + C of a warp: A is m x k, B is k x n.
struct WarpProduct {
    Number a, b, c, d;
    unsigned m, n, k;
    bool saturates;  // sums of whole numbers stop at the largest and the smallest int
};
// Multiplies; each lane passes its fragments, whose elements lie one after another.
void multiply_matrices(const WarpProduct& product, void* d, const void* a, const void* b, const void* c,
                       const char* operation, int line, const char* file);

// Fails if the address of a matrix or the distance of its rows in memory is no multiple of 16 bytes.
void check_matrix(const void* p, unsigned leading, size_t bytes, const char* operation, int line, const char* file);

// Gives each lane the parts of `count` matrices of 8 rows of 16 bytes, of which lane 8 i + r passes row r of matrix i.
void share_rows(unsigned* parts, const void* row, unsigned count, bool transposed, int line, const char* file);

// Waits until all 32 lanes of the warp execute the same operation in the same line. Then one lane calls `compute` with
// what each lane has passed, and all go on. To a GPU this is no barrier: what a lane wrote to memory before may be
// invisible to the others, and `check` reports it as a race.
void compute_together(void* of_lane, void (*compute)(void* const* of_lanes), const char* operation, int line,
                      const char* file);

}  // namespace cudamm
