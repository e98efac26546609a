// Rows that begin anywhere: the blocks first copy the matrices into rows that the copy engine takes.
//
// sources:   PTX ISA (the copy engine takes rows at multiples of 16 bytes; proxy fences)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     BN = 256 in 128, 256
// param:     STAGES = 4 in 3, 4, 5, 6
// param:     STRIP = 8 in 4, 8, 16, 32
// param:     BLOCKS = 132 in 66, 114, 132
// args:      tensor_map(padded(A), 128, 64, 128), tensor_map(padded(B), 64, 64, 128), M, N, K, A, B, C,
//            padded(A), padded(B)
// threads:   384
// grid:      BLOCKS
// dependent-launch: yes
// shared-bytes: STAGES * ((128 + BN) * 64 * sizeof(element) + 16)
// requires:  BN == 128 or BN == 256, STAGES >= 2, STRIP >= 1,
//            STAGES * ((128 + BN) * 64 * sizeof(element) + 16) + 1024 <= 227 * 1024
// traffic:   (M * K * (1 + ceil(N / BN)) + K * N * (1 + ceil(M / 128))) * sizeof(element),
//            (M * N + M * K + K * N) * sizeof(element)
//
// The copy engine takes only matrices whose rows begin at multiples of 16 bytes. With 2,049 elements of 16 bits in a
// row, each row begins 4,098 bytes after the one before, which is no multiple of 16. The methods before that use tensor
// cores for 16 bits need matrices that the host has padded. This one takes any matrices. Its blocks copy A and B to
// device memory where each row begins at a multiple of 128 bytes; then they compute the product as `persistent` does.
// At n = 4095 all elements are copied once, but loaded into shared memory 16 or 32 times: the copy is cheap.
//
// The copy is divided into shares. A block that has started takes the next share that nobody has, until none is left.
// So blocks that have not started yet have no share, and nobody waits for them. Before a producer loads its first
// tile, it waits until all shares are copied.
//
// A thread copies pieces of 16 bytes, 8 elements, because loads of single elements would be eight times as many
// instructions. A piece of the copy begins anywhere in a piece of the matrix and ends in the next one. So the thread
// loads both, and shifts them until the 8 elements fill one piece.
//
// The copy engine reads device memory, as shared memory, by the async proxy. So a fence follows the writes of the
// threads, and another one comes before the first load.
//
// The consumers write their sums to C themselves, element by element: C's rows, too, begin anywhere.
//
//     cudamm show --diff dependent-launch aligned-copy --dtype float16

#include "hopper.cuh"

const int BM = 128, CONSUMERS = BM / 64, THREADS = 128 * (CONSUMERS + 1);
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

// Return the eight elements of a matrix from `first` on, zeros for those after its last one.
__device__ __forceinline__ Piece piece_at_end(const element *matrix, long long first, long long count) {
    unsigned short halves[8];
    for (int i = 0; i < 8; ++i) halves[i] = first + i < count ? ((const unsigned short *)matrix)[first + i] : 0;
    Piece piece;
    memcpy(&piece, halves, sizeof halves);
    return piece;
}

// A matrix whose rows follow one another without a gap, and its copy. Warps copy segments of a row.
struct Copy {
    static const int PIECES = 4, SEGMENT = 32 * PIECES;  // pieces of a thread, and of a segment
    const element *matrix;
    Piece *copy;
    int rows, columns;

    __device__ __forceinline__ int row_pieces() const { return (columns + 63) / 64 * 8; }  // with the gap at the end
    __device__ __forceinline__ int segments_of_row() const { return (row_pieces() + SEGMENT - 1) / SEGMENT; }
    __device__ __forceinline__ int segments() const { return rows * segments_of_row(); }

    __device__ __forceinline__ void copy_segment(int segment) const {
        const int row = segment / segments_of_row(), piece0 = segment % segments_of_row() * SEGMENT + threadIdx.x % 32;
        const long long row_begin = (long long)row * columns, count = (long long)rows * columns;
        const int shift = row_begin % 8;  // the same for all pieces of the row
        const Piece *const from = (const Piece *)matrix + row_begin / 8;
        Piece *const to = copy + (long long)row * row_pieces();
        Piece pieces[PIECES], next[PIECES];
#pragma unroll
        for (int i = 0; i < PIECES; ++i) {
            const int piece = piece0 + i * 32;
            if (piece * 8 >= columns || row_begin + piece * 8 + 16 > count) continue;
            pieces[i] = __ldg(from + piece);
            if (shift) next[i] = __ldg(from + piece + 1);
        }
#pragma unroll
        for (int i = 0; i < PIECES; ++i) {
            const int piece = piece0 + i * 32;
            if (piece * 8 >= columns) continue;
            const long long first = row_begin + piece * 8;
            to[piece] = first + 16 > count ? piece_at_end(matrix, first, count) : shifted(pieces[i], next[i], shift);
        }
    }
};

// How far the copy is, in shares: those that blocks have taken, and those that are copied. Only one launch at a time
// may use it.
struct Progress {
    int taken, copied, ready_blocks;
};
__device__ Progress progress;

// Copies both matrices together with all other blocks. Returns the number of shares.
__device__ __forceinline__ int copy_shares(const Copy &a, const Copy &b) {
    __shared__ int share;
    const int segments = a.segments() + b.segments(), share_size = (segments + BLOCKS - 1) / BLOCKS;
    const int shares = (segments + share_size - 1) / share_size;
    while (true) {
        if (threadIdx.x == 0) share = atomicAdd(&progress.taken, 1);
        __syncthreads();
        if (share >= shares) return shares;
        const int end = min((share + 1) * share_size, segments);
        for (int segment = share * share_size + threadIdx.x / 32; segment < end; segment += THREADS / 32)
            if (segment < a.segments()) a.copy_segment(segment);
            else b.copy_segment(segment - a.segments());
        proxy_fence_everywhere();
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicAdd(&progress.copied, 1);
    }
}

// Waits until all shares are copied. The last block that does so makes `progress` ready for the next launch.
__device__ __forceinline__ void wait_for_copy(int shares) {
    while (atomicAdd(&progress.copied, 0) < shares) {}
    __threadfence();
    proxy_fence_everywhere();
    if (atomicAdd(&progress.ready_blocks, 1) == BLOCKS - 1) progress = Progress{};
}

__global__ void __launch_bounds__(THREADS, 1)
aligned_copy(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B, int M, int N, int K,
             const element *A, const element *B, element *C, Piece *copy_A, Piece *copy_B) {
    Barrier *const full = (Barrier *)(ring + STAGES * STAGE_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32;
    const int steps = (K + BK - 1) / BK;  // along k, of each tile of C
    const int tile_rows = (M + BM - 1) / BM, tile_columns = (N + BN - 1) / BN, tiles = tile_rows * tile_columns;

    allow_next_kernel();
    ring_init<STAGES>(full, empty, 4 * CONSUMERS);  // a lane of each warp of the consumers reports
    wait_for_previous_kernel();
    const int shares = copy_shares(Copy{A, copy_A, M, K}, Copy{B, copy_B, K, N});

    RingPosition<STAGES> position;
    if (warpgroup == CONSUMERS) {  // the producer
        registers_decrease<40>();
        if (thread != 0) return;
        wait_for_copy(shares);
        for (int tile = blockIdx.x; tile < tiles; tile += BLOCKS) {
            const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
            for (int step = 0; step < steps; ++step, position.next()) {
                char *const stage = ring + position.stage * STAGE_BYTES;
                Barrier *const barrier = &full[position.stage];
                barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait the first time
                barrier_arrive_expect(barrier, STAGE_BYTES);
                copy_box(stage, &map_A, at.y * BM, step * BK, barrier);
                for (int band = 0; band < BN / 64; ++band)
                    copy_box(stage + A_BYTES + band * BAND_BYTES, &map_B, step * BK, at.x * BN + band * 64, barrier);
            }
        }
        return;
    }

    // The consumers.
    registers_increase<232>();
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
