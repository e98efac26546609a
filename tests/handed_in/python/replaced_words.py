# Words of the text are replaced, and lines are joined: the last row of threads reads past the end of A. Wrong.
import sys

import cupy

lines = [
    "extern \"C\" __global__ void squared(float *A, float *B, float *C) {",
    "    int i = blockIdx.y * TILE_EDGE + threadIdx.y;",
    "    int j = blockIdx.x * TILE_EDGE + threadIdx.x;",
    "    float s = 0.0f;",
    "    for (int k = 0; k <= SIZE; k++)",
    "        s += A[i * SIZE + k] * B[k * SIZE + j];",
    "    C[i * SIZE + j] = s;",
    "}",
]
n = int(sys.argv[1]) if len(sys.argv) > 1 else 512
tile = 16
assert n % tile == 0
text = "\n".join(lines).replace("SIZE", str(n)).replace("TILE_EDGE", "16")
squared = cupy.RawKernel(text, "squared")
A, B = (cupy.random.random((n, n)).astype(cupy.float32) for _ in range(2))
C = cupy.zeros_like(A)
squared((n // tile, n // tile), (tile, tile), (A, B, C))
