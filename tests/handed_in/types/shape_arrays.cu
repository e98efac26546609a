__global__ void matmul(float *out, const int *out_shape, const int *x_shape, const int *x_strides, const int *y_strides,
                       const float *x, const float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= out_shape[0] || j >= out_shape[1]) return;
    float s = 0;
    for (int k = 0; k < x_shape[1]; k++) s += x[i * x_strides[0] + k * x_strides[1]] * y[k * y_strides[0] + j * y_strides[1]];
    out[i * out_shape[1] + j] = s;
}
