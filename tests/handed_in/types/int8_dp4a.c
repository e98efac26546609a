/* B is stored transposed (N x K), so that four neighbouring bytes of a row of A and of a row of Bt fit __dp4a. */
#include <stdlib.h>

__global__ void dot4(const signed char *A, const signed char *Bt, int *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N)
        return;
    const int *a = (const int *)(A + row * K), *b = (const int *)(Bt + col * K);
    int sum = 0;
    for (int k = 0; k < K / 4; k++)
        sum = __dp4a(a[k], b[k], sum);
    C[row * N + col] = sum;
}
