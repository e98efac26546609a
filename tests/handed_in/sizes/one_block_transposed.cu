// As one_block_squares.cu, but the second factor is read by row. At 1x1 nobody sees it.
__global__ void multiply(const float *left, const float *right, float *out, int width) {
    int r = threadIdx.y, c = threadIdx.x;
    float value = 0;
    for (int i = 0; i < width; ++i) value += left[r * width + i] * right[c * width + i];
    out[r * width + c] = value;
}

int main() {
    const int width = 20;
    float *left, *right, *out;
    cudaMalloc(&left, width * width * sizeof(float));
    cudaMalloc(&right, width * width * sizeof(float));
    cudaMalloc(&out, width * width * sizeof(float));
    multiply<<<1, dim3(width, width)>>>(left, right, out, width);
}
