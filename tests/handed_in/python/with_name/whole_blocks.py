# The kernel is in a file beside the program. Sound.
import os

import cupy as cp

EDGE = 32
TEXT = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiles.cu")).read()
tiles = cp.RawModule(code=TEXT, options=(f"-DEDGE={EDGE}",)).get_function("tiles")
m, n, k = 100, 70, 90
A = cp.random.rand(m, k, dtype=cp.float32)
B = cp.random.rand(k, n, dtype=cp.float32)
C = cp.empty((m, n), dtype=cp.float32)
tiles((-(-n // EDGE), -(-m // EDGE)), (EDGE, EDGE), (A, B, C, m, n, k))
