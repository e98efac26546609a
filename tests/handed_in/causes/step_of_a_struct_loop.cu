struct Matrix {
    int rows, columns;
    float *values;
};

__global__ void product(Matrix a, Matrix b, Matrix c) {
    __shared__ float sa[8][8], sb[8][8];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 8 + y, j = blockIdx.x * 8 + x;
    float sum = 0;
    for (int l = 0; l < a.columns; l = 8) {
        sa[y][x] = i < a.rows && l + x < a.columns ? a.values[i * a.columns + l + x] : 0;
        sb[y][x] = l + y < b.rows && j < b.columns ? b.values[(l + y) * b.columns + j] : 0;
        __syncthreads();
        for (int e = 0; e < 8; e++) sum += sa[y][e] * sb[e][x];
        __syncthreads();
    }
    if (i < c.rows && j < c.columns) c.values[i * c.columns + j] = sum;
}

void multiply(Matrix a, Matrix b, Matrix c) {
    product<<<dim3((c.columns + 7) / 8, (c.rows + 7) / 8), dim3(8, 8)>>>(a, b, c);
}
