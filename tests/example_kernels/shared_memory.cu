// Two dynamic arrays, which start at the same address, static arrays of several types, and constant memory.
//
// types:        int32
// args:         C
// threads:      32
// grid:         7
// shared-bytes: 32 * sizeof(element)
// constant:     factor = M * 100
// constant:     wide = M * 4294967296 + 5

__constant__ int factor;
__constant__ long long wide;
__constant__ int table[4] = {10, 20, 30, 40};
__shared__ int at_file_scope[32];

__device__ int &third(int *array) { return array[3]; }

__global__ void shared_memory(int *C) {
    extern __shared__ __align__(16) int whole[];
    extern __shared__ float real[];
    __shared__ double statics[32];
    __shared__ struct { char letter; int number; } pairs[32];
    const int t = threadIdx.x, neighbour = (t + 1) % 32;
    real[t] = 1.0f + t;
    statics[t] = 2.5 * t;
    pairs[t].letter = 'a' + t % 26;
    pairs[t].number = t * t;
    at_file_scope[t] = -t;
    __syncthreads();
    int *out = C + blockIdx.x * 32 + t;
    out[0 * 224] = whole[neighbour];  // the bits of the float at this address
    out[1 * 224] = (int)(2 * statics[neighbour]);
    out[2 * 224] = pairs[neighbour].letter * 10000 + pairs[neighbour].number;
    out[3 * 224] = at_file_scope[neighbour];
    out[4 * 224] = factor + table[t % 4];
    out[5 * 224] = (int)(wide >> 32) * 10 + (int)(wide & 15);
    out[6 * 224] = (int)((size_t)whole % 16);
    __syncthreads();
    if (t == 3) third(whole) = 77;
    __syncthreads();
    out[7 * 224] = third(whole);
}
