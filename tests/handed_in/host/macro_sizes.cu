#define BLOCK 16
#define HEIGHT_A (6 * BLOCK)
#define WIDTH_A (5 * BLOCK)
#define WIDTH_B 64
#define NROWS HEIGHT_A
__global__ void multiply(const float *a, const float *b, float *out) {
    __shared__ float ta[BLOCK][BLOCK], tb[BLOCK][BLOCK];
    int y = blockIdx.y * BLOCK + threadIdx.y, x = blockIdx.x * BLOCK + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < WIDTH_A / BLOCK; t++) {
        ta[threadIdx.y][threadIdx.x] = a[y * WIDTH_A + t * BLOCK + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(t * BLOCK + threadIdx.y) * WIDTH_B + x];
        __syncthreads();
        for (int i = 0; i < BLOCK; i++) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    out[y * WIDTH_B + x] = sum;
}
int main() {
    float *a, *b, *c;
    cudaMalloc(&a, sizeof(float) * NROWS * WIDTH_A); cudaMalloc(&b, sizeof(float) * WIDTH_A * WIDTH_B); cudaMalloc(&c, sizeof(float) * NROWS * WIDTH_B);
    multiply<<<dim3(WIDTH_B / BLOCK, NROWS / BLOCK), dim3(BLOCK, BLOCK)>>>(a, b, c);
}
