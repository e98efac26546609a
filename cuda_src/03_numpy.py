# NumPy's own product on the host: the library call a user would make instead.
#
# For float32 and float64 this is an optimised BLAS over all cores; for int32 NumPy has none and runs plain
# loops. It stands in the tables as the row to compare the hand-written methods with.

import numpy as np


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Write the product of `a` (M x K) and `b` (K x N) into `out` (M x N)."""
    np.matmul(a, b, out=out)
