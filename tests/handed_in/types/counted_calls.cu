// Square product that also counts its threads and notes whether it met a NaN.
template <typename T>
__global__ void mm(int n, unsigned int *calls, const T *X, const T *Y, T *Z, int *errors)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(calls, 1u);
    if (r < n && c < n) {
        T s = 0;
        for (int k = 0; k < n; k++) s += X[r * n + k] * Y[k * n + c];
        if (errors && s != s) *errors = 1;
        Z[r * n + c] = s;
    }
}

int main()
{
    int n = 100, *errors;
    double *x, *y, *z;
    unsigned int *calls;
    cudaMalloc(&x, n * n * sizeof(double));
    cudaMalloc(&y, n * n * sizeof(double));
    cudaMalloc(&z, n * n * sizeof(double));
    cudaMalloc(&calls, sizeof(*calls));
    cudaMalloc(&errors, sizeof(*errors));
    mm<double><<<dim3((n + 7) / 8, (n + 7) / 8), dim3(8, 8)>>>(n, calls, x, y, z, errors);
    cudaDeviceSynchronize();
}
