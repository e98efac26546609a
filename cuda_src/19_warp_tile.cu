// A warp computes a tile of its own, WM x WN, so that its reads of shared memory meet in no bank.
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
// Reads of 16 bytes are served for a quarter of a warp at a time: 8 threads, 128 bytes, each of the 32 banks once.
// In `vectorized` the 8 threads are neighbours in a row and own 8 columns each, so what they read of B's tile at
// once lies 32 bytes apart: half of the banks, each twice. Here a thread's columns, and its rows, come in groups
// of 16 bytes, and its next group lies behind the first groups of all its neighbours. So a quarter of the warp
// reads groups that lie side by side, or the same ones, and no bank is asked for two words. And since a warp's
// threads form a grid over a tile that is nearer to a square, it reads fewer elements at each k: WM + WN, 96, and
// not 2 x 8 + 128.
//
//     cudamm trace -m vectorized -m warp-tile

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)
// A warp's threads: LANES_Y rows of LANES_X.
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

const int WIDE = 16 / sizeof(element);
struct alignas(16) Wide {
    element at[WIDE];
};

__global__ void __launch_bounds__(THREADS)
warp_tile(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ Wide As[BK][BM / WIDE];  // transposed
    __shared__ Wide Bs[BK][BN / WIDE];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // Of the thread's first group in each direction, WIDE results; its next lies LANES_Y or LANES_X groups further on.
    const int row = warp / WARPS_X * WM + lane / LANES_X * WIDE;
    const int col = warp % WARPS_X * WN + lane % LANES_X * WIDE;
    const bool a_wide = K % WIDE == 0, b_wide = N % WIDE == 0;

    element sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Neighbouring threads take neighbouring rows of A: what they store, transposed, lies side by side.
        for (int i = threadIdx.x; i < BM * BK / WIDE; i += THREADS) {
            const int r = i % BM, k = i / BM * WIDE;
            Wide from = {};
            if (row0 + r < M) {
                const element *const at = &A[(row0 + r) * K + k0 + k];
                if (a_wide && k0 + k < K) from = *(const Wide *)at;
                else
                    for (int w = 0; w < WIDE; ++w)
                        if (k0 + k + w < K) from.at[w] = at[w];
            }
            for (int w = 0; w < WIDE; ++w) As[k + w][r / WIDE].at[r % WIDE] = from.at[w];
        }
        for (int i = threadIdx.x; i < BK * BN / WIDE; i += THREADS) {
            const int k = i / (BN / WIDE), c = i % (BN / WIDE) * WIDE;
            Wide from = {};
            if (k0 + k < K) {
                const element *const at = &B[(k0 + k) * N + col0 + c];
                if (b_wide && col0 + c < N) from = *(const Wide *)at;
                else
                    for (int w = 0; w < WIDE; ++w)
                        if (col0 + c + w < N) from.at[w] = at[w];
            }
            Bs[k][c / WIDE] = from;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            Wide a[TM / WIDE], b[TN / WIDE];
            for (int i = 0; i < TM / WIDE; ++i) a[i] = As[k][row / WIDE + i * LANES_Y];
            for (int j = 0; j < TN / WIDE; ++j) b[j] = Bs[k][col / WIDE + j * LANES_X];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += a[i / WIDE].at[i % WIDE] * b[j / WIDE].at[j % WIDE];
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        const int r = row0 + row + i / WIDE * LANES_Y * WIDE + i % WIDE;
        if (r >= M) continue;
        for (int j = 0; j < TN / WIDE; ++j) {
            const int c = col0 + col + j * LANES_X * WIDE;
            element *const to = &C[r * N + c];
            Wide out;
            for (int w = 0; w < WIDE; ++w) out.at[w] = sum[i][j * WIDE + w];
            if (b_wide && c < N) *(Wide *)to = out;
            else
                for (int w = 0; w < WIDE; ++w)
                    if (c + w < N) to[w] = out.at[w];
        }
    }
}
