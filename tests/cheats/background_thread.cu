// Starts a thread on the host that computes, and returns at once.
//
// The launch is over when the kernel returns, and so is its time. The thread goes on, and has computed C
// when it is compared. This is possible only on the CPU device, where a kernel is a part of an ordinary
// program.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: the kernel started a thread of the host, which still ran when the launch had ended

#include <thread>

__global__ void background_thread(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    if (i) return;
    std::thread([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));  // as if the product were larger
        for (int r = 0; r < M; ++r)
            for (int c = 0; c < N; ++c) {
                float sum = 0;
                for (int k = 0; k < K; ++k) sum += A[r * K + k] * B[k * N + c];
                C[r * N + c] = sum;
            }
    }).detach();
}
