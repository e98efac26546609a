// The threads of a block share what each of them should sum alone.
#define EDGE 8
__global__ void squares(float *z, const float *x, const float *y, int n) {
    __shared__ float xs[EDGE][EDGE], ys[EDGE][EDGE];
    __shared__ float result;
    int u = threadIdx.y, v = threadIdx.x, i = blockIdx.y * EDGE + u, j = blockIdx.x * EDGE + v;
    result = 0;
    for (int s = 0; s < n; s += EDGE) {
        xs[u][v] = i < n && s + v < n ? x[i * n + s + v] : 0;
        ys[u][v] = j < n && s + u < n ? y[(s + u) * n + j] : 0;
        __syncthreads();
        for (int e = 0; e < EDGE; ++e) result += xs[u][e] * ys[e][v];
        __syncthreads();
    }
    if (i < n && j < n) z[i * n + j] = result;
}

int main() {
    int n = 100;
    float *x, *y, *z;
    cudaMalloc(&x, n * n * sizeof(float));
    cudaMalloc(&y, n * n * sizeof(float));
    cudaMalloc(&z, n * n * sizeof(float));
    squares<<<dim3((n + EDGE - 1) / EDGE, (n + EDGE - 1) / EDGE), dim3(EDGE, EDGE)>>>(z, x, y, n);
}
