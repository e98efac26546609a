// Exercise 4: error handling, everything in one function
#include <cstdio>
#include <cstdlib>
#include <cmath>
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


#define BLOCK 16

#define CUDA_CHECK(call)                                                     \
    do {                                                                     \
        cudaError_t err_ = (call);                                           \
        if (err_ != cudaSuccess) {                                           \
            fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__,    \
                    #call, cudaGetErrorString(err_));                        \
            exit(EXIT_FAILURE);                                              \
        }                                                                    \
    } while (0)

__global__ void multiplyKernel(Matrix A, Matrix B, Matrix C)
{
    __shared__ float tileA[BLOCK][BLOCK];
    __shared__ float tileB[BLOCK][BLOCK];
    int row = blockIdx.y * BLOCK + threadIdx.y;
    int col = blockIdx.x * BLOCK + threadIdx.x;
    float value = 0;

    for (int t = 0; t < (A.cols - 1) / BLOCK + 1; ++t) {
        int k0 = t * BLOCK;
        tileA[threadIdx.y][threadIdx.x] =
            (row < A.rows && k0 + threadIdx.x < A.cols) ? A.data[row * A.cols + k0 + threadIdx.x] : 0.f;
        tileB[threadIdx.y][threadIdx.x] =
            (k0 + threadIdx.y < B.rows && col < B.cols) ? B.data[(k0 + threadIdx.y) * B.cols + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < BLOCK; ++k)
            value += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
        __syncthreads();
    }
    if (row < C.rows && col < C.cols)
        C.data[row * C.cols + col] = value;
}

// allocates a matrix of the same size on the GPU
static Matrix deviceLike(const Matrix &h)
{
    Matrix d = h;
    CUDA_CHECK(cudaMalloc((void **)&d.data, (size_t)h.rows * h.cols * sizeof(float)));
    return d;
}

void multiply(const Matrix &A, const Matrix &B, Matrix &C)
{
    if (A.cols != B.rows || C.rows != A.rows || C.cols != B.cols) {
        fprintf(stderr, "sizes do not match\n");
        exit(EXIT_FAILURE);
    }
    Matrix dA = deviceLike(A), dB = deviceLike(B), dC = deviceLike(C);
    CUDA_CHECK(cudaMemcpy(dA.data, A.data, sizeof(float) * A.rows * A.cols, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dB.data, B.data, sizeof(float) * B.rows * B.cols, cudaMemcpyHostToDevice));

    dim3 block(BLOCK, BLOCK);
    dim3 grid((C.cols + BLOCK - 1) / BLOCK, (C.rows + BLOCK - 1) / BLOCK);
    multiplyKernel<<<grid, block>>>(A, B, C);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());

    CUDA_CHECK(cudaMemcpy(C.data, dC.data, sizeof(float) * C.rows * C.cols, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(dA.data));
    CUDA_CHECK(cudaFree(dB.data));
    CUDA_CHECK(cudaFree(dC.data));
}

int main()
{
    const int sizes[3][3] = {{64, 64, 64}, {100, 150, 50}, {33, 257, 129}};  // m, n, k
    for (int s = 0; s < 3; s++) {
        Matrix A = allocMatrix(sizes[s][0], sizes[s][2]);
        Matrix B = allocMatrix(sizes[s][2], sizes[s][1]);
        Matrix C = allocMatrix(sizes[s][0], sizes[s][1]);
        randomMatrix(A);
        randomMatrix(B);
        multiply(A, B, C);

        double maxErr = 0;
        for (int i = 0; i < C.rows; i++)
            for (int j = 0; j < C.cols; j++) {
                double ref = 0;
                for (int k = 0; k < A.cols; k++)
                    ref += (double)A.data[i * A.cols + k] * B.data[k * B.cols + j];
                maxErr = fmax(maxErr, fabs(ref - C.data[i * C.cols + j]));
            }
        printf("%d x %d x %d: max error %g %s\n", C.rows, C.cols, A.cols, maxErr, maxErr < 1e-3 ? "PASS" : "FAIL");
        freeMatrix(A);
        freeMatrix(B);
        freeMatrix(C);
    }
    return 0;
}
