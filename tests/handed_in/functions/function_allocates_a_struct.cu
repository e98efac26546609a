struct Matrix { int width, height; float *elements; };
__global__ void gemm(Matrix A, Matrix B, Matrix C)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= C.height || col >= C.width) return;
    float sum = 0;
    for (int k = 0; k < A.width; k++) sum += A.elements[row * A.width + k] * B.elements[k * B.width + col];
    C.elements[row * C.width + col] = sum;
}
Matrix to_device(Matrix M)
{
    Matrix d = M;
    cudaMalloc(&d.elements, M.width * M.height);
    cudaMemcpy(d.elements, M.elements, M.width * M.height * sizeof(float), cudaMemcpyHostToDevice);
    return d;
}
void multiply(Matrix A, Matrix B, Matrix C)
{
    Matrix dA = to_device(A), dB = to_device(B), dC = to_device(C);
    dim3 block(16, 16), grid((C.width + 15) / 16, (C.height + 15) / 16);
    gemm<<<grid, block>>>(dA, dB, dC);
    cudaMemcpy(C.elements, dC.elements, C.width * C.height * sizeof(float), cudaMemcpyDeviceToHost);
}
