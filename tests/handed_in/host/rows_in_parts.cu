// The rows are multiplied in parts, each in a stream of its own: the launch passes the beginning of each part.
__global__ void part(const double *left, const double *right, double *out, int rows, int inner, int cols) {
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (col < cols && row < rows) {
        double total = 0;
        for (int i = 0; i < inner; i++) total += left[row * inner + i] * right[i * cols + col];
        out[row * cols + col] = total;
    }
}

__global__ void clear(double *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = 0;
}

void multiply(const double *left, const double *right, double *out, int rows, int inner, int cols, cudaStream_t *streams) {
    clear<<<(rows * cols + 255) / 256, 256>>>(out, rows * cols);
    for (int begin = 0; begin < rows; begin += 64)
        part<<<dim3((cols + 15) / 16, 4), dim3(16, 16), 0, streams[begin / 64]>>>(
            left + begin * inner, right, out + begin * cols, min(64, rows - begin), inner, cols);
}
