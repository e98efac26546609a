// Each thread computes two neighbouring columns of one row.
constexpr int W = 2, X = 16, Y = 8;
__global__ void pairs(const float *a, const float *b, float *c, int rows, int cols, int depth) {
    const int tx = threadIdx.x, r = blockIdx.y * Y + threadIdx.y;
    const int first = tx + blockIdx.x * X * W;
    if (r >= rows || first >= cols) return;
    float2 sum = make_float2(0.f, 0.f);
    for (int d = 0; d < depth; ++d) {
        const float2 v = *(const float2 *)(b + d * cols + first);
        sum.x += a[r * depth + d] * v.x;
        sum.y += a[r * depth + d] * v.y;
    }
    *(float2 *)(c + r * cols + first) = sum;
}

int main() {
    const int rows = 100, cols = 96, depth = 50;
    float *a, *b, *c;
    cudaMalloc(&a, rows * depth * sizeof(float));
    cudaMalloc(&b, depth * cols * sizeof(float));
    cudaMalloc(&c, rows * cols * sizeof(float));
    pairs<<<dim3((cols / W + X - 1) / X, (rows + Y - 1) / Y), dim3(X, Y)>>>(a, b, c, rows, cols, depth);
}
