// Kernels of cudamm itself that measure the two rates with which every measurement is compared: of fused multiply-adds
// in float32, and of a copy.
//
// `multiply_add` loads nothing from global memory. Each thread has several independent sums, so that no instruction
// waits for the one before it. `factor` is 0.5: a number that the compiler does not know. `gpu_ceilings.py` contains
// the number of operations of a step.

// Uses a sum: without that, the compiler would remove the loop.
template <typename T>
__device__ void use(T sum, T *out) {
    if (sum == T(12345.678)) *out = sum;
}

template <typename T>
__device__ void multiply_add(T *out, int steps, T factor) {
    T sums[8];
    for (int i = 0; i < 8; ++i) sums[i] = threadIdx.x + i;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int repeat = 0; repeat < 16; ++repeat)
#pragma unroll
            for (int i = 0; i < 8; ++i) sums[i] = sums[i] * factor + T(1);
    }
    T total = 0;
    for (int i = 0; i < 8; ++i) total += sums[i];
    use(total, out);
}

extern "C" __global__ void multiply_add_float32(float *out, int steps, float factor) {
    multiply_add(out, steps, factor);
}

// Copies `count` vectors of 16 bytes.
extern "C" __global__ void copy(const float4 *from, float4 *to, unsigned long long count) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < count;
         i += (unsigned long long)gridDim.x * blockDim.x)
        to[i] = from[i];
}
