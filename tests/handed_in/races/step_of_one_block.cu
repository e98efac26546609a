// task 7: stride
#include <cstdio>
#include <cstdlib>
#include <cmath>

__global__ void strideMul(const float *A, const float *B, float *C, int hA, int wA, int wB) {
    int n = hA * wB;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) {
        int row = i / wB, col = i % wB;
        float sum = 0.0f;
        for (int k = 0; k < wA; k++) sum += A[row * wA + k] * B[k * wB + col];
        C[i] = sum;
    }
}

int main() {
    const int hA = 250, wA = 64, wB = 256;
    size_t bA = hA * wA * sizeof(float), bB = wA * wB * sizeof(float), bC = hA * wB * sizeof(float);
    float *h_A = (float *)malloc(bA), *h_B = (float *)malloc(bB), *h_C = (float *)malloc(bC);
    for (int i = 0; i < hA * wA; i++) h_A[i] = (float)(i % 7);
    for (int i = 0; i < wA * wB; i++) h_B[i] = (float)(i % 5);
    float *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, bA);
    cudaMalloc(&d_B, bB);
    cudaMalloc(&d_C, bC);
    cudaMemcpy(d_A, h_A, bA, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, bB, cudaMemcpyHostToDevice);
    strideMul<<<32, 256>>>(d_A, d_B, d_C, hA, wA, wB);
    cudaMemcpy(h_C, d_C, bC, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < hA; i++)
        for (int j = 0; j < wB; j++) {
            float s = 0;
            for (int k = 0; k < wA; k++) s += h_A[i * wA + k] * h_B[k * wB + j];
            if (fabs(s - h_C[i * wB + j]) > 1e-2) bad++;
        }
    printf("%d wrong\n", bad);
    return bad != 0;
}
