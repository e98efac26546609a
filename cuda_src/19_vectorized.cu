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

#define THREADS (BM / TM * (BN / TN))

// 16 bytes of elements. Because of the alignment the compiler loads and stores a Vector by one instruction.
const int VEC = 16 / sizeof(element);
struct alignas(16) Vector {
    element v[VEC];
};

__global__ void __launch_bounds__(THREADS)
vectorized(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ Vector As[BK][BM / VEC];  // transposed
    __shared__ Vector Bs[BK][BN / VEC];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
    // True if every row begins at a multiple of 16 bytes.
    const bool a_aligned = K % VEC == 0, b_aligned = N % VEC == 0;

    element sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK / VEC; i += THREADS) {
            const int r = i / (BK / VEC), k = i % (BK / VEC) * VEC;
            Vector loaded = {};
            if (row0 + r < M) {
                const element *const source = &A[(row0 + r) * K + k0 + k];
                if (a_aligned && k0 + k < K) loaded = *(const Vector *)source;
                else
                    for (int w = 0; w < VEC; ++w)
                        if (k0 + k + w < K) loaded.v[w] = source[w];
            }
            for (int w = 0; w < VEC; ++w) As[k + w][r / VEC].v[r % VEC] = loaded.v[w];
        }
        for (int i = threadIdx.x; i < BK * BN / VEC; i += THREADS) {
            const int k = i / (BN / VEC), c = i % (BN / VEC) * VEC;
            Vector loaded = {};
            if (k0 + k < K) {
                const element *const source = &B[(k0 + k) * N + col0 + c];
                if (b_aligned && col0 + c < N) loaded = *(const Vector *)source;
                else
                    for (int w = 0; w < VEC; ++w)
                        if (col0 + c + w < N) loaded.v[w] = source[w];
            }
            Bs[k][c / VEC] = loaded;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            Vector a[TM / VEC], b[TN / VEC];
            for (int i = 0; i < TM / VEC; ++i) a[i] = As[k][row / VEC + i];
            for (int j = 0; j < TN / VEC; ++j) b[j] = Bs[k][col / VEC + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += a[i / VEC].v[i % VEC] * b[j / VEC].v[j % VEC];
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        if (row0 + row + i >= M) break;
        for (int j = 0; j < TN; j += VEC) {
            element *const target = &C[(row0 + row + i) * N + col0 + col + j];
            Vector result;
            for (int w = 0; w < VEC; ++w) result.v[w] = sum[i][j + w];
            if (b_aligned && col0 + col + j < N) *(Vector *)target = result;
            else
                for (int w = 0; w < VEC; ++w)
                    if (col0 + col + j + w < N) target[w] = result.v[w];
        }
    }
}
