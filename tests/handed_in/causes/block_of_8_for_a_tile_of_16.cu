#define TS 16

__global__ void multiply(const float *Md, const float *Nd, float *Pd, int m, int n, int k) {
    __shared__ float Mds[TS][TS];
    __shared__ float Nds[TS][TS];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TS + ty;
    int Col = blockIdx.x * TS + tx;
    float Pvalue = 0;
    for (int p = 0; p < k / TS; ++p) {
        Mds[ty][tx] = Md[Row * k + p * TS + tx];
        Nds[ty][tx] = Nd[(p * TS + ty) * n + Col];
        __syncthreads();
        for (int q = 0; q < TS; ++q) Pvalue += Mds[ty][q] * Nds[q][tx];
        __syncthreads();
    }
    Pd[Row * n + Col] = Pvalue;
}

int main() {
    int m = 512, n = 256, k = 128;
    float *dM, *dN, *dP;
    cudaMalloc(&dM, m * k * sizeof(float));
    cudaMalloc(&dN, k * n * sizeof(float));
    cudaMalloc(&dP, m * n * sizeof(float));
    multiply<<<dim3(n / 8, m / 8), dim3(8, 8)>>>(dM, dN, dP, m, n, k);
    cudaDeviceSynchronize();
    return 0;
}
