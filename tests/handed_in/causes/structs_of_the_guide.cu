#define BLOCK 16
typedef struct { int width; int height; float *elements; } Matrix;

__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C) {
    float Cvalue = 0;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    for (int e = 0; e < A.width; ++e) Cvalue += A.elements[row * A.width + e] * B.elements[e * B.width + col];
    C.elements[row * C.width + col] = Cvalue;
}

void MatMul(const Matrix A, const Matrix B, Matrix C) {
    dim3 dimBlock(BLOCK, BLOCK);
    dim3 dimGrid(B.width / dimBlock.x, A.height / dimBlock.y);
    MatMulKernel<<<dimGrid, dimBlock>>>(A, B, C);
}

int main() {
    Matrix A, B, C;
    A.height = 512; A.width = 128; B.height = 128; B.width = 256; C.height = 512; C.width = 256;
    cudaMalloc(&A.elements, A.width * A.height * sizeof(float));
    cudaMalloc(&B.elements, B.width * B.height * sizeof(float));
    cudaMalloc(&C.elements, C.width * C.height * sizeof(float));
    MatMul(A, B, C);
}
