// Matrices as structs, as in the programming guide, with half in and float out.
#include <cuda_fp16.h>

struct HalfMatrix { int width, height; half *elements; };
struct FloatMatrix { int width, height; float *elements; };

__global__ void MatMul(HalfMatrix A, HalfMatrix B, FloatMatrix C)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= C.height || col >= C.width) return;
    float value = 0;
    for (int e = 0; e < A.width; ++e)
        value += __half2float(A.elements[row * A.width + e]) * __half2float(B.elements[e * B.width + col]);
    C.elements[row * C.width + col] = value;
}

void multiply(HalfMatrix d_A, HalfMatrix d_B, FloatMatrix d_C)
{
    dim3 block(16, 16), grid((d_B.width + 15) / 16, (d_A.height + 15) / 16);
    MatMul<<<grid, block>>>(d_A, d_B, d_C);
}
