// As sizes in constant memory, but B is read with the number of rows of C.
__constant__ unsigned rowsOfC, colsOfC;
__constant__ unsigned inner;

__global__ void product(const float *left, const float *right, float *result) {
    unsigned r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rowsOfC || c >= colsOfC) return;
    float sum = 0.0f;
    for (unsigned i = 0; i < inner; ++i) sum += left[r * inner + i] * right[i * rowsOfC + c];
    result[r * colsOfC + c] = sum;
}

void multiply(const float *left, const float *right, float *result, unsigned h, unsigned w, unsigned depth) {
    cudaMemcpyToSymbol(inner, &depth, sizeof(depth));
    cudaMemcpyToSymbol(colsOfC, &w, sizeof(w));
    cudaMemcpyToSymbol(rowsOfC, &h, sizeof(h));
    product<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(left, right, result);
}
