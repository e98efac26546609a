# NumPy's matrix product on the host: the library call that a user would make.
#
# For float32 and float64 NumPy calls an optimised BLAS on all cores; for int32 it has none and runs plain
# loops. This row of the tables is there for comparison with the hand-written methods.

import numpy as np


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Write the product of `a` (M x K) and `b` (K x N) into `out` (M x N)."""
    np.matmul(a, b, out=out)
