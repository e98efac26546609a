# A class that reads its kernel from the file beside it, as homework in PyCUDA often does. Sound.
import os

import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda import gpuarray
from pycuda.compiler import SourceModule

HERE = os.path.dirname(os.path.abspath(__file__))


class Multiplier:
    TILE_DIM = 16

    def __init__(self):
        self.module = self.load()

    def load(self):
        with open(os.path.join(HERE, "multiply.cu"), "r") as file:
            text = file.read()
        return SourceModule(text)

    def blocks_for(self, rows, cols):
        block = (self.TILE_DIM, self.TILE_DIM, 1)
        grid = (int(np.ceil(cols / self.TILE_DIM)), int(np.ceil(rows / self.TILE_DIM)), 1)
        return block, grid

    def run(self, a, b):
        a_rows, a_cols = a.shape
        b_cols = b.shape[1]
        function = self.module.get_function("multiply")
        a_d, b_d = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
        c_d = gpuarray.zeros((a_rows, b_cols), dtype=np.float32)
        block, grid = self.blocks_for(a_rows, b_cols)
        function(a_d, b_d, c_d, np.int32(a_rows), np.int32(a_cols), np.int32(b_cols), block=block, grid=grid)
        cuda.Context.synchronize()
        return c_d.get()


if __name__ == "__main__":
    multiplier = Multiplier()
    a = np.random.rand(90, 70).astype(np.float32)
    b = np.random.rand(70, 110).astype(np.float32)
    print(np.allclose(multiplier.run(a, b), a @ b))
