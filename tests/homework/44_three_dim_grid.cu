/*
 * gpumm3.cu -- project part (c): use more parallelism by giving every (i, j, k-slice)
 * its own thread.
 *
 * M rows of A, K cols of A / rows of B, N cols of B. All powers of two in our benchmark.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <unistd.h>

#define M 256
#define K 1024
#define N 128

#define SLICES 8
#define SLICE_LEN (K / SLICES)

static void die(const char *what)
{
  fprintf(stderr, "gpumm3: %s\n", what);
  exit(1);
}

__global__ void mm3(float *c, const float *a, const float *b)
{
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  int s = blockIdx.z * blockDim.z + threadIdx.z;
  int k;
  float part = 0.0f;

  if (i >= M || j >= N || s >= SLICES)
    return;

  for (k = s * SLICE_LEN; k < (s + 1) * SLICE_LEN; k++)
    part += a[i * K + k] * b[k * N + j];

  c[i * N + j] += part;
}

int main(int argc, char **argv)
{
  float *a = (float *)malloc(sizeof(float) * M * K);
  float *b = (float *)malloc(sizeof(float) * K * N);
  float *c = (float *)malloc(sizeof(float) * M * N);
  float *dev_a, *dev_b, *dev_c;
  int i, j, k, verify = 0, opt;

  while ((opt = getopt(argc, argv, "v")) != -1)
    if (opt == 'v')
      verify = 1;

  for (i = 0; i < M * K; i++)
    a[i] = drand48();
  for (i = 0; i < K * N; i++)
    b[i] = drand48();

  if (cudaMalloc((void **)&dev_a, sizeof(float) * M * K) != cudaSuccess) die("malloc a");
  if (cudaMalloc((void **)&dev_b, sizeof(float) * K * N) != cudaSuccess) die("malloc b");
  if (cudaMalloc((void **)&dev_c, sizeof(float) * M * N) != cudaSuccess) die("malloc c");
  cudaMemcpy(dev_a, a, sizeof(float) * M * K, cudaMemcpyHostToDevice);
  cudaMemcpy(dev_b, b, sizeof(float) * K * N, cudaMemcpyHostToDevice);
  cudaMemset(dev_c, 0, sizeof(float) * M * N);

  dim3 threads(16, 16, 1);
  dim3 blocks(N / 16, M / 16, SLICES);
  mm3<<<blocks, threads>>>(dev_c, dev_a, dev_b);
  if (cudaDeviceSynchronize() != cudaSuccess) die("kernel");

  cudaMemcpy(c, dev_c, sizeof(float) * M * N, cudaMemcpyDeviceToHost);

  if (verify) {
    int bad = 0;
    for (i = 0; i < M; i++)
      for (j = 0; j < N; j++) {
        double sum = 0;
        for (k = 0; k < K; k++)
          sum += (double)a[i * K + k] * b[k * N + j];
        if (fabs(sum - c[i * N + j]) > 1e-3 * sum)
          bad++;
      }
    printf("%d bad\n", bad);
  }
  return 0;
}
