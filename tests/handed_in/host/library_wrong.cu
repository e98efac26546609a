__global__ void add_bias(float *x, const float *bias, float *y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) y[i] = x[i] + bias[i % cols];
}
__global__ void softmax(const float *x, float *y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float top = -1e30f, sum = 0;
    for (int j = 0; j < cols; j++) top = max(top, x[row * cols + j]);
    for (int j = 0; j < cols; j++) sum += expf(x[row * cols + j] - top);
    for (int j = 0; j < cols; j++) y[row * cols + j] = expf(x[row * cols + j] - top) / sum;
}
__global__ void linear_forward(const float *inputs, const float *weights, float *outputs, int batch, int outs, int ins) {
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row >= batch || col >= outs) return;
    float total = 0;
    for (int i = 0; i < ins; i++) total += inputs[row * ins + i] * weights[col * outs + i];
    outputs[row * outs + col] = total;
}
