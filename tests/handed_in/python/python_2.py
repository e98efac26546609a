# A tutorial for Python 2, with print statements; its block is as large as the matrix. Sound.
import numpy
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

mod = SourceModule("""
__global__ void multiply(float *dest, float *a, float *b, int width)
{
  int row = threadIdx.y + blockIdx.y * blockDim.y;
  int col = threadIdx.x + blockIdx.x * blockDim.x;
  float sum = 0;
  if (row >= width || col >= width) return;
  for (int i = 0; i < width; i++)
    sum += a[row * width + i] * b[i * width + col];
  dest[row * width + col] = sum;
}
""")

width = 400
a = numpy.random.randn(width, width).astype(numpy.float32)
b = numpy.random.randn(width, width).astype(numpy.float32)
dest = numpy.zeros_like(a)
threads = 20
blocks = width / threads
multiply = mod.get_function("multiply")
multiply(drv.Out(dest), drv.In(a), drv.In(b), numpy.int32(width), block=(threads, threads, 1), grid=(blocks, blocks))
print "largest difference", abs(dest - numpy.dot(a, b)).max()
print dest
