struct Problem { int rows, cols, inner; };
void small_problem(Problem *p) { p->rows = 300; p->cols = 200; p->inner = 100; }
__global__ void mm(const float *A, const float *B, float *C, int h, int w, int d) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < d; k++) s += A[row * d + k] * B[k * w + col];
    C[row * w + col] = s;
}
void run(const Problem &p, float *A, float *B, float *C) {
    mm<<<dim3(p.cols / 16, p.rows / 16), dim3(16, 16)>>>(A, B, C, p.rows, p.cols, p.inner);
}
int main() {
    Problem p;
    small_problem(&p);
    float *A, *B, *C;
    cudaMalloc(&A, p.rows * p.inner * 4); cudaMalloc(&B, p.inner * p.cols * 4); cudaMalloc(&C, p.rows * p.cols * 4);
    run(p, A, B, C);
}
