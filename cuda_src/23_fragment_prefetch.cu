// Each thread reads its elements for the next k from shared memory while it multiplies those for the current k.
//
// sources:   CUTLASS, Efficient GEMM in CUDA (software pipelining: fragments in registers)
// needs:     sm_80
// param:     BM = 256 in 64, 128, 256
// param:     BN = 128 in 64, 128, 256
// param:     BK = 8 in 8, 16
// param:     WM = 32 in 32, 64
// param:     WN = 128 in 32, 64, 128
// param:     TM = 8 in 4, 8
// param:     TN = 16 in 8, 16
// param:     STAGES = 4 in 2, 3, 4, 5
// types:     float32
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM * (BK + 4) + BK * BN) * 4
// requires:  N % 4 == 0, K % 4 == 0,
//            BM % WM == 0, BN % WN == 0, WM * WN == 32 * TM * TN, WM // TM % 2 == 0, WN // TN % 2 == 0,
//            BM // WM * (BN // WN) <= 8, STAGES * (BM * (BK + 4) + BK * BN) * 4 <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * 4, M * N * 4
// sum-order: k
//
// In `async-ring` the multiply-adds for one k follow the reads of their elements. A read of shared memory takes some
// thirty cycles, and with 128 sums per thread only two warps fit on each quarter of a multiprocessor, too few to fill
// such gaps. CUTLASS calls the elements that a thread holds for one k its *fragments*. Here they are fetched ahead:
// - B: there are two sets of registers. While the thread multiplies with one, the other is read for the next k.
// - A: a thread holds four values of k of each row. As soon as the multiply-adds of a row have used the fourth, the
//   next four are read into the same registers, while the thread goes on with the next row.
//
// At the last k of a tile, these reads are of the next tile. So the wait for the next tile and the barrier move there,
// before the last multiply-adds instead of before the first.
//
//     cudamm show --diff async-ring fragment-prefetch

#include <cuda_pipeline.h>

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)
// The threads of a warp form LANES_Y rows of LANES_X threads.
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

// 16 bytes. Because of the alignment the compiler loads and stores a Vector by one instruction.
const int VEC = 4;
struct alignas(16) Vector {
    float v[VEC];
};

struct Stage {
    Vector As[BM][BK / VEC + 1];  // rows as in A, padded by one Vector
    Vector Bs[BK][BN / VEC];
};

extern __shared__ Stage ring[];

__global__ void __launch_bounds__(THREADS)
fragment_prefetch(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // Lanes 0 and 1 form a column of the warp, lanes 0 and 2 a row, and so on: in each read of either tile at least
    // two threads read the same 16 bytes.
    const int lane_y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, lane_x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    // The thread's first row, and the first column of its first group of VEC columns; its next row lies LANES_Y rows
    // further down, its next group LANES_X groups further right.
    const int thread_row = warp / WARPS_X * WM + lane_y;
    const int thread_col = warp % WARPS_X * WN + lane_x * VEC;

    // Start the copies of a tile, and make them a group.
    const auto copy_tile = [&](int tile) {
        Stage &stage = ring[tile % STAGES];
        const int k0 = tile * BK;
        for (int i = threadIdx.x; i < BM * BK / VEC; i += THREADS) {
            const int r = i / (BK / VEC), k = i % (BK / VEC) * VEC;
            const bool exists = row0 + r < M && k0 + k < K;
            const float *const source = exists ? &A[(row0 + r) * K + k0 + k] : A;
            __pipeline_memcpy_async(&stage.As[r][k / VEC], source, 16, exists ? 0 : 16);
        }
        for (int i = threadIdx.x; i < BK * BN / VEC; i += THREADS) {
            const int k = i / (BN / VEC), c = i % (BN / VEC) * VEC;
            const bool exists = k0 + k < K && col0 + c < N;
            const float *const source = exists ? &B[(k0 + k) * N + col0 + c] : B;
            __pipeline_memcpy_async(&stage.Bs[k][c / VEC], source, 16, exists ? 0 : 16);
        }
        __pipeline_commit();
    };

    // Load the first tiles.
    for (int tile = 0; tile < STAGES - 1; ++tile) copy_tile(tile);
    __pipeline_wait_prior(STAGES - 2);  // this thread's copies of the first tile are complete
    __syncthreads();                    // and those of all other threads

    // Fetch the first fragments.
    float sum[TM][TN] = {};
    Vector reg_a[TM], reg_b[2][TN / VEC];  // A: VEC values of k of each row; B: this k and the next
    const Stage *stage = ring;
    const auto fetch_a = [&](int i, int k) { reg_a[i] = stage->As[thread_row + i * LANES_Y][k / VEC]; };
    const auto fetch_b = [&](int k) {
        for (int j = 0; j < TN / VEC; ++j) reg_b[k % 2][j] = stage->Bs[k][thread_col / VEC + j * LANES_X];
    };
#pragma unroll
    for (int i = 0; i < TM; ++i) fetch_a(i, 0);
    fetch_b(0);

    for (int tile = 0; tile * BK < K; ++tile) {
        // Load the tile that is STAGES - 1 ahead.
        copy_tile(tile + STAGES - 1);

        // Compute, and fetch the next fragments.
#pragma unroll
        for (int dot_k = 0; dot_k < BK; ++dot_k) {
            if (dot_k == BK - 1) {  // the next fragments are of the next tile
                __pipeline_wait_prior(STAGES - 2);
                __syncthreads();
                stage = &ring[(tile + 1) % STAGES];
            }
            fetch_b((dot_k + 1) % BK);
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += reg_a[i].v[dot_k % VEC] * reg_b[dot_k % 2][j / VEC].v[j % VEC];
                if (dot_k % VEC == VEC - 1) fetch_a(i, (dot_k + 1) % BK);  // the row's four elements are used up
            }
        }
    }

    // Store the results.
    for (int i = 0; i < TM; ++i) {
        const int r = row0 + thread_row + i * LANES_Y;
        if (r >= M) continue;
        for (int j = 0; j < TN / VEC; ++j) {
            const int c = col0 + thread_col + j * LANES_X * VEC;
            Vector result;
            for (int w = 0; w < VEC; ++w) result.v[w] = sum[i][j * VEC + w];
            if (c < N) *(Vector *)&C[r * N + c] = result;
        }
    }
}
