// 16 bytes at a time, from global memory and from shared memory; A is transposed on its way.
//
// sources:   Boehm, How to Optimize a CUDA Matmul Kernel (kernel 6)
// param:     BM = 128 in 64, 128
// param:     BN = 128 in 64, 128
// param:     BK = 8 in 8, 16
// param:     TM = 8 in 4, 8
// param:     TN = 8 in 4, 8
// threads:   BM / TM * (BN / TN)
// grid:      ceil(N / BN), ceil(M / BM)
// requires:  BM % TM == 0, BN % TN == 0, BK * sizeof(element) % 16 == 0,
//            TM * sizeof(element) % 16 == 0, TN * sizeof(element) % 16 == 0
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
// sum-order: k
//
// A load can move 16 bytes a thread as well as 4, and it is one instruction either way. In `tile-2d` a thread's TM
// elements of A's tile lie one below the other, so each is a read of its own. Here the tile is stored transposed:
// they lie side by side, and both vectors are read four floats at a time, 4 reads for 64 multiply-adds. The tiles
// come from global memory in 16 bytes too, where every row begins at a multiple of 16 bytes; elsewhere they come
// one element at a time.

#define THREADS (BM / TM * (BN / TN))

// As many elements as 16 bytes hold; one load, because the compiler knows how it is aligned.
const int WIDE = 16 / sizeof(element);
struct alignas(16) Wide {
    element at[WIDE];
};

__global__ void __launch_bounds__(THREADS)
vectorized(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ Wide As[BK][BM / WIDE];  // transposed
    __shared__ Wide Bs[BK][BN / WIDE];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
    const bool a_wide = K % WIDE == 0, b_wide = N % WIDE == 0;

    element sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK / WIDE; i += THREADS) {
            const int r = i / (BK / WIDE), k = i % (BK / WIDE) * WIDE;
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
            for (int i = 0; i < TM / WIDE; ++i) a[i] = As[k][row / WIDE + i];
            for (int j = 0; j < TN / WIDE; ++j) b[j] = Bs[k][col / WIDE + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += a[i / WIDE].at[i % WIDE] * b[j / WIDE].at[j % WIDE];
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        if (row0 + row + i >= M) break;
        for (int j = 0; j < TN; j += WIDE) {
            element *const to = &C[(row0 + row + i) * N + col0 + col + j];
            Wide out;
            for (int w = 0; w < WIDE; ++w) out.at[w] = sum[i][j + w];
            if (b_wide && col0 + col + j < N) *(Wide *)to = out;
            else
                for (int w = 0; w < WIDE; ++w)
                    if (col0 + col + j + w < N) to[w] = out.at[w];
        }
    }
}
