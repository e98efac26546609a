__global__ void mm(const double *X, const double *Y, double *Z, int rows, int width, int cols) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols) return;
    double s = 0;
    const double *x = X + i * width;
    const double *y = Y + j;
    for (int l = 0; l < width; l++) {
        s += *x++ * *y;
        y += cols;
    }
    Z[i * cols + j] = s;
}

int main() {
    int rows = 512, cols = 256, width = 128;
    double *X, *Y, *Z;
    cudaMalloc(&X, rows * width * sizeof(double));
    cudaMalloc(&Y, width * cols * sizeof(double));
    cudaMalloc(&Z, rows * cols * sizeof(double));
    mm<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(X, Y, Z, rows, width, cols);
    cudaDeviceSynchronize();
    return 0;
}
