// Each warp computes a tile of WM x WN, so that its reads of shared memory are free of bank conflicts.
//
// sources:   Boehm, How to Optimize a CUDA Matmul Kernel (kernel 10); CUTLASS, Efficient GEMM in CUDA
// param:     BM = 128 in 64, 128, 256
// param:     BN = 128 in 64, 128, 256
// param:     BK = 16 in 8, 16
// param:     WM = 64 in 32, 64
// param:     WN = 32 in 32, 64
// param:     TM = 8 in 4, 8
// param:     TN = 8 in 4, 8
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// requires:  BM % WM == 0, BN % WN == 0, WM % TM == 0, WN % TN == 0, WM * WN == 32 * TM * TN,
//            BM / WM * (BN / WN) <= 32, BK * sizeof(element) % 16 == 0,
//            TM * sizeof(element) % 16 == 0, TN * sizeof(element) % 16 == 0
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
// sum-order: k
//
// Shared memory serves reads of 16 bytes for a quarter of a warp at a time: 8 threads read 128 bytes, one word from
// each of the 32 banks. In `vectorized` 8 neighbouring threads own 8 columns each, so they read pieces of B's tile that
// lie 32 bytes apart: these lie in half of the banks, two words in each, which is a bank conflict.
//
// Here a thread's columns are split into groups of 16 bytes: the first groups of all threads in a row of the warp come
// first, then the second groups, and so on. Its rows are split in the same way. So a quarter of the warp reads
// neighbouring groups, or the same group, and no bank has to deliver two words. The warp also reads fewer elements at
// each k, because its tile is closer to a square: WM + WN = 96 instead of 16 + 128.
//
//     cudamm trace -m vectorized -m warp-tile
//     cudamm show --diff vectorized warp-tile

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

// Load or store a Vector one element at a time, for matrices whose rows do not all begin at multiples of 16 bytes. The
// Vector begins at `column` of a row, and elements from `columns` on do not exist.
__device__ __forceinline__ void load_elements(Vector &loaded, const element *source, int column, int columns) {
    for (int w = 0; w < VEC; ++w)
        if (column + w < columns) loaded.v[w] = source[w];
}
__device__ __forceinline__ void store_elements(element *target, const Vector &result, int column, int columns) {
    for (int w = 0; w < VEC; ++w)
        if (column + w < columns) target[w] = result.v[w];
}

__global__ void __launch_bounds__(THREADS)
warp_tile(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ Vector As[BK][BM / VEC];  // transposed
    __shared__ Vector Bs[BK][BN / VEC];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // Row and column of the thread's first group, VEC rows and VEC columns; its next group lies LANES_Y groups further
    // down or LANES_X groups further right.
    const int thread_row = warp / WARPS_X * WM + lane / LANES_X * VEC;
    const int thread_col = warp % WARPS_X * WN + lane % LANES_X * VEC;
    // True if every row begins at a multiple of 16 bytes; if not, its elements are loaded and stored one at a time.
    const bool a_aligned = K % VEC == 0, b_aligned = N % VEC == 0;

    accumulator sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load the tiles. Neighbouring threads load neighbouring rows of A, and store neighbouring elements of the
        // transposed tile.
        for (int i = threadIdx.x; i < BM * BK / VEC; i += THREADS) {
            const int r = i % BM, k = i / BM * VEC;
            Vector loaded = {};
            if (row0 + r < M) {
                const element *const source = &A[(row0 + r) * K + k0 + k];
                if (a_aligned && k0 + k < K) loaded = *(const Vector *)source;
                else load_elements(loaded, source, k0 + k, K);
            }
            for (int w = 0; w < VEC; ++w) As[k + w][r / VEC].v[r % VEC] = loaded.v[w];
        }
        for (int i = threadIdx.x; i < BK * BN / VEC; i += THREADS) {
            const int k = i / (BN / VEC), c = i % (BN / VEC) * VEC;
            Vector loaded = {};
            if (k0 + k < K) {
                const element *const source = &B[(k0 + k) * N + col0 + c];
                if (b_aligned && col0 + c < N) loaded = *(const Vector *)source;
                else load_elements(loaded, source, col0 + c, N);
            }
            Bs[k][c / VEC] = loaded;
        }
        __syncthreads();

        // Compute.
        for (int dot_k = 0; dot_k < BK; ++dot_k) {
            Vector reg_a[TM / VEC], reg_b[TN / VEC];
            for (int i = 0; i < TM / VEC; ++i) reg_a[i] = As[dot_k][thread_row / VEC + i * LANES_Y];
            for (int j = 0; j < TN / VEC; ++j) reg_b[j] = Bs[dot_k][thread_col / VEC + j * LANES_X];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += accumulator(reg_a[i / VEC].v[i % VEC]) * accumulator(reg_b[j / VEC].v[j % VEC]);
        }
        __syncthreads();
    }

    // Store the results.
    for (int i = 0; i < TM; ++i) {
        const int r = row0 + thread_row + i / VEC * LANES_Y * VEC + i % VEC;
        if (r >= M) continue;
        for (int j = 0; j < TN / VEC; ++j) {
            const int c = col0 + thread_col + j * LANES_X * VEC;
            element *const target = &C[r * N + c];
            Vector result;
            for (int w = 0; w < VEC; ++w) result.v[w] = sum[i][j * VEC + w];
            if (b_aligned && c < N) *(Vector *)target = result;
            else store_elements(target, result, c, N);
        }
    }
}
