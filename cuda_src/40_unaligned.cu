// Rows that begin anywhere: threads load the tiles, and shift the rows to their place.
//
// sources:   PTX ISA (the copy engine takes rows at multiples of 16 bytes; proxy fences)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     STAGES = 4 in 2, 3, 4, 5, 6
// param:     STRIP = 16 in 4, 8, 16, 32
// param:     BLOCKS = 132 in 66, 114, 132
// args:      M, N, K, A, B, C
// threads:   512
// grid:      BLOCKS
// shared-bytes: STAGES * ((128 + 128) * 64 * sizeof(element) + 16)
// requires:  STAGES >= 2, STRIP >= 1, STAGES * ((128 + 128) * 64 * sizeof(element) + 16) <= 227 * 1024
// traffic:   (M * K * ceil(N / 128) + K * N * ceil(M / 128)) * sizeof(element),
//            M * N * sizeof(element)
//
// The copy engine takes only matrices whose rows begin at multiples of 16 bytes. With 2,049 elements of 16 bits in a
// row, each row begins 4,098 bytes after the one before, which is no multiple of 16. The methods before that use tensor
// cores for 16 bits need a padded copy of such matrices. This one takes any matrices, with the scheme of `persistent`:
// two warpgroups of producers do the work of the copy engine.
//
// Loads of single elements would be eight times as many instructions. So a thread loads whole pieces of 16 bytes, as
// they lie in memory. The 8 elements that it needs begin anywhere in a piece and end in the next one, so it loads that
// one too. It shifts both until the 8 elements fill one piece, and stores this as a piece of the tile's row. Rows that
// lie 8 rows apart begin at the same place in a piece, whatever their length. A warp has such rows only, so all its
// threads always shift by the same number of elements.
//
// A warp loads all its rows of a stage before it shifts and stores the first one: the latency of memory passes once for
// each stage. And it loads before it waits for the stage to be empty.
//
// The tensor cores read shared memory as the copy engine writes it: by the async proxy. What threads write there passes
// a fence, `proxy_fence`, before they arrive at the barrier.
//
// A consumer writes its sums to C itself, element by element: C's rows, too, begin anywhere.
//
//     cudamm show --diff persistent unaligned --dtype float16

#include "hopper.cuh"

const int BM = 128, BN = 128, CONSUMERS = BM / 64, PRODUCERS = 2;  // warpgroups
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BN / 64 * BAND_BYTES;

extern __shared__ __align__(1024) char ring[];

// Eight elements, which take 16 bytes.
typedef uint4 Piece;

// Return the eight elements from element `shift` of a piece on; they end in the next piece.
__device__ __forceinline__ Piece shifted(Piece piece, Piece next, int shift) {
    unsigned words[8] = {piece.x, piece.y, piece.z, piece.w, next.x, next.y, next.z, next.w};
#pragma unroll
    for (int i = 0; i < 6; ++i) words[i] = shift & 4 ? words[i + 2] : words[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) words[i] = shift & 2 ? words[i + 1] : words[i];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], shift % 2 * 16);
    return Piece{words[0], words[1], words[2], words[3]};
}

// A matrix in device memory that begins at a multiple of 16 bytes. Rows follow one another without a gap.
struct Matrix {
    const element *elements;
    int rows, columns;

    // Load a piece, and the next one, for COUNT rows that are STRIDE apart. The eight elements begin at `column`.
    // Return their number `shift` in the piece. `column` and STRIDE are multiples of 8.
    template <int STRIDE, int COUNT>
    __device__ __forceinline__ int load(Piece (&pieces)[COUNT], Piece (&next)[COUNT], int row, int column) const {
        const long long first = (long long)row * columns + column;
        if (row + (COUNT - 1) * STRIDE + 1 < rows && column + 8 <= columns) {  // both pieces are in the matrix
            const Piece *const from = (const Piece *)elements + first / 8;
#pragma unroll
            for (int i = 0; i < COUNT; ++i) pieces[i] = __ldg(from + i * (STRIDE / 8) * (long long)columns);
            if (first % 8)
#pragma unroll
                for (int i = 0; i < COUNT; ++i) next[i] = __ldg(from + i * (STRIDE / 8) * (long long)columns + 1);
            return first % 8;
        }
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            unsigned short halves[8];
            for (int j = 0; j < 8; ++j) {  // zeros beyond the matrix
                const bool exists = row + i * STRIDE < rows && column + j < columns;
                const long long element_index = first + i * STRIDE * (long long)columns + j;
                halves[j] = exists ? ((const unsigned short *)elements)[element_index] : 0;
            }
            memcpy(&pieces[i], halves, sizeof halves);
        }
        return 0;
    }
};

__global__ void __launch_bounds__(128 * (CONSUMERS + PRODUCERS), 1)
unaligned(int M, int N, int K, const element *A, const element *B, element *C) {
    Barrier *const full = (Barrier *)(ring + STAGES * STAGE_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int steps = (K + BK - 1) / BK;  // along k, of each tile of C
    const int tile_rows = (M + BM - 1) / BM, tile_columns = (N + BN - 1) / BN, tiles = tile_rows * tile_columns;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(&full[i], 4 * PRODUCERS);  // an arrival of each warp of the producers
            barrier_init(&empty[i], 4 * CONSUMERS);  // an arrival of each warp of the consumers
        }
        proxy_fence();
    }
    __syncthreads();

    RingPosition<STAGES> position;
    if (warpgroup >= CONSUMERS) {  // the producers
        // Of each 8 rows a warp has one: 16 rows of A's tile, 4 at a time, and 8 rows of B's tile, 2 at a time.
        const int producer = warp - 4 * CONSUMERS, a_row = producer + lane / 8 * 8, b_row = producer + lane / 16 * 8;
        const Matrix a{A, M, K}, b{B, K, N};
        for (int tile = blockIdx.x; tile < tiles; tile += BLOCKS) {
            const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
            for (int step = 0; step < steps; ++step, position.next()) {
                // A row of A's tile has 8 pieces, and a row of B's tile 16, in two bands.
                Piece a_pieces[4], a_next[4], b_pieces[4], b_next[4];
                const int a_shift = a.load<32>(a_pieces, a_next, at.y * BM + a_row, step * BK + lane % 8 * 8);
                const int b_shift = b.load<16>(b_pieces, b_next, step * BK + b_row, at.x * BN + lane % 16 * 8);

                char *const a_tile = ring + position.stage * STAGE_BYTES;
                char *const b_band = a_tile + A_BYTES + lane % 16 / 8 * BAND_BYTES;
                const int place = (lane % 8 ^ producer) * 16;  // in a row: swizzled as the copy engine would
                barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait the first time
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    *(Piece *)(a_tile + (a_row + i * 32) * ROW_BYTES + place) =
                        shifted(a_pieces[i], a_next[i], a_shift);
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    *(Piece *)(b_band + (b_row + i * 16) * ROW_BYTES + place) =
                        shifted(b_pieces[i], b_next[i], b_shift);
                proxy_fence();
                __syncwarp();
                if (lane == 0) barrier_arrive(&full[position.stage]);
            }
        }
        return;
    }

    // The consumers.
    for (int tile = blockIdx.x; tile < tiles; tile += BLOCKS) {
        const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
        float sums[BN / 2] = {};
        int previous = 0;  // the stage of the previous step
        for (int step = 0; step < steps; ++step, position.next()) {
            const char *const stage = ring + position.stage * STAGE_BYTES;
            const TileDescriptor a(stage + warpgroup * 64 * ROW_BYTES, GROUP_BYTES, 0);
            const TileDescriptor b(stage + A_BYTES, GROUP_BYTES, BAND_BYTES);
            barrier_wait(&full[position.stage], position.parity);
            multiply_add_tiles<element>(sums, a, b);
            multiply_wait<1>(sums);  // those of the previous step have ended
            if (step > 0 && lane == 0) barrier_arrive(&empty[previous]);
            previous = position.stage;
        }
        multiply_wait<0>(sums);
        if (lane == 0) barrier_arrive(&empty[previous]);

        const int row0 = at.y * BM + warpgroup * 64 + thread / 32 * 16 + lane / 4, col0 = at.x * BN + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) {  // for each 8 columns: two in a row, and the same two 8 rows further down
            const int row = row0 + i / 2 % 2 * 8, col = col0 + i / 4 * 8 + i % 2;
            if (row < M && col < N) C[(long long)row * N + col] = element(sums[i]);
        }
    }
}
