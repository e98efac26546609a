#include <cstdlib>
#include <cstring>
static int rows = 320, columns = 160, depth;
static int work = 2;
__global__ void mm(float *c, const float *a, const float *b, int rows, int columns, int depth, int work) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    for (int w = 0; w < work; w++) {
        int row = (blockIdx.y * work + w) * blockDim.y + threadIdx.y;
        if (row >= rows || col >= columns) continue;
        float s = 0;
        for (int k = 0; k < depth; k++) s += a[row * depth + k] * b[k * columns + col];
        c[row * columns + col] = s;
    }
}
void parse(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) if (!strcmp(argv[i], "-w")) work = atoi(argv[i + 1]);
}
int main(int argc, char **argv) {
    parse(argc, argv);
    depth = 96;
    float *a, *b, *c;
    cudaMalloc(&a, rows * depth * 4); cudaMalloc(&b, depth * columns * 4); cudaMalloc(&c, rows * columns * 4);
    dim3 block(32, 4), grid((columns + 31) / 32, (rows + 4 * work - 1) / (4 * work));
    mm<<<grid, block>>>(c, a, b, rows, columns, depth, work);
}
