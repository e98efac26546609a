#include <cuda_runtime.h>
#include <iostream>
using namespace std;
const int M = 200, N = 90, K = 70;
__global__ void rowPerThread(float *a, float *b, float *c) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M) {
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += a[row * K + k] * b[k * N + j];
            c[row * N + j] = s;
        }
    }
}
int main() {
    float *a, *b, *c;
    cudaMalloc((void **)&a, M * K * sizeof(float)); cudaMalloc((void **)&b, K * N * sizeof(float)); cudaMalloc((void **)&c, M * N * sizeof(float));
    rowPerThread<<<(M + 127) / 128, 128>>>(a, b, c);
    cudaDeviceSynchronize();
    cout << cudaGetErrorString(cudaGetLastError()) << endl;
}
