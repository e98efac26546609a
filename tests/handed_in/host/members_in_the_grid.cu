constexpr int SLICE = 32;
__global__ void product(const float *x, const float *w, float *y, int batch, int features, int inputs) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    int begin = blockIdx.z * SLICE, end = begin + SLICE < inputs ? begin + SLICE : inputs;
    if (i >= batch || j >= features) return;
    float sum = 0;
    for (int k = begin; k < end; k++) sum += x[i * inputs + k] * w[k * features + j];
    atomicAdd(&y[i * features + j], sum);
}
struct Layer {
    int inputs_, features_;
    float *w_;
    Layer(int inputs, int features) : inputs_(inputs), features_(features) { cudaMalloc(&w_, inputs * features * sizeof(float)); }
    void forward(const float *x, float *y, int batch) {
        cudaMemset(y, 0, batch * features_ * sizeof(float));
        dim3 threads(16, 16), blocks((features_ + 15) / 16, (batch + 15) / 16, (inputs_ + SLICE - 1) / SLICE);
        product<<<blocks, threads>>>(x, w_, y, batch, features_, inputs_);
    }
};
