// The row length in the kernel is a number, and the matrices of the program have another.
__global__ void product(const double *a, const double *b, double *c) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    for (int k = 0; k < 40; k++) sum += a[i * 40 + k] * b[k * 40 + j];
    c[i * 40 + j] = sum;
}

int main() {
    int edge = 80;
    double *a, *b, *c;
    cudaMalloc(&a, edge * edge * sizeof(double));
    cudaMalloc(&b, edge * edge * sizeof(double));
    cudaMalloc(&c, edge * edge * sizeof(double));
    product<<<dim3(edge / 16, edge / 16), dim3(16, 16)>>>(a, b, c);
}
