// A linear layer: y (batch x 48) = x (batch x in) times w (in x 48). The number of columns is a number in the kernel, and
// the name of a size is a keyword of Python.
__global__ void linear(const float *x, const float *w, float *y, int batch, int in) {
    const int column = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= batch) return;
    float sum = 0;
    for (int i = 0; i < in; ++i) sum += x[row * in + i] * w[i * 48 + column];
    y[row * 48 + column] = sum;
}

int main() {
    const int batch = 500, in = 120;
    float *x, *w, *y;
    cudaMalloc(&x, batch * in * sizeof(float));
    cudaMalloc(&w, in * 48 * sizeof(float));
    cudaMalloc(&y, batch * 48 * sizeof(float));
    linear<<<(batch + 7) / 8, dim3(48, 8)>>>(x, w, y, batch, in);
    cudaDeviceSynchronize();
}
