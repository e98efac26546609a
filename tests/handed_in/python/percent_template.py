# A course's PyCUDA example: the sizes are put into the text with %, and one block computes the product. Sound.
import numpy as np
import pycuda.autoinit
from pycuda import compiler, gpuarray

kernel_template = """
__global__ void MatMulInOneBlock(float *left, float *right, float *product)
{
    // one thread for each element
    int column = threadIdx.x, line = threadIdx.y;
    float value = 0;
    for (int i = 0; i < %(EDGE)s; ++i)
        value += left[line * %(EDGE)s + i] * right[i * %(EDGE)s + column];
    product[line * %(EDGE)s + column] = value;
}
"""
EDGE = 16
left_cpu = np.random.randn(EDGE, EDGE).astype(np.float32)
right_cpu = np.random.randn(EDGE, EDGE).astype(np.float32)
left_gpu = gpuarray.to_gpu(left_cpu)
right_gpu = gpuarray.to_gpu(right_cpu)
product_gpu = gpuarray.empty((EDGE, EDGE), np.float32)

module = compiler.SourceModule(kernel_template % {"EDGE": EDGE})
multiply = module.get_function("MatMulInOneBlock")
multiply(left_gpu, right_gpu, product_gpu, block=(EDGE, EDGE, 1))
print(np.allclose(left_cpu @ right_cpu, product_gpu.get(), atol=1e-4))
