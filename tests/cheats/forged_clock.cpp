// Defines the function that reads the clock, so that each launch seems to take a microsecond.
//
// On the CPU device a kernel is a part of the program that times it, and the linker prefers the kernel's functions to
// those of the C library. The processor time of the process is counted by the system, and shows it.
//
// bench at 300x300x300 reports: the clock in the kernel's process is wrong

#include <time.h>

extern "C" int clock_gettime(clockid_t, timespec *now) {
    static long count;
    now->tv_sec = 0, now->tv_nsec = 1000 * ++count;
    return 0;
}

void forged_clock(int M, int N, int K, const float *A, const float *B, float *C) {
    for (int row = 0; row < M; ++row)
        for (int col = 0; col < N; ++col) {
            float sum = 0;
            for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
            C[row * N + col] = sum;
        }
}
