// Loads of 16 bytes from global memory and from shared memory; A's tile is stored transposed for that.
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
// A load instruction can move 16 bytes per thread instead of 4. In `tile-2d` a thread's TM elements of A's tile lie one
// below the other, so each takes a read of its own. Here A's tile is stored transposed, so that these elements lie side
// by side: a thread reads both of its vectors four floats at a time, 4 reads for 64 multiply-adds. The tiles are also
// loaded from global memory 16 bytes at a time if every row begins at a multiple of 16 bytes; if not, they are loaded
// one element at a time.
//
//     cudamm show --diff tile-2d vectorized

#define THREADS (BM / TM * (BN / TN))

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
vectorized(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ Vector As[BK][BM / VEC];  // transposed
    __shared__ Vector Bs[BK][BN / VEC];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int thread_row = threadIdx.x / (BN / TN) * TM, thread_col = threadIdx.x % (BN / TN) * TN;
    // True if every row begins at a multiple of 16 bytes; if not, its elements are loaded and stored one at a time.
    const bool a_aligned = K % VEC == 0, b_aligned = N % VEC == 0;

    accumulator sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load the tiles.
        for (int i = threadIdx.x; i < BM * BK / VEC; i += THREADS) {
            const int r = i / (BK / VEC), k = i % (BK / VEC) * VEC;
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
            for (int i = 0; i < TM / VEC; ++i) reg_a[i] = As[dot_k][thread_row / VEC + i];
            for (int j = 0; j < TN / VEC; ++j) reg_b[j] = Bs[dot_k][thread_col / VEC + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += accumulator(reg_a[i / VEC].v[i % VEC]) * accumulator(reg_b[j / VEC].v[j % VEC]);
        }
        __syncthreads();
    }

    // Store the results.
    for (int i = 0; i < TM; ++i) {
        if (row0 + thread_row + i >= M) break;
        for (int j = 0; j < TN; j += VEC) {
            element *const target = &C[(row0 + thread_row + i) * N + col0 + thread_col + j];
            Vector result;
            for (int w = 0; w < VEC; ++w) result.v[w] = sum[i][j + w];
            if (b_aligned && col0 + thread_col + j < N) *(Vector *)target = result;
            else store_elements(target, result, col0 + thread_col + j, N);
        }
    }
}
