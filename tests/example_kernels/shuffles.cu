// Every kind of shuffle stores one row of C; the block is two warps.
//
// types:   int32
// args:    C
// threads: 64
// grid:    1

__global__ void shuffles(int *C) {
    const int t = threadIdx.x, lane = t % 32;
    const unsigned all = 0xffffffffu;
    const int v = 1000 * (t / 32) + 7 * lane + 3;
    int *out = C + t;
    out[0 * 64] = __shfl_sync(all, v, 5);
    out[1 * 64] = __shfl_sync(all, v, lane + 1, 8);
    out[2 * 64] = __shfl_up_sync(all, v, 3);
    out[3 * 64] = __shfl_up_sync(all, v, 3, 16);
    out[4 * 64] = __shfl_down_sync(all, v, 5);
    out[5 * 64] = __shfl_down_sync(all, v, 5, 8);
    out[6 * 64] = __shfl_xor_sync(all, v, 1);
    out[7 * 64] = __shfl_xor_sync(all, v, 16);
    out[8 * 64] = __shfl_xor_sync(all, v, 4, 4);
    out[9 * 64] = (int)(2 * __shfl_sync(all, v + 0.5, 31 - lane));      // double
    out[10 * 64] = (int)(__shfl_xor_sync(all, (long long)v << 32, 3) >> 32);
    out[11 * 64] = -1;
    if (lane < 16) out[11 * 64] = __shfl_down_sync(0x0000ffffu, v, 8, 16);
    int sum = v;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(all, sum, offset);
    out[12 * 64] = __shfl_sync(all, sum, 0);
}
