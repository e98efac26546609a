// Eight products in one launch: blockIdx.z is the number of the product. The count is a number, and sizes are not.
__global__ void batched(const float *x, const float *y, float *z, int rows, int cols, int inner) {
    x += blockIdx.z * rows * inner;
    y += blockIdx.z * inner * cols;
    z += blockIdx.z * rows * cols;
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows || c >= cols) return;
    float sum = 0.0f;
    for (int i = 0; i < inner; ++i) sum += x[r * inner + i] * y[i * cols + c];
    z[r * cols + c] = sum;
}

int main() {
    const int rows = 72, cols = 50, inner = 40;
    float *x, *y, *z;
    cudaMalloc(&x, 8 * rows * inner * sizeof(float));
    cudaMalloc(&y, 8 * inner * cols * sizeof(float));
    cudaMalloc(&z, 8 * rows * cols * sizeof(float));
    batched<<<dim3((cols + 31) / 32, (rows + 7) / 8, 8), dim3(32, 8)>>>(x, y, z, rows, cols, inner);
    cudaDeviceSynchronize();
}
