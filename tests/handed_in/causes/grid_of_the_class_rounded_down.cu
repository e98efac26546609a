#include <cuda_runtime.h>
constexpr int EDGE = 16;

struct DeviceMatrix {
    int rows, cols;
    float *data;
    DeviceMatrix(int r, int c) : rows(r), cols(c) { cudaMalloc(&data, sizeof(float) * r * c); }
};

__global__ void product(const float *A, const float *B, float *C, int m, int k, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i)
            sum += A[row * k + i] * B[i * n + col];
        C[row * n + col] = sum;
    }
}

int main()
{
    DeviceMatrix A(100, 48), B(48, 180), C(100, 180);
    dim3 block(EDGE, EDGE);
    dim3 grid(C.cols / EDGE, C.rows / EDGE);
    product<<<grid, block>>>(A.data, B.data, C.data, A.rows, A.cols, B.cols);
    cudaDeviceSynchronize();
    return 0;
}
