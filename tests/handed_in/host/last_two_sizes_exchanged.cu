// The teacher's skeleton has six sizes, and the launch exchanges the last two.
#include <vector>

#define TILE 16

__global__ void matMul(float *A, float *B, float *C, int numARows, int numAColumns, int numBRows,
                       int numBColumns, int numCRows, int numCColumns) {
    int r = blockDim.y * blockIdx.y + threadIdx.y;
    int c = blockDim.x * blockIdx.x + threadIdx.x;
    if (r < numCRows && c < numCColumns) {
        float sum = 0;
        for (int i = 0; i < numAColumns; i++) sum += A[r * numAColumns + i] * B[i * numBColumns + c];
        C[r * numCColumns + c] = sum;
    }
}

int main() {
    int numARows = 200, numAColumns = 100, numBRows = 100, numBColumns = 256;
    int numCRows = numARows, numCColumns = numBColumns;
    std::vector<float> a(numARows * numAColumns, 1.0f), b(numBRows * numBColumns, 2.0f);
    std::vector<float> c(numCRows * numCColumns);
    float *devA, *devB, *devC;
    cudaMalloc(&devA, a.size() * sizeof(float));
    cudaMalloc(&devB, b.size() * sizeof(float));
    cudaMalloc(&devC, c.size() * sizeof(float));
    cudaMemcpy(devA, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(devB, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((numCColumns - 1) / TILE + 1, (numCRows - 1) / TILE + 1);
    matMul<<<grid, block>>>(devA, devB, devC, numARows, numAColumns, numBRows, numBColumns, numCColumns,
                            numCRows);
    cudaMemcpy(c.data(), devC, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
}
