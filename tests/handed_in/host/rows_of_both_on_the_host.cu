// A linear layer, whose reference on the host multiplies rows of x with rows of w: w is stored as outputs x inputs.
#include <vector>

__global__ void forward(const float *x, const float *w, float *y, int samples, int outputs, int inputs) {
    int o = blockIdx.x * blockDim.x + threadIdx.x, s = blockIdx.y * blockDim.y + threadIdx.y;
    if (s >= samples || o >= outputs) return;
    float sum = 0.0f;
    for (int i = 0; i < inputs; ++i) sum += x[s * inputs + i] * w[o * inputs + i];
    y[s * outputs + o] = sum;
}

void expected(const float *x, const float *w, float *y, int samples, int outputs, int inputs) {
    for (int s = 0; s < samples; ++s)
        for (int o = 0; o < outputs; ++o) {
            float sum = 0.0f;
            for (int i = 0; i < inputs; ++i) sum += x[s * inputs + i] * w[o * inputs + i];
            y[s * outputs + o] = sum;
        }
}

int main() {
    const int samples = 40, outputs = 50, inputs = 60;
    float *x, *w, *y;
    cudaMalloc(&x, samples * inputs * sizeof(float));
    cudaMalloc(&w, outputs * inputs * sizeof(float));
    cudaMalloc(&y, samples * outputs * sizeof(float));
    forward<<<dim3((outputs + 15) / 16, (samples + 15) / 16), dim3(16, 16)>>>(x, w, y, samples, outputs, inputs);
}
