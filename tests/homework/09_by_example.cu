#include "../common/book.h"

#define N 512

__global__ void mult( float *a, float *b, float *c ) {
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    int offset = x + y * blockDim.x * gridDim.x;

    float sum = 0;
    for (int i=0; i<N; i++) {
        sum += a[y * N + i] * b[i * N + x];
    }
    c[offset] = sum;
}

int main( void ) {
    float *a, *b, *c;
    float *dev_a, *dev_b, *dev_c;

    // allocate the memory on the CPU
    a = (float*)malloc( N * N * sizeof(float) );
    b = (float*)malloc( N * N * sizeof(float) );
    c = (float*)malloc( N * N * sizeof(float) );

    // allocate the memory on the GPU
    HANDLE_ERROR( cudaMalloc( (void**)&dev_a, N * N * sizeof(float) ) );
    HANDLE_ERROR( cudaMalloc( (void**)&dev_b, N * N * sizeof(float) ) );
    HANDLE_ERROR( cudaMalloc( (void**)&dev_c, N * N * sizeof(float) ) );

    // fill the arrays 'a' and 'b' on the CPU
    for (int i=0; i<N*N; i++) {
        a[i] = i % 7;
        b[i] = (i % 5) - 2;
    }

    // copy the arrays 'a' and 'b' to the GPU
    HANDLE_ERROR( cudaMemcpy( dev_a, a, N * N * sizeof(float),
                              cudaMemcpyHostToDevice ) );
    HANDLE_ERROR( cudaMemcpy( dev_b, b, N * N * sizeof(float),
                              cudaMemcpyHostToDevice ) );

    dim3    blocks(N/16,N/16);
    dim3    threads(16,16);
    mult<<<blocks,threads>>>( dev_a, dev_b, dev_c );

    // copy the array 'c' back from the GPU to the CPU
    HANDLE_ERROR( cudaMemcpy( c, dev_c, N * N * sizeof(float),
                              cudaMemcpyDeviceToHost ) );

    // verify that the GPU did the work we requested
    bool success = true;
    for (int i=0; i<N; i++) {
        for (int j=0; j<N; j++) {
            float s = 0;
            for (int k=0; k<N; k++)
                s += a[i*N+k] * b[k*N+j];
            if (s != c[i*N+j]) {
                printf( "Error:  (%d,%d) %f != %f\n", i, j, s, c[i*N+j] );
                success = false;
            }
        }
    }
    if (success)    printf( "We did it!\n" );

    // free the memory we allocated on the GPU
    HANDLE_ERROR( cudaFree( dev_a ) );
    HANDLE_ERROR( cudaFree( dev_b ) );
    HANDLE_ERROR( cudaFree( dev_c ) );

    // free the memory we allocated on the CPU
    free( a );
    free( b );
    free( c );

    return 0;
}
