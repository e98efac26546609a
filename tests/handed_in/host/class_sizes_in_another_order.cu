// A method passes its members in another order than the kernel takes them; another method allocates the memory.
#include <cuda_runtime.h>

__global__ void multiply(const float *A, const float *B, float *C, int M, int N, int K)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = sum;
}

class Multiplier {
    int height, width, depth;
    dim3 block{16, 16};
    float *left, *right, *result;
    static unsigned blocks(unsigned size, unsigned edge) { return (size + edge - 1) / edge; }

public:
    Multiplier(int h, int w, int d);
    void operator()();
};

Multiplier::Multiplier(int h, int w, int d)
{
    this->height = h;
    this->width = w;
    this->depth = d;
    cudaMalloc(&this->left, h * d * sizeof(float));
    cudaMalloc(&this->right, d * w * sizeof(float));
    cudaMalloc(&this->result, h * w * sizeof(float));
}

void Multiplier::operator()()
{
    dim3 grid(blocks(width, block.x), blocks(height, block.y));
    multiply<<<grid, block>>>(left, right, result, height, depth, width);
    cudaDeviceSynchronize();
}

int main()
{
    Multiplier multiplier(50, 70, 60);
    multiplier();
}
