// Tensor cores for float: they multiply the first 11 significant bits, which is called tf32.
//
// sources:   PTX ISA (mma with .tf32, ldmatrix, cp.async)
// needs:     sm_80
// types:     tf32
// ceiling:   8
// param:     BM = 128 in 64, 128, 256
// param:     BN = 128 in 64, 128, 256
// param:     BK = 16 in 16, 32
// param:     WM = 64 in 32, 64
// param:     WN = 64 in 32, 64
// param:     STAGES = 4 in 2, 3, 4
// param:     ROUND = 1 in 0, 1
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM * BK + BK * BN) * 4
// requires:  N % 4 == 0, K % 4 == 0, STAGES >= 2, BM % WM == 0, BN % WN == 0, WM % 16 == 0, WN % 32 == 0,
//            32 % BK == 0, BK % 8 == 0, BM // WM * (BN // WN) <= 16,
//            (WM * WN // 32 + 64) * BM // WM * (BN // WN) * 32 <= 64 * 1024,
//            STAGES * (BM * BK + BK * BN) * 4 <= 99 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// The matrices are float32 in memory, as for most of the methods before. The tensor cores multiply 11 of the 24
// significant bits of each element, half as fast as they multiply 16-bit elements, and the sums are float. With ROUND=0
// the last bits are left out. With ROUND=1 the elements are rounded first, which takes one more instruction for each
// element of a fragment, and leaves less than half of the error.
//
// The scheme is that of `mma`, with A 16 x 8 and B 8 x 8 in an instruction. ldmatrix has no form for elements of 32
// bits. But a row of 16 bytes can be 4 floats instead of 8 halves: then each lane receives one float, the right one for
// A. B would have to be transposed, and ldmatrix would tear its floats apart. So the lanes read B themselves.
//
// The product does not change if the columns of B and of C change places in the same way. A lane therefore reads 4
// neighbouring elements of a row of B in one load, one for each of 4 multiplications. Multiplication j has the columns
// j, j + 4, j + 8, ... of 32, and a lane ends up with 8 neighbouring elements of a row of C, which are stored as they
// are.
//
// Eight lanes read at once: 4 rows of B, and in each of them 2 pieces of 16 bytes. A piece is stored at the place that
// is the exclusive or of its number with twice the row's number modulo 4: so the eight lie in different banks.
//
//     cudamm show --diff mma mma-tf32

#include <cuda_pipeline_primitives.h>

#include "tensor_cores.cuh"

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)

// 16 bytes: a piece of a row, and what cp.async copies at a time.
const int PIECE = 4;
struct alignas(16) Piece {
    unsigned v[PIECE];
};

const int A_ROW = BK / PIECE, B_ROW = BN / PIECE;  // pieces in a row of the tiles
const int A_TILE = BM * A_ROW, STAGE = A_TILE + BK * B_ROW;

extern __shared__ Piece ring[];

// Return where a piece of a tile lies. Eight pieces fill the banks; rows of A that have 4 lie side by side there.
__device__ __forceinline__ int place_in_a(int row, int piece) {
    return row * A_ROW + (piece ^ row / (8 / A_ROW) % A_ROW);
}
__device__ __forceinline__ int place_in_b(int row, int piece) { return row * B_ROW + (piece ^ row % 4 * 2); }

__device__ __forceinline__ unsigned factor(unsigned x) { return ROUND ? rounded_to_tf32(x) : x; }

__global__ void __launch_bounds__(THREADS)
mma_tf32(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / WARPS_X * WM, warp_col = warp % WARPS_X * WN;
    const int tiles = (K + BK - 1) / BK;

    // Start the copies of a pair of tiles into a stage of the ring. Pieces beyond the edge are filled with zeros.
    const auto copy = [&](int tile) {
        if (tile < tiles) {
            Piece *const stage = ring + tile % STAGES * STAGE;
            const int k0 = tile * BK;
            for (int i = threadIdx.x; i < A_TILE; i += THREADS) {
                const int row = i / A_ROW, piece = i % A_ROW;
                const bool exists = row0 + row < M && k0 + piece * PIECE < K;
                const float *const source = exists ? &A[(row0 + row) * K + k0 + piece * PIECE] : A;
                __pipeline_memcpy_async(&stage[place_in_a(row, piece)], source, 16, exists ? 0 : 16);
            }
            for (int i = threadIdx.x; i < BK * B_ROW; i += THREADS) {
                const int row = i / B_ROW, piece = i % B_ROW;
                const bool exists = k0 + row < K && col0 + piece * PIECE < N;
                const float *const source = exists ? &B[(k0 + row) * N + col0 + piece * PIECE] : B;
                __pipeline_memcpy_async(&stage[A_TILE + place_in_b(row, piece)], source, 16, exists ? 0 : 16);
            }
        }
        __pipeline_commit();  // a group for each tile, even an empty one: the wait below counts groups
    };
    for (int tile = 0; tile < STAGES - 1; ++tile) copy(tile);

    float sums[WM / 16][WN / 8][4] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        __pipeline_wait_prior(STAGES - 2);  // this thread's copies of the tile have arrived
        __syncthreads();                    // those of all threads; and nobody reads the previous tile any more
        copy(tile + STAGES - 1);            // it overwrites the previous tile
        const Piece *const a_tile = ring + tile % STAGES * STAGE, *const b_tile = a_tile + A_TILE;
        for (int k = 0; k < BK; k += 8) {
            // Of A: the first 16 lanes pass rows 0 to 15 of the left 4 columns, and the others those of the right 4.
            unsigned a[WM / 16][4];
            for (int i = 0; i < WM / 16; ++i) {
                load_matrices(a[i], &a_tile[place_in_a(warp_row + i * 16 + lane % 16, k / PIECE + lane / 16)]);
                for (unsigned &x : a[i]) x = factor(x);
            }
            for (int j = 0; j < WN / 8; j += PIECE) {
                const int piece = (warp_col + j * 8) / PIECE + lane / 4;
                const Piece upper = b_tile[place_in_b(k + lane % 4, piece)];
                const Piece lower = b_tile[place_in_b(k + lane % 4 + 4, piece)];
                for (int v = 0; v < PIECE; ++v) {
                    const unsigned b0 = factor(upper.v[v]), b1 = factor(lower.v[v]);
                    for (int i = 0; i < WM / 16; ++i) multiply_add_tf32(sums[i][j + v], a[i], b0, b1);
                }
            }
        }
    }

    // Sums 2 half and 2 half + 1 of multiplication j + v are the elements v and v + 4 of 8 neighbouring ones in a row.
    for (int i = 0; i < WM / 16; ++i)
        for (int j = 0; j < WN / 8; j += PIECE)
            for (int half = 0; half < 2; ++half)
                for (int piece = 0; piece < 2; ++piece) {
                    const int row = row0 + warp_row + i * 16 + half * 8 + lane / 4;
                    const int col = col0 + warp_col + j * 8 + lane % 4 * 8 + piece * PIECE;
                    const int s = 2 * half + piece;
                    if (row < M && col < N)
                        *(float4 *)&C[row * N + col] =
                            float4{sums[i][j][s], sums[i][j + 1][s], sums[i][j + 2][s], sums[i][j + 3][s]};
                }
}
