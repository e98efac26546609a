// Each thread computes several elements of C, a grid apart.
__global__ void product(const double *P, const double *Q, double *R, int rows, int cols, int inner)
{
    for (int place = blockIdx.x * blockDim.x + threadIdx.x; place < rows * cols; place += gridDim.x * blockDim.x) {
        double dot = 0;
        for (int i = 0; i < inner; ++i)
            dot += P[place / cols * inner + i] * Q[i * cols + place % cols];
        R[place] = dot;
    }
}

void multiply(const double *P, const double *Q, double *R, int rows, int cols, int inner)
{
    product<<<8, 64>>>(P, Q, R, rows, cols, inner);
}
