#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) exit(1); } while (0)
typedef struct { int height; int width; float *data; } Mat;
__global__ void outer(Mat a, Mat b, Mat c) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= c.height || col >= c.width) return;
    float p = 0;
    for (int k = blockIdx.z; k < a.width; k += gridDim.z) p += a.data[row * a.width + k] * b.data[k * b.width + col];
    atomicAdd(&c.data[row * c.width + col], p);
}
static Mat make(int h, int w) {
    Mat m;
    m.height = h; m.width = w;
    CHECK(cudaMalloc(&m.data, h * w * sizeof(float)));
    CHECK(cudaMemset(m.data, 0, h * w * sizeof(float)));
    return m;
}
static void run(Mat a, Mat b, Mat c) {
    dim3 block(16, 8), grid;
    grid.x = (c.width + block.x - 1) / block.x; grid.y = (c.height + block.y - 1) / block.y; grid.z = 5;
    outer<<<grid, block>>>(a, b, c);
}
int main() { Mat a = make(70, 50), b = make(50, 90), c = make(70, 90); run(a, b, c); }
