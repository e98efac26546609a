// Each vote of a warp or a block stores one row of C; 96 threads in two dimensions.
//
// types:   int32
// args:    C
// threads: 8, 12
// grid:    1

__global__ void votes(int *C) {
    const int t = threadIdx.y * 8 + threadIdx.x, lane = t % 32, warp = t / 32;
    const unsigned all = 0xffffffffu;
    int *out = C + t;
    out[0 * 96] = (int)__ballot_sync(all, lane % 3 == warp);
    out[1 * 96] = __any_sync(all, t == 40);
    out[2 * 96] = __all_sync(all, t != 40);
    out[3 * 96] = -1;
    if (lane >= 8) out[3 * 96] = (int)__ballot_sync(0xffffff00u, lane % 2);
    out[4 * 96] = __syncthreads_count(t % 5 == 0);
    out[5 * 96] = __syncthreads_or(t == 95);
    out[6 * 96] = __syncthreads_or(t == 96);
    out[7 * 96] = __syncthreads_and(t != 95);
    out[8 * 96] = __syncthreads_and(t != 96);
    int total = 0;
    for (int i = 0; i < 7; ++i) total += (i + 1) * __syncthreads_count(t < 10 * i);
    out[9 * 96] = total;

    // The threads of a warp exchange values through shared memory with __syncwarp alone.
    __shared__ int line[96];
    line[t] = 10 * t;
    __syncwarp();
    const int next = line[warp * 32 + (lane + 1) % 32];
    __syncwarp();
    line[t] = next + 1;
    __syncwarp();
    out[10 * 96] = line[warp * 32 + (lane + 31) % 32];
}
