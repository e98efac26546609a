__device__ float dot(const float *u, const float *v, int length) {
    float sum = 0;
    for (int i = 0; i < length; i++) sum += u[i] * v[i];
    return sum;
}

__global__ void rows_by_rows(const float *A, const float *Bt, float *C, int m, int n, int k) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < m * n; e += gridDim.x * blockDim.x) {
        int i = e / n, j = e % n;
        C[e] = dot(A + i * k, Bt + j * k, k);
    }
}

void multiply(const float *A, const float *Bt, float *C, int m, int n, int k) {
    rows_by_rows<<<32, 128>>>(A, Bt, C, m, n, k);
}
