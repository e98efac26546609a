class Matrix {
public:
    int rows, cols; float *d;
    Matrix(int r, int c) : rows(r), cols(c), d(nullptr) { cudaMalloc(&d, r * c * sizeof(float)); }
};
#define T 32
__global__ void mm(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float sa[T][T], sb[T][T];
    int r = blockIdx.y * T + threadIdx.y, q = blockIdx.x * T + threadIdx.x;
    float s = 0;
    for (int t = 0; t < k / T; t++) {
        sa[threadIdx.y][threadIdx.x] = a[r * k + t * T + threadIdx.x];
        sb[threadIdx.y][threadIdx.x] = b[(t * T + threadIdx.y) * n + q];
        __syncthreads();
        for (int i = 0; i < T; i++) s += sa[threadIdx.y][i] * sb[i][threadIdx.x];
        __syncthreads();
    }
    c[r * n + q] = s;
}
void product(const Matrix &A, const Matrix &B, Matrix &C) {
    mm<<<dim3(C.cols / T, C.rows / T), dim3(T, T)>>>(A.d, B.d, C.d, C.rows, C.cols, A.cols);
}
int main() { Matrix A(64, 96), B(96, 128), C(64, 128); product(A, B, C); }
