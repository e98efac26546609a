// Tensor cores by PTX: tiles in shared memory, laid out so that no load of a fragment has a bank conflict.
//
// sources:   PTX ISA (mma, ldmatrix, cp.async)
// needs:     sm_80
// types:     float16, bfloat16
// ceiling:   16
// param:     BM = 128 in 64, 128, 256
// param:     BN = 128 in 64, 128, 256
// param:     BK = 32 in 32, 64
// param:     WM = 64 in 32, 64
// param:     WN = 32 in 32, 64
// param:     STAGES = 3 in 3, 4
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM * BK + BK * BN) * sizeof(element)
// requires:  N % 8 == 0, K % 8 == 0, STAGES >= 2, BM % WM == 0, BN % WN == 0, WM % 16 == 0, WN % 16 == 0,
//            128 % BK == 0, BK % 16 == 0, BN % 64 == 0, BM // WM * (BN // WN) <= 16,
//            (WM * WN // 32 + 64) * BM // WM * (BN // WN) * 32 <= 64 * 1024,
//            STAGES * (BM * BK + BK * BN) * sizeof(element) <= 99 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// In `wmma` every warp loads its own matrices from global memory. Here a block shares tiles in shared memory, as in
// `warp-tile`; cp.async copies them, several tiles ahead, as in `async-ring`. A warp computes WM x WN elements and uses
// each fragment several times: 4 fragments of A and 4 of B serve 16 multiplications of matrices.
//
// The instruction ldmatrix loads fragments: 8 lanes read 8 rows of 16 bytes each, one below the other. In plain order
// these lie in few banks. The banks deliver one word each in a *turn*, so the 8 rows take 4 turns (A with BK = 32) or 8
// (B, and A with BK = 64). So the pieces of 16 bytes change places within a row, by the exclusive or of the piece's
// number with the row's number modulo 8. If two rows lie side by side in 128 bytes, it is half of the row's number,
// modulo 4. The tile is *swizzled*: the same piece of 8 rows below each other lies in different banks, without padding.
//
//     cudamm show --diff wmma mma --dtype float16

#include <cuda_pipeline_primitives.h>

#include "tensor_cores.cuh"

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)

// 16 bytes, 8 elements: a piece of a row, and what cp.async copies at a time.
const int PIECE = 8;
struct alignas(16) Piece {
    element v[PIECE];
};

const int A_ROW = BK / PIECE, B_ROW = BN / PIECE;  // pieces in a row of the tiles
const int A_TILE = BM * A_ROW, STAGE = A_TILE + BK * B_ROW;

extern __shared__ Piece ring[];

// Returns where a piece of a tile lies, if a row has ROW of them. Shared memory delivers 128 bytes at a time, 8 pieces;
// shorter rows lie side by side there, and get the same order.
template <int ROW>
__device__ __forceinline__ int swizzled(int row, int piece) {
    const int side_by_side = ROW < 8 ? 8 / ROW : 1;
    return row * ROW + (piece ^ row / side_by_side % (ROW < 8 ? ROW : 8));
}

__global__ void __launch_bounds__(THREADS)
mma(int M, int N, int K, const element *A, const element *B, element *C) {
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
                const element *const source = exists ? &A[(row0 + row) * K + k0 + piece * PIECE] : A;
                __pipeline_memcpy_async(&stage[swizzled<A_ROW>(row, piece)], source, 16, exists ? 0 : 16);
            }
            for (int i = threadIdx.x; i < BK * B_ROW; i += THREADS) {
                const int row = i / B_ROW, piece = i % B_ROW;
                const bool exists = k0 + row < K && col0 + piece * PIECE < N;
                const element *const source = exists ? &B[(k0 + row) * N + col0 + piece * PIECE] : B;
                __pipeline_memcpy_async(&stage[A_TILE + swizzled<B_ROW>(row, piece)], source, 16, exists ? 0 : 16);
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
        for (int k = 0; k < BK; k += 16) {
            // Four matrices of 8 x 8 are a fragment of A, or two fragments of B. The first 16 lanes pass rows 0 to 15
            // of the left two, and the others those of the right two.
            unsigned a[WM / 16][4], b[WN / 16][4];
            for (int i = 0; i < WM / 16; ++i)
                load_matrices(a[i], &a_tile[swizzled<A_ROW>(warp_row + i * 16 + lane % 16, k / PIECE + lane / 16)]);
            for (int j = 0; j < WN / 16; ++j)
                load_matrices_transposed(
                    b[j], &b_tile[swizzled<B_ROW>(k + lane % 16, (warp_col + j * 16) / PIECE + lane / 16)]);
            for (int i = 0; i < WM / 16; ++i)
                for (int j = 0; j < WN / 8; ++j)
                    multiply_add<element>(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }

    for (int i = 0; i < WM / 16; ++i)
        for (int j = 0; j < WN / 8; ++j)
            for (int half = 0; half < 2; ++half) {
                const int row = row0 + warp_row + i * 16 + half * 8 + lane / 4;
                const int col = col0 + warp_col + j * 8 + lane % 4 * 2;
                if (row < M && col < N)
                    *(unsigned *)&C[row * N + col] =
                        rounded_pair<element>(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
            }
}
