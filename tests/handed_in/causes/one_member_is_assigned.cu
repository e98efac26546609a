__global__ void pairs(const float *a, const float *b, float *c, int m, int n, int k) {
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x, width = n / 2;
    if (i >= m || j >= width) return;
    const float2 *b2 = reinterpret_cast<const float2 *>(b);
    float2 sum = make_float2(0, 0);
    for (int l = 0; l < k; l += 2) {
        float one = a[i * k + l], two = a[i * k + l + 1];
        float2 first = b2[l * width + j], second = b2[(l + 1) * width + j];
        sum.x += one * first.x + two * second.x;
        sum.y = one * first.y + two * second.y;
    }
    reinterpret_cast<float2 *>(c)[i * width + j] = sum;
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    pairs<<<dim3((n / 2 + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);
}
