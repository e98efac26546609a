// A's tile keeps the rows of A: a thread reads VEC values of k of a row by one instruction, and uses them one by one.
//
// sources:   CUTLASS, Efficient GEMM in CUDA (layouts of tiles in shared memory)
// param:     BM = 128 in 64, 128, 256
// param:     BN = 128 in 64, 128, 256
// param:     BK = 16 in 8, 16
// param:     WM = 64 in 32, 64
// param:     WN = 32 in 32, 64
// param:     TM = 8 in 4, 8
// param:     TN = 8 in 4, 8
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// requires:  N % (16 // sizeof(element)) == 0, K % (16 // sizeof(element)) == 0,
//            BM % WM == 0, BN % WN == 0, WM * WN == 32 * TM * TN, WM // TM % 2 == 0, WN // TN % 2 == 0,
//            BM / WM * (BN / WN) <= 32, BK * sizeof(element) % 16 == 0, TN * sizeof(element) % 16 == 0
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
// sum-order: k
//
// In `warp-tile` A's tile is stored transposed: 16 bytes of a row are stored by four instructions, to four places. Here
// they are stored as they were loaded, by one instruction. A thread again reads 16 bytes at a time, but along k: for
// each of its rows the elements for VEC values of k, 4 in float32. They stay in registers until all of them are used.
//
// Threads of a warp read rows one below the other. A row of 16 elements fills half of the 32 banks, so every other row
// would lie in the same banks. Therefore each row of the tile is padded by one Vector: an odd number of Vectors brings
// any eight rows, one below the other, into different banks.
//
// The next step needs this layout: a copy that passes no register cannot transpose. The matrices are padded with zeros
// so that every row begins at a multiple of 16 bytes.
//
//     cudamm show --diff warp-tile row-tile

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)
// The threads of a warp form LANES_Y rows of LANES_X threads.
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

// 16 bytes of elements. Because of the alignment the compiler loads and stores a Vector by one instruction.
const int VEC = 16 / sizeof(element);
struct alignas(16) Vector {
    element v[VEC];
};

__global__ void __launch_bounds__(THREADS)
row_tile(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ Vector As[BM][BK / VEC + 1];  // rows as in A, padded by one Vector
    __shared__ Vector Bs[BK][BN / VEC];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // Lanes 0 and 1 form a column of the warp, lanes 0 and 2 a row, and so on: in each read of either tile at least
    // two threads read the same 16 bytes.
    const int lane_y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, lane_x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    // The thread's first row, and the first column of its first group of VEC columns; its next row lies LANES_Y rows
    // further down, its next group LANES_X groups further right.
    const int thread_row = warp / WARPS_X * WM + lane_y;
    const int thread_col = warp % WARPS_X * WN + lane_x * VEC;

    accumulator sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load the tiles; elements beyond the edge are 0.
        for (int i = threadIdx.x; i < BM * BK / VEC; i += THREADS) {
            const int r = i / (BK / VEC), k = i % (BK / VEC) * VEC;
            const bool exists = row0 + r < M && k0 + k < K;
            As[r][k / VEC] = exists ? *(const Vector *)&A[(row0 + r) * K + k0 + k] : Vector{};
        }
        for (int i = threadIdx.x; i < BK * BN / VEC; i += THREADS) {
            const int k = i / (BN / VEC), c = i % (BN / VEC) * VEC;
            const bool exists = k0 + k < K && col0 + c < N;
            Bs[k][c / VEC] = exists ? *(const Vector *)&B[(k0 + k) * N + col0 + c] : Vector{};
        }
        __syncthreads();

        // Compute.
        Vector reg_a[TM], reg_b[TN / VEC];  // A: VEC values of k of each row; B: one value of k
#pragma unroll VEC
        for (int dot_k = 0; dot_k < BK; ++dot_k) {
            if (dot_k % VEC == 0)
                for (int i = 0; i < TM; ++i) reg_a[i] = As[thread_row + i * LANES_Y][dot_k / VEC];
            for (int j = 0; j < TN / VEC; ++j) reg_b[j] = Bs[dot_k][thread_col / VEC + j * LANES_X];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += accumulator(reg_a[i].v[dot_k % VEC]) * accumulator(reg_b[j / VEC].v[j % VEC]);
        }
        __syncthreads();
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
