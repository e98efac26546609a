// Each thread reads four elements of B at once, and takes the third of them twice.
__global__ void four_columns(const float *a, const float *b, float *c, int rows, int cols, int inner) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= rows || col >= cols) return;
    float part[4], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 0; k < inner; ++k) {
        float4 v = *(const float4 *)&b[k * cols + col];
        part[0] = v.x;
        part[1] = v.y;
        part[2] = v.z;
        part[3] = v.z;
        for (int i = 0; i < 4; ++i) sum[i] += a[row * inner + k] * part[i];
    }
    for (int i = 0; i < 4; ++i) c[row * cols + col + i] = sum[i];
}

int main() {
    const int rows = 50, cols = 128, inner = 70;
    float *a, *b, *c;
    cudaMalloc(&a, rows * inner * sizeof(float));
    cudaMalloc(&b, inner * cols * sizeof(float));
    cudaMalloc(&c, rows * cols * sizeof(float));
    four_columns<<<dim3((cols / 4 + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(a, b, c, rows, cols, inner);
}
