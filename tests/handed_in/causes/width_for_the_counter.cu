__global__ void vectors(const float *a, const float *b, float *c, int m, int n, int k) {
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x, width = n / 4;
    if (i >= m || j >= width) return;
    const float4 *b4 = reinterpret_cast<const float4 *>(b);
    float4 sum = make_float4(0, 0, 0, 0);
    for (int l = 0; l < k; l += 2) {
        float one = a[i * k + l], two = a[i * k + l + 1];
        float4 first = b4[l * width + j], second = b4[(width + 1) * width + j];
        sum.x += one * first.x + two * second.x;
        sum.y += one * first.y + two * second.y;
        sum.z += one * first.z + two * second.z;
        sum.w += one * first.w + two * second.w;
    }
    reinterpret_cast<float4 *>(c)[i * width + j] = sum;
}

void multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    vectors<<<dim3((n / 4 + 7) / 8, (m + 7) / 8), dim3(8, 8)>>>(a, b, c, m, n, k);
}
