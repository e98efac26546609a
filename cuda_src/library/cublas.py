# NVIDIA's library for the GPU, cuBLAS, for comparison with the kernels of the ladder.
#
# library: nvmath-python
# types:   float32, float64, float16, bfloat16, tf32
#
# cuBLAS expects column-major matrices. A row-major matrix of M x K elements, read column by column, is its
# transpose of K x M. Since transpose(A B) = transpose(B) transpose(A), this file asks cuBLAS for the product
# of B and A, in this order: the column-major result is C in row-major order. No matrix has to be transposed.
#
# Calls are queued on a stream and do not wait, so they are timed like the kernels. The workspace is allocated
# once, because a call that allocates a workspace waits for the GPU.

import os

import numpy as np
from nvmath.bindings import cublas

WORKSPACE_BYTES = 32 * 1024 * 1024
"""Size of the workspace that NVIDIA recommends for Hopper; older architectures need less."""

PRECISION_VARIABLES = (
    "NVIDIA_TF32_OVERRIDE",
    "CUBLAS_EMULATE_SINGLE_PRECISION",
    "CUBLAS_EMULATE_DOUBLE_PRECISION",
    "CUBLAS_EMULATION_STRATEGY",
    "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT",
)
"""Environment variables that make cuBLAS compute in another precision than the program requests."""

Failure = cublas.cuBLASError

# alpha and beta of C = alpha A B + beta C; cuBLAS takes their addresses, and does not read C if beta is 0.
_SCALARS = {name: np.array([1, 0], name) for name in ("float32", "float64")}

# Numbers of the types of tensor cores among CUDA's data types. Sums are kept in float32, as in the ladder.
# The elements of tf32 are float32 in memory, which has the number 0.
_DATA_TYPES = {"float16": 2, "bfloat16": 14, "tf32": 0}


def create(stream: int, workspace: int) -> int:
    """Return a handle whose calls go to a stream, with WORKSPACE_BYTES of device memory at an address.

    Raises:
        ValueError: an environment variable selects another precision than that of the elements.
    """
    for name in PRECISION_VARIABLES:
        if os.environ.get(name, "") not in ("", "0"):
            raise ValueError(f"{name} is set, which changes the precision of cuBLAS: unset it")
    handle = cublas.create()
    cublas.set_stream(handle, stream)  # resets the workspace, so it comes first
    cublas.set_workspace(handle, workspace, WORKSPACE_BYTES)
    cublas.set_pointer_mode(handle, cublas.PointerMode.HOST)
    # No TF32, unless a call asks for it; and no sum of a part of K is rounded to 16 bits.
    cublas.set_math_mode(handle, cublas.Math.DISALLOW_REDUCED_PRECISION_REDUCTION)
    return handle


def matmul(handle: int, m: int, n: int, k: int, a: int, b: int, c: int, element: str) -> None:
    """Queue C = A B of row-major matrices at addresses: A is m x k, B is k x n, C is m x n."""
    no_transpose = cublas.Operation.N
    scalars = _SCALARS["float64" if element == "float64" else "float32"]
    alpha = scalars.ctypes.data
    beta = alpha + scalars.itemsize
    if element in _DATA_TYPES:
        of_type, types = _DATA_TYPES[element], cublas.ComputeType
        compute_type = types.COMPUTE_32F_FAST_TF32 if element == "tf32" else types.COMPUTE_32F
        cublas.gemm_ex(
            handle, no_transpose, no_transpose, n, m, k, alpha, b, of_type, n, a, of_type, k,
            beta, c, of_type, n, compute_type, cublas.GemmAlgo.DEFAULT,
        )  # fmt: skip
        return
    gemm = cublas.sgemm if element == "float32" else cublas.dgemm
    gemm(handle, no_transpose, no_transpose, n, m, k, alpha, b, n, a, k, beta, c, n)


def destroy(handle: int) -> None:
    """Destroy the handle; no call may be running."""
    cublas.destroy(handle)
