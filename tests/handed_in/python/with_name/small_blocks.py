from pathlib import Path

import cupy as cp

EDGE = 32
TEXT = Path(__file__).resolve().with_name("tiles.cu").read_text(encoding="utf-8")
tiles = cp.RawModule(code=TEXT, options=(f"-DEDGE={EDGE}",)).get_function("tiles")
m, n, k = 100, 70, 90
A = cp.random.rand(m, k, dtype=cp.float32)
B = cp.random.rand(k, n, dtype=cp.float32)
C = cp.empty((m, n), dtype=cp.float32)
tiles((-(-n // EDGE), -(-m // EDGE)), (16, 16), (A, B, C, m, n, k))
