#include <vector>
struct Mat {
  int rows, cols; float *d;
  void alloc(int r, int c) { rows = r; cols = c; cudaMalloc(&d, r * c * sizeof(float)); }
  void upload(const std::vector<float> &h) { cudaMemcpy(d, h.data(), h.size() * 4, cudaMemcpyHostToDevice); }
};
__global__ void mm(Mat A, Mat B, Mat C) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= C.rows || c >= C.cols) return;
  float s = 0;
  for (int k = 0; k < A.cols; k++) s += A.d[r * A.cols + k] * B.d[k * B.rows + c];
  C.d[r * C.cols + c] = s;
}
void product(Mat A, Mat B, Mat C) {
  mm<<<dim3((C.cols + 15) / 16, (C.rows + 15) / 16), dim3(16, 16)>>>(A, B, C);
}
