#define TILE_DIM 16

__global__ void multiply(const float *a, const float *b, float *c, int aRows, int aCols, int bCols)
{
    __shared__ float aTile[TILE_DIM][TILE_DIM];
    __shared__ float bTile[TILE_DIM][TILE_DIM];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE_DIM + y;
    int col = blockIdx.x * TILE_DIM + x;
    float sum = 0.0f;
    for (int m = 0; m < (aCols - 1) / TILE_DIM + 1; ++m) {
        int k = m * TILE_DIM;
        aTile[y][x] = row < aRows && k + x < aCols ? a[row * aCols + k + x] : 0.0f;
        bTile[y][x] = col < bCols && k + y < aCols ? b[(k + y) * bCols + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE_DIM; ++i) sum += aTile[y][i] * bTile[i][x];
        __syncthreads();
    }
    if (row < aRows && col < bCols) c[row * bCols + col] = sum;
}
