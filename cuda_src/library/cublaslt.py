# NVIDIA's library for products with options, cuBLASLt: here for float8_e4m3, of which cuBLAS has no product.
#
# library:  nvmath-python
# types:    float8_e4m3
# layout:   B=column
# requires: M % 16 == 0, N % 16 == 0, K % 16 == 0
#
# As in cublas.py, the library expects column-major matrices, and is asked for the product of transpose(B)
# and transpose(A): its column-major result is C in row-major order. For 8-bit elements the library has one
# kind of product, "TN": it transposes its first matrix, and takes the second one as it is. Its first matrix
# is B, which is column-major. Its second one is A in row-major order, which is transpose(A) in column-major
# order. So no matrix is copied into another order.
#
# This file asks for no fast accumulation. Then the library's kernels add the short sums of the tensor cores
# to sums in float32, as the method float8 does. C is bfloat16.
#
# The library proposes several algorithms for a shape. The first call for a shape times them, and keeps the
# fastest. That call waits for the GPU. All later calls are queued on the stream and do not wait.

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from nvmath.bindings import cublas, cublasLt
from pycuda import driver

WORKSPACE_BYTES = 32 * 1024 * 1024
"""Size of the workspace that NVIDIA recommends for Hopper."""

ALGORITHMS = 8
"""Number of algorithms that the library is asked for; it may propose fewer."""

ROUNDS, LAUNCHES = 3, 5
"""Rounds in which the algorithms take turns, and launches of each in a round. The shortest round counts."""

Failure = cublasLt.cuBLASLtError

# Numbers of types among CUDA's data types; the scalars and the sums are float32.
_FLOAT32, _BFLOAT16, _FLOAT8_E4M3 = 0, 14, 28

# alpha and beta of C = alpha A B + beta C. The library takes their addresses, and reads no C if beta is 0.
_SCALARS = np.array([1, 0], np.float32)


@dataclass
class Product:
    """What the library has to know of the products of one shape.

    Attributes:
        layouts: descriptions of the three matrices: B, transpose(A) and transpose(C).
        memory: the library's proposals, at whose addresses the algorithms are described.
        proposed: the addresses of the proposed algorithms; `fastest` is one of them.
    """

    layouts: tuple[int, int, int]
    memory: Any
    proposed: list[int]
    fastest: int = 0


@dataclass
class Handle:
    """The opened library, and the products of which it has been asked, by M, N and K."""

    opened: int
    stream: int
    workspace: int
    operation: int
    products: dict[tuple[int, int, int], Product] = field(default_factory=dict)


def create(stream: int, workspace: int) -> Handle:
    """Return a handle whose calls go to a stream, with WORKSPACE_BYTES of device memory at an address."""
    opened = cublasLt.create()
    operation = cublasLt.matmul_desc_create(cublas.ComputeType.COMPUTE_32F, _FLOAT32)
    names = cublasLt.MatmulDescAttribute
    for attribute, value in (
        (names.TRANSA, cublas.Operation.T),
        (names.TRANSB, cublas.Operation.N),
        (names.FAST_ACCUM, 0),
    ):
        number = np.array(value, cublasLt.get_matmul_desc_attribute_dtype(attribute))
        cublasLt.matmul_desc_set_attribute(operation, attribute, number.ctypes.data, number.nbytes)
    return Handle(opened, stream, workspace, operation)


def matmul(handle: Handle, m: int, n: int, k: int, a: int, b: int, c: int, element: str) -> None:
    """Queue C = A B at addresses: A is m x k and C is m x n, row-major; B is k x n, column-major."""
    product = handle.products.get((m, n, k))
    if product is None:
        product = _proposed(handle, m, n, k)
        product.fastest = _fastest(handle, product, a, b, c)
        handle.products[m, n, k] = product
    _queue(handle, product, product.fastest, a, b, c)


def destroy(handle: Handle) -> None:
    """Destroy the handle; no call may be running."""
    for product in handle.products.values():
        for layout in product.layouts:
            cublasLt.matrix_layout_destroy(layout)
    cublasLt.matmul_desc_destroy(handle.operation)
    cublasLt.destroy(handle.opened)


def _proposed(handle: Handle, m: int, n: int, k: int) -> Product:
    """Return the description of a product, with the algorithms that the library proposes."""
    layouts = tuple(
        cublasLt.matrix_layout_create(of_type, rows, columns, rows)
        for of_type, rows, columns in ((_FLOAT8_E4M3, k, n), (_FLOAT8_E4M3, k, m), (_BFLOAT16, n, m))
    )
    preference = cublasLt.matmul_preference_create()
    limit = cublasLt.MatmulPreferenceAttribute.MAX_WORKSPACE_BYTES
    size = np.array(WORKSPACE_BYTES, cublasLt.get_matmul_preference_attribute_dtype(limit))
    cublasLt.matmul_preference_set_attribute(preference, limit, size.ctypes.data, size.nbytes)
    proposals, count = cublasLt.MatmulHeuristicResult(ALGORITHMS), np.zeros(1, np.int32)
    try:
        cublasLt.matmul_algo_get_heuristic(
            handle.opened, handle.operation, *layouts, layouts[2], preference,
            ALGORITHMS, proposals.ptr, count.ctypes.data,
        )  # fmt: skip
    finally:
        cublasLt.matmul_preference_destroy(preference)
    of_proposal = cublasLt.matmul_heuristic_result_dtype
    first = proposals.ptr + of_proposal.fields["algo"][1]
    return Product(layouts, proposals, [first + i * of_proposal.itemsize for i in range(count[0])])


def _fastest(handle: Handle, product: Product, a: int, b: int, c: int) -> int:
    """Return the address of the fastest of the proposed algorithms."""
    shortest_ms: dict[int, float] = {}
    failure = None
    for algorithm in product.proposed:
        try:  # the first launch loads the kernel
            _queue(handle, product, algorithm, a, b, c)
            shortest_ms[algorithm] = float("inf")
        except Failure as error:
            failure = error
    if not shortest_ms:
        raise failure or RuntimeError("the library proposes no algorithm for this shape")
    begin, end = driver.Event(), driver.Event()
    for _ in range(ROUNDS):
        for algorithm in shortest_ms:
            begin.record()
            for _ in range(LAUNCHES):
                _queue(handle, product, algorithm, a, b, c)
            end.record()
            end.synchronize()
            shortest_ms[algorithm] = min(shortest_ms[algorithm], begin.time_till(end))
    return min(shortest_ms, key=shortest_ms.__getitem__)


def _queue(handle: Handle, product: Product, algorithm: int, a: int, b: int, c: int) -> None:
    alpha = _SCALARS.ctypes.data
    beta = alpha + _SCALARS.itemsize
    of_b, of_a, of_c = product.layouts
    cublasLt.matmul(
        handle.opened, handle.operation, alpha, b, of_b, a, of_a, beta, c, of_c, c, of_c,
        algorithm, handle.workspace, WORKSPACE_BYTES, handle.stream,
    )  # fmt: skip
