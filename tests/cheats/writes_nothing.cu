// Does nothing at all.
//
// The fastest kernel of all. It is right if C holds the product already, because another method has just
// written it there.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: 2304 of 2304 elements never written

__global__ void writes_nothing(int M, int N, int K, const float *A, const float *B, float *C) {
}
