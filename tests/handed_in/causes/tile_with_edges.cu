#define TS 16

__global__ void multiply(const int *Md, const int *Nd, int *Pd, int m, int n, int k) {
    __shared__ int Mds[TS][TS];
    __shared__ int Nds[TS][TS];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TS + ty;
    int Col = blockIdx.x * TS + tx;
    int Pvalue = 0;
    for (int p = 0; p < (k + TS - 1) / TS; ++p) {
        Mds[ty][tx] = Row < m && p * TS + tx < k ? Md[Row * k + p * TS + tx] : 0;
        Nds[ty][tx] = p * TS + ty < k && Col < n ? Nd[(p * TS + ty) * n + Col] : 0;
        __syncthreads();
        for (int q = 0; q < TS; ++q) Pvalue += Mds[ty][q] * Nds[q][tx];
        __syncthreads();
    }
    if (Row < m && Col < n) Pd[Row * n + Col] = Pvalue;
}

int main() {
    int m = 512, n = 256, k = 128;
    int *dM, *dN, *dP;
    cudaMalloc(&dM, m * k * sizeof(int));
    cudaMalloc(&dN, k * n * sizeof(int));
    cudaMalloc(&dP, m * n * sizeof(int));
    multiply<<<dim3((n + TS - 1) / TS, (m + TS - 1) / TS), dim3(TS, TS)>>>(dM, dN, dP, m, n, k);
    cudaDeviceSynchronize();
    return 0;
}
