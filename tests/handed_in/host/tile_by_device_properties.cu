// Tile width chosen at run time (PMPP section 5.6), dynamic shared memory
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

__global__ void matrixMulKernel(float *M, float *N, float *P, int Width, int tileWidth) {
    extern __shared__ float Mds_Nds[];
    float *Mds = Mds_Nds;
    float *Nds = Mds_Nds + tileWidth * tileWidth;
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * tileWidth + ty;
    int Col = blockIdx.x * tileWidth + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < (Width + tileWidth - 1) / tileWidth; ++ph) {
        int c = ph * tileWidth + tx, r = ph * tileWidth + ty;
        Mds[ty * tileWidth + tx] = (Row < Width && c < Width) ? M[Row * Width + c] : 0.0f;
        Nds[ty * tileWidth + tx] = (r < Width && Col < Width) ? N[r * Width + Col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < tileWidth; ++k)
            Pvalue += Mds[ty * tileWidth + k] * Nds[k * tileWidth + tx];
        __syncthreads();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = Pvalue;
}

int main() {
    cudaDeviceProp devProp;
    cudaGetDeviceProperties(&devProp, 0);
    int tileWidth = devProp.maxThreadsPerBlock >= 1024 ? 32 : 16;
    size_t bytes = 2 * tileWidth * tileWidth * sizeof(float);   // shared memory of a block

    int Width = 1000;
    size_t size = Width * Width * sizeof(float);
    float *M_h = (float *)malloc(size), *N_h = (float *)malloc(size), *P_h = (float *)malloc(size);
    for (int i = 0; i < Width * Width; i++) { M_h[i] = rand() / (float)RAND_MAX; N_h[i] = rand() / (float)RAND_MAX; }
    float *M_d, *N_d, *P_d;
    cudaMalloc(&M_d, size);
    cudaMalloc(&N_d, size);
    cudaMalloc(&P_d, size);
    cudaMemcpy(M_d, M_h, size, cudaMemcpyHostToDevice);
    cudaMemcpy(N_d, N_h, size, cudaMemcpyHostToDevice);
    dim3 dimBlock(tileWidth, tileWidth);
    dim3 dimGrid((Width + tileWidth - 1) / tileWidth, (Width + tileWidth - 1) / tileWidth);
    matrixMulKernel<<<dimGrid, dimBlock, bytes>>>(M_d, N_d, P_d, Width, tileWidth);
    cudaMemcpy(P_h, P_d, size, cudaMemcpyDeviceToHost);
    double worst = 0;
    for (int i = 0; i < Width; ++i)
        for (int j = 0; j < Width; ++j) {
            double s = 0;
            for (int k = 0; k < Width; ++k) s += (double)M_h[i * Width + k] * N_h[k * Width + j];
            worst = fmax(worst, fabs(s - P_h[i * Width + j]));
        }
    printf("max error %g\n", worst);
    cudaFree(M_d); cudaFree(N_d); cudaFree(P_d);
    free(M_h); free(N_h); free(P_h);
}
