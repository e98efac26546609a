// Each thread adds to a counter, whose old value is the thread's index in C, and to sums of other types.
//
// types:   int32
// args:    C, 5
// threads: 64
// grid:    33

__device__ unsigned int arrivals;
__device__ float real_sum;
__device__ double double_sum;
__device__ unsigned long long long_sum;

__global__ void atomics(int *C, int step) {
    C[8 + atomicAdd(&C[0], 1)] += step;
    atomicAdd(&real_sum, 0.5f);
    atomicAdd(&double_sum, 0.25);
    atomicAdd(&long_sum, 1ull << 32);
    __threadfence();
    // The last thread stores the sums of all threads.
    if (atomicAdd(&arrivals, 1u) == gridDim.x * blockDim.x - 1) {
        __threadfence();
        C[1] = (int)atomicAdd(&real_sum, 0.0f);
        C[2] = (int)atomicAdd(&double_sum, 0.0);
        C[3] = (int)(atomicAdd(&long_sum, 0ull) >> 32);
        C[4] = atomicExch(&C[5], 7);
        C[6] = atomicCAS(&C[5], 7, 9);
        C[7] = atomicCAS(&C[5], 7, 11);
    }
}
