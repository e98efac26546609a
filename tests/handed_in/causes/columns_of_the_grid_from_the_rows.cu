__global__ void product(const float *a, const float *b, float *c, int height, int width, int depth) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= height || j >= width) return;
    float sum = 0;
    for (int l = 0; l < depth; l++) sum += a[i * depth + l] * b[l * width + j];
    c[i * width + j] = sum;
}

void multiply(const float *a, const float *b, float *c, int height, int width, int depth) {
    dim3 block(32, 8);
    dim3 grid((height + block.x - 1) / block.x, (width + block.y - 1) / block.y);
    product<<<grid, block>>>(a, b, c, height, width, depth);
}
