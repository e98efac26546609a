__global__ void mm(double *p, double *q, double *r, unsigned int size) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= size || j >= size) return;
    double t = 0.0;
    for (unsigned int k = 0; k < size; ++k) t += p[j * size + k] * q[k * size + i];
    r[j * size + i] = t;
}
