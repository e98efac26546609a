#define TS 8

__global__ void multiply(const int *Md, const int *Nd, int *Pd, int m, int n, int k) {
    __shared__ int Mds[TS][TS];
    __shared__ int Nds[TS][TS];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TS + ty;
    int Col = blockIdx.x * TS + tx;
    int Pvalue = 0;
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
    int *dM, *dN, *dP;
    cudaMalloc(&dM, m * k * sizeof(int));
    cudaMalloc(&dN, k * n * sizeof(int));
    cudaMalloc(&dP, m * n * sizeof(int));
    multiply<<<dim3(m / TS, n / TS), dim3(TS, TS)>>>(dM, dN, dP, m, n, k);
    cudaDeviceSynchronize();
    return 0;
}
