// Reads shared memory before anything is written to it, then writes values that the next block may find.
//
// types:        float32
// args:         C
// threads:      16
// grid:         40
// shared-bytes: 16 * sizeof(element)

__global__ void unwritten_shared(float *C) {
    __shared__ float statics[16];
    extern __shared__ float dynamic[];
    const int t = threadIdx.x;
    C[(blockIdx.x * 2 + 0) * 16 + t] = statics[t];
    C[(blockIdx.x * 2 + 1) * 16 + t] = dynamic[t];
    __syncthreads();
    statics[t] = dynamic[t] = 5;
    __syncthreads();
    if (statics[15 - t] + dynamic[15 - t] != 10) C[0] = 0;
}
