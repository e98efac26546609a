// A right kernel with a fault for each value of FAULT; 0 and 99 have none.
//
// param:   BLOCK_SIZE = 8 in 8
// param:   FAULT = 0 in 0, 99
// threads: BLOCK_SIZE, BLOCK_SIZE
// grid:    ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int launches;  // what a process has begun; counted by one thread

#if FAULT == 25
__attribute__((noinline)) int deep(volatile int *at, int depth) {
    volatile int here[256];
    here[depth % 256] = depth;
    return deep(here, depth + 1) + at[0];
}
#endif

#if FAULT == 30
#error "this variant does not compile"
#endif

__global__ void faults(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y, col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const bool first = row + col == 0; (void)FAULT;  // each value of FAULT gives another program
    if (first) ++launches;
    volatile int zero = 0;
    (void)zero;
#if FAULT == 1
    if (first) kill(getppid(), SIGKILL);
#elif FAULT == 2
    if (first) kill(getppid(), SIGTERM);
#elif FAULT == 3
    if (first) kill(getppid(), SIGSTOP);
#elif FAULT == 4
    if (first && launches == 2) kill(getppid(), SIGKILL);
#elif FAULT == 5
    if (first) kill(getppid(), SIGRTMIN + 3);
#elif FAULT == 6
    if (first) *(volatile int *)0 = 1;
#elif FAULT == 7
    assert(!first);
#elif FAULT == 8
    if (first) abort();
#elif FAULT == 9
    for (volatile int i = 0; i < 1;) {}
#elif FAULT == 10
    if (first && launches == 2) for (volatile int i = 0; i < 1;) {}
#elif FAULT == 11
    if (first) _exit(3);
#elif FAULT == 12
    if (first) _exit(0);
#elif FAULT == 13
    if (first) kill(getpid(), SIGKILL);
#elif FAULT == 14
    if (first) raise(SIGRTMIN + 3);
#elif FAULT == 15
    if (first) *static_cast<volatile char *>(malloc((1L << 46) - launches)) = 1;
#elif FAULT == 16
    if (first) *const_cast<volatile char *>(new char[(1L << 46) - launches]) = 1;
#elif FAULT == 17
    if (first) C[M * N + 1] = 1;
#elif FAULT == 18
    if (first) C[M * N + (1 << 18)] = 1;
#elif FAULT == 19
    if (first) const_cast<float *>(A)[5] = 1;
#elif FAULT == 20
    if (first) C[-1] = (float)(M / zero);
#elif FAULT == 21
    if (threadIdx.x < 4) __syncthreads();
#elif FAULT == 22
    __shared__ volatile int flag;
    if (threadIdx.x + threadIdx.y == 0) {
        flag = 0;
        while (flag == 0) {}  // for a thread that waits for this one
    }
    __syncthreads();
    flag = 1;
#elif FAULT == 23
    if (first && launches > 1) K = 7;
#elif FAULT == 24
    if (first)
        for (int i = 0; i < 2000; ++i) printf("ok %d and a long line of what a kernel prints\n", i);
#elif FAULT == 25
    if (first) C[0] = (float)deep(&zero, 0);
#elif FAULT == 26
    if (first) __builtin_trap();
#elif FAULT == 27
    if (first) throw 1;
#elif FAULT == 28
    if (first) for (int handle = 0; handle < 64; ++handle) close(handle);
#elif FAULT == 29
    if (first) for (int handle = 3; handle < 64; ++handle) if (ftruncate(handle, 0) != 0) continue;
#elif FAULT == 31
    __shared__ volatile float large[64 * 1024];
    large[threadIdx.x] = 0;
#elif FAULT == 32
    if (row == 3) return;
#elif FAULT == 33
    if (first) sleep(60);
#elif FAULT == 34
    if (first) for (int handle = 3; handle < 64; ++handle) if (write(handle, "ok what\n", 8) < 0) continue;
#elif FAULT == 36
    if (first) raise(SIGSTOP);
#elif FAULT == 37
    if (first && fork() == 0) sleep(60);
#elif FAULT == 38
    if (first && system("sleep 60 &") < 0) return;
#endif
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
