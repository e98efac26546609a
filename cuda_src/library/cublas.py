# NVIDIA's own library for the GPU, cuBLAS: what the kernels of the ladder are held against.
#
# library: nvmath-python
# types:   float32, float64
#
# cuBLAS reads matrices column by column. A row-major matrix of M x K elements is, read by columns, its
# transpose of K x M. Since transpose(A B) = transpose(B) transpose(A), what it is asked for is the product of
# B and A, in this order: what it then writes column by column is C row by row. Nothing has to be transposed.
#
# Calls are queued on a stream and nothing in them waits, so they are timed as the kernels are. The workspace
# is given once: one that cuBLAS has to allocate during a call would wait for the GPU.

import os

import numpy as np
from nvmath.bindings import cublas

WORKSPACE_BYTES = 32 * 1024 * 1024
"""What NVIDIA recommends for Hopper; older architectures need less."""

PRECISION_VARIABLES = (
    "NVIDIA_TF32_OVERRIDE",
    "CUBLAS_EMULATE_SINGLE_PRECISION",
    "CUBLAS_EMULATE_DOUBLE_PRECISION",
    "CUBLAS_EMULATION_STRATEGY",
    "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT",
)
"""Of the environment: they have cuBLAS compute in another precision, whatever the program asks for."""

Failure = cublas.cuBLASError

# C = 1 A B + 0 C, and what is multiplied by 0 is not read. cuBLAS takes the two by their addresses.
_SCALARS = {name: np.array([1, 0], name) for name in ("float32", "float64")}


def create(stream: int, workspace: int) -> int:
    """A handle whose calls go to a stream and use WORKSPACE_BYTES of device memory at an address.

    Raises ValueError where the environment asks for another precision than the elements'.
    """
    for name in PRECISION_VARIABLES:
        if os.environ.get(name, "") not in ("", "0"):
            raise ValueError(f"{name} is set, and changes the precision in which it computes; unset it")
    handle = cublas.create()
    cublas.set_stream(handle, stream)  # which takes a workspace away, so it comes first
    cublas.set_workspace(handle, workspace, WORKSPACE_BYTES)
    cublas.set_pointer_mode(handle, cublas.PointerMode.HOST)
    cublas.set_math_mode(handle, cublas.Math.DEFAULT_MATH)  # the elements' own precision: no TF32
    return handle


def matmul(handle: int, m: int, n: int, k: int, a: int, b: int, c: int, element: str) -> None:
    """Queue C = A B of row-major matrices at addresses: A is m x k, B is k x n, C is m x n."""
    gemm = cublas.sgemm if element == "float32" else cublas.dgemm
    plain = cublas.Operation.N
    one = _SCALARS[element].ctypes.data
    zero = one + _SCALARS[element].itemsize
    gemm(handle, plain, plain, n, m, k, one, b, n, a, k, zero, c, n)


def destroy(handle: int) -> None:
    """Give the handle back; no call may be under way."""
    cublas.destroy(handle)
