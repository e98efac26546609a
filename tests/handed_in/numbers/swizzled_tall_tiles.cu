// Exercise 7: the fast version. A block computes 64 x 64 of C, each thread 4 x 4.
#include <cstdio>
#include <cstdlib>
// matrix.h - handed out with the exercise
#ifndef MATRIX_H
#define MATRIX_H
#include <cstdlib>

struct Matrix {
    int rows, cols;
    float *data;        // row-major: element (i, j) is data[i * cols + j]
};

inline Matrix allocMatrix(int rows, int cols) {
    Matrix m;
    m.rows = rows;
    m.cols = cols;
    m.data = (float *)malloc((size_t)rows * cols * sizeof(float));
    return m;
}

inline void freeMatrix(Matrix &m) {
    free(m.data);
    m.data = NULL;
}

inline void randomMatrix(Matrix &m) {
    for (int i = 0; i < m.rows * m.cols; i++)
        m.data[i] = (float)rand() / RAND_MAX;
}

#endif


#define CUDA_CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

#define BM 64
#define BN 64
#define BK 16
#define TM 4
#define TN 4

__global__ void __launch_bounds__(256, 5) matMulReg(Matrix A, Matrix B, Matrix C)
{
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];

    const int tx = threadIdx.x, ty = threadIdx.y;       // 16 x 16
    const int tid = ty * blockDim.x + tx;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;

    float acc[TM][TN] = {};

    for (int t = 0; t < A.cols; t += BK) {
        // 1024 elements each, 256 threads: four per thread
        for (int i = tid; i < BM * BK; i += 256) {
            int r = i / BK, c = i % BK;
            As[r][c ^ (r & 15)] = (row0 + r < A.rows && t + c < A.cols) ? A.data[(row0 + r) * A.cols + t + c] : 0.0f;
        }
        for (int i = tid; i < BK * BN; i += 256) {
            int r = i / BN, c = i % BN;
            Bs[r][c] = (t + r < B.rows && col0 + c < B.cols) ? B.data[(t + r) * B.cols + col0 + c] : 0.0f;
        }
        __syncthreads();

        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i++) a[i] = As[ty * TM + i][k ^ ((ty * TM + i) & 15)];
            for (int j = 0; j < TN; j++) b[j] = Bs[k][tx + j * (BN / TN)];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) {
            int r = row0 + ty * TM + i, c = col0 + tx + j * (BN / TN);
            if (r < C.rows && c < C.cols) C.data[r * C.cols + c] = acc[i][j];
        }
}

void multiply(const Matrix &A, const Matrix &B, Matrix &C)
{
    Matrix dA = A, dB = B, dC = C;
    CUDA_CHECK(cudaMalloc(&dA.data, A.rows * A.cols * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dB.data, B.rows * B.cols * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dC.data, C.rows * C.cols * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(dA.data, A.data, A.rows * A.cols * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dB.data, B.data, B.rows * B.cols * sizeof(float), cudaMemcpyHostToDevice));

    dim3 block(BN / TN, BM / TM);
    dim3 grid((C.cols + BN - 1) / BN, (C.rows + BM - 1) / BM);
    matMulReg<<<grid, block>>>(dA, dB, dC);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(C.data, dC.data, C.rows * C.cols * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(dA.data));
    CUDA_CHECK(cudaFree(dB.data));
    CUDA_CHECK(cudaFree(dC.data));
}

int main()
{
    Matrix A = allocMatrix(1024, 768), B = allocMatrix(768, 512), C = allocMatrix(1024, 512);
    randomMatrix(A);
    randomMatrix(B);
    multiply(A, B, C);
    printf("%f\n", C.data[1024 * 512 - 1]);
    freeMatrix(A); freeMatrix(B); freeMatrix(C);
    return 0;
}
