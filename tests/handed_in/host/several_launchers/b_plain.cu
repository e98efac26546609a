#include "mm.cuh"
int main() {
    int m = 100, n = 200, k = 300; float *a, *b, *c;
    cudaMalloc(&a, m * k * 4); cudaMalloc(&b, k * n * 4); cudaMalloc(&c, m * n * 4);
    mm<8><<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);
}
