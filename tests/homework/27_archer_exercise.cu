/*
 * Introduction to GPU programming with CUDA
 * Exercise: matrix product
 *
 * Training material, written to be simple rather than fast.
 */

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_runtime.h"

__host__ void myErrorHandler(cudaError_t ifail, const char * file, int line, int fatal);

#define CUDA_ASSERT(call) { myErrorHandler((call), __FILE__, __LINE__, 1); }

/* Problem size (square matrices) and threads per block */

#define NSIZE               600
#define THREADS_PER_BLOCK_X  16
#define THREADS_PER_BLOCK_Y  16

/* Kernel: c_ij = sum_k a_ik b_kj */

__global__ void myKernel(int n, const double * a, const double * b, double * c) {

  int i = blockIdx.y*blockDim.y + threadIdx.y;
  int j = blockIdx.x*blockDim.x + threadIdx.x;

  if (i < n && j < n) {
    double cij = 0.0;
    for (int k = 0; k < n; k++) {
      cij += a[n*i + k]*b[n*k + j];
    }
    c[n*j + i] = cij;
  }
}

int main(int argc, char *argv[]) {

  int n = NSIZE;
  size_t nbytes = n*n*sizeof(double);

  double * h_a = NULL;
  double * h_b = NULL;
  double * h_c = NULL;
  double * d_a = NULL;
  double * d_b = NULL;
  double * d_c = NULL;

  h_a = (double *) malloc(nbytes); assert(h_a);
  h_b = (double *) malloc(nbytes); assert(h_b);
  h_c = (double *) malloc(nbytes); assert(h_c);

  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      h_a[n*i + j] = 1.0*i;
      h_b[n*i + j] = 1.0*j + 0.5*i;
    }
  }

  CUDA_ASSERT( cudaMalloc(&d_a, nbytes) );
  CUDA_ASSERT( cudaMalloc(&d_b, nbytes) );
  CUDA_ASSERT( cudaMalloc(&d_c, nbytes) );
  CUDA_ASSERT( cudaMemcpy(d_a, h_a, nbytes, cudaMemcpyHostToDevice) );
  CUDA_ASSERT( cudaMemcpy(d_b, h_b, nbytes, cudaMemcpyHostToDevice) );

  /* Launch the kernel */
  {
    unsigned int nblockx = 1 + (n - 1)/THREADS_PER_BLOCK_X;
    unsigned int nblocky = 1 + (n - 1)/THREADS_PER_BLOCK_Y;
    dim3 blocks = {nblockx, nblocky, 1};
    dim3 threadsPerBlock = {THREADS_PER_BLOCK_X, THREADS_PER_BLOCK_Y, 1};

    myKernel<<<blocks, threadsPerBlock>>>(n, d_a, d_b, d_c);

    CUDA_ASSERT( cudaPeekAtLastError() );
    CUDA_ASSERT( cudaDeviceSynchronize() );
  }

  CUDA_ASSERT( cudaMemcpy(h_c, d_c, nbytes, cudaMemcpyDeviceToHost) );

  /* Check the results */
  {
    int ncorrect = 0;
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) {
        double sum = 0.0;
        for (int k = 0; k < n; k++) sum += h_a[n*i + k]*h_b[n*k + j];
        if (fabs(sum - h_c[n*i + j]) <= 1.0e-10*fabs(sum)) ncorrect += 1;
      }
    }
    printf("Number of correct results %d\n", ncorrect);
    printf("%s\n", ncorrect == n*n ? "Correct" : "Incorrect");
  }

  CUDA_ASSERT( cudaFree(d_a) );
  CUDA_ASSERT( cudaFree(d_b) );
  CUDA_ASSERT( cudaFree(d_c) );

  free(h_a);
  free(h_b);
  free(h_c);

  return 0;
}

__host__ void myErrorHandler(cudaError_t ifail, const char * file, int line, int fatal) {

  if (ifail != cudaSuccess) {
    fprintf(stderr, "Line %d (%s): %s: %s\n", line, file,
	    cudaGetErrorName(ifail), cudaGetErrorString(ifail));
    if (fatal) exit(ifail);
  }

  return;
}
