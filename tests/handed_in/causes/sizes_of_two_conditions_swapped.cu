__global__ void mm(const float *X, const float *Y, float *Z, int rows, int width, int cols) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cols || j >= rows) return;
    float s = 0;
    for (int l = 0, left = i * width; l < width; l++, left++) s += X[left] * Y[l * cols + j];
    Z[i * cols + j] = s;
}

int main() {
    int rows = 512, cols = 256, width = 128;
    float *X, *Y, *Z;
    cudaMalloc(&X, rows * width * sizeof(float));
    cudaMalloc(&Y, width * cols * sizeof(float));
    cudaMalloc(&Z, rows * cols * sizeof(float));
    mm<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(X, Y, Z, rows, width, cols);
    cudaDeviceSynchronize();
    return 0;
}
