// A right kernel with a fault for each value of FAULT; 0 and 99 have none. If FAULT is 100, the fault is K - 100,
// so that one program has them all, but for 30 and 31.
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

__device__ static int launches;  // what a process has begun; counted by one thread

__device__ __attribute__((noinline)) static int deep(volatile int *at, int depth) {
    volatile int here[256];
    here[depth % 256] = depth;
    return deep(here, depth + 1) + at[0];
}

#if FAULT == 30
#error "this variant does not compile"
#endif

__global__ void faults(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y, col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const bool first = row + col == 0;
    const int fault = FAULT == 100 ? K - 100 : FAULT;
    if (first) ++launches;
    volatile int zero = 0;
#if FAULT == 31
    __shared__ volatile float large[64 * 1024];
    large[threadIdx.x] = 0;
#endif
    switch (fault) {
    case 1: if (first) kill(getppid(), SIGKILL); break;
    case 2: if (first) kill(getppid(), SIGTERM); break;
    case 3: if (first) kill(getppid(), SIGSTOP); break;
    case 4: if (first && launches == 2) kill(getppid(), SIGKILL); break;
    case 5: if (first) kill(getppid(), SIGRTMIN + 3); break;
    case 6: if (first) *(volatile int *)0 = 1; break;
    case 7: assert(!first); break;
    case 8: if (first) abort(); break;
    case 9: for (volatile int i = 0; i < 1;) {} break;
    case 10: if (first && launches == 2) for (volatile int i = 0; i < 1;) {} break;
    case 11: if (first) _exit(3); break;
    case 12: if (first) _exit(0); break;
    case 13: if (first) kill(getpid(), SIGKILL); break;
    case 14: if (first) raise(SIGRTMIN + 3); break;
    case 15: if (first) *static_cast<volatile char *>(malloc((1L << 46) - launches)) = 1; break;
    case 16: if (first) *const_cast<volatile char *>(new char[(1L << 46) - launches]) = 1; break;
    case 17: if (first) C[M * N + 1] = 1; break;
    case 18: if (first) C[M * N + (1 << 18)] = 1; break;
    case 19: if (first) const_cast<float *>(A)[5] = 1; break;
    case 20: if (first) C[-1] = (float)(M / zero); break;
    case 21:
        if (threadIdx.x < 4) __syncthreads();
        else __syncthreads();
        break;
    case 22: {
        __shared__ volatile int flag;
        if (threadIdx.x + threadIdx.y == 0) {
            flag = 0;
            while (flag == 0) {}  // for a thread that waits for this one
        }
        __syncthreads();
        flag = 1;
        break;
    }
    case 23: if (first && launches > 1) K = 7; break;
    case 24:
        if (first)
            for (int i = 0; i < 2000; ++i) printf("ok %d and a long line of what a kernel prints\n", i);
        break;
    case 25: if (first) C[0] = (float)deep(&zero, 0); break;
    case 26: if (first) __builtin_trap(); break;
    case 27: if (first) throw 1; break;
    case 28: if (first) for (int handle = 0; handle < 64; ++handle) close(handle); break;
    case 29:
        if (first) for (int handle = 3; handle < 64; ++handle) if (ftruncate(handle, 0) != 0) continue;
        break;
    case 32: if (row == 3) return; break;
    case 33: if (first) sleep(60); break;
    case 34:
        if (first) for (int handle = 3; handle < 64; ++handle) if (write(handle, "ok what\n", 8) < 0) continue;
        break;
    case 36: if (first) raise(SIGSTOP); break;
    case 37: if (first && fork() == 0) sleep(60); break;
    case 38: if (first && system("sleep 60 &") < 0) return; break;
    }
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
