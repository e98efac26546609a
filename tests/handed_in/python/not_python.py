import cupy
kernel = cupy.RawKernel('extern "C" __global__ void f() {}', 'f'
print(kernel)
