# CuPy's ElementwiseKernel has no threads.
import cupy

squared_difference = cupy.ElementwiseKernel(
    "float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_difference"
)
