// A block computes one element; its threads add their parts of the sum to one variable.
__global__ void one(float *z, const float *x, const float *y, int m, int n, int k) {
    __shared__ float result;
    if (threadIdx.x == 0) result = 0;
    __syncthreads();
    float part = 0;
    for (int e = threadIdx.x; e < k; e += blockDim.x) part += x[blockIdx.y * k + e] * y[e * n + blockIdx.x];
    atomicAdd(&result, part);
    __syncthreads();
    if (threadIdx.x == 0) z[blockIdx.y * n + blockIdx.x] = result;
}

int main() {
    int m = 20, n = 30, k = 100;
    float *x, *y, *z;
    cudaMalloc(&x, m * k * sizeof(float));
    cudaMalloc(&y, k * n * sizeof(float));
    cudaMalloc(&z, m * n * sizeof(float));
    one<<<dim3(n, m), 64>>>(z, x, y, m, n, k);
}
