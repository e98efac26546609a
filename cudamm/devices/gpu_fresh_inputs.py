"""Kernels of cudamm itself on a GPU: they draw inputs, and judge the products of launches on these inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cudamm.devices.own_kernels import OwnKernels
from cudamm.devices.own_module import FRESH_INPUTS
from cudamm.errors import NoDeviceError
from cudamm.kernels.error_bound import RoundingOfSums
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.random_elements import normal_quantiles
from cudamm.kernels.reference_product import Matrix

EDGE = 32
"""Number of rows and of columns of a block of `judge_rows`."""

MOST_JUDGED_ROWS = 65535 * EDGE
"""Maximum number of rows of a launch of `judge_rows`, whose rows are along the grid's y."""


class FreshInputs(OwnKernels):
    """The kernels of `fresh_inputs.cu`, loaded into the current context.

    A stream of random elements is given by `ElementStream.arguments`.
    """

    def __init__(self, cuda: Any, arch: str, multiprocessors: int) -> None:
        """Load the kernels. Raises NoDeviceError if they cannot be compiled or loaded."""
        super().__init__(cuda, FRESH_INPUTS, arch, multiprocessors)
        try:
            quantiles, _ = self._module.get_global("normal_quantiles")
            cuda.memcpy_htod(quantiles, normal_quantiles())
        except cuda.Error as error:
            raise NoDeviceError(f"the GPU does not work: {error}") from None

    def draw(self, element: str, address: int, size_bytes: int, *stream: int) -> None:
        """Fill memory with a stream of random elements."""
        self._launch(f"draw_{element}", "PQQQii", address, size_bytes, *stream)

    def count_unlike(self, element: str, address: int, size_bytes: int, *stream: int) -> int:
        """Return how many elements in memory are not those of a stream."""
        self.cuda.memset_d32(self._results, 0, 4)
        results = int(self._results)
        self._launch(f"count_unlike_{element}", "PQQQiiP", address, size_bytes, *stream, results)
        return self._result(0)

    def judge_rows(
        self,
        element: str,
        matrices: Sequence[int],
        rows: Matrix,
        n: int,
        k: int,
        bound: float,
        rounding: RoundingOfSums,
    ) -> tuple[int, int]:
        """Return the number of wrong elements in some rows of C, and the index of the worst among them.

        Args:
            matrices: address, row stride and column stride of A, of B and of C.
            rows: the rows' numbers, int32; at most MOST_JUDGED_ROWS.
            bound: largest error of a sum over the sum of its products' sizes.
            rounding: largest error of rounding the sum to the element type.
        """
        self.cuda.memset_d32(self._results, 0, 4)
        numbers = self._copied(rows)
        try:
            function = self._function(f"judge_rows_{element}", "PiiPiiPiiPiiidddP")
            grid, block = (-(-n // EDGE), -(-len(rows) // EDGE)), (EDGE, EDGE, 1)
            bounds = bound, rounding.relative, rounding.least
            arguments = (*matrices, int(numbers), len(rows), n, k, *bounds, int(self._results))
            function.prepared_async_call(grid, block, None, *arguments)
            return self._result(0), self._result(1) & 0xFFFFFFFF
        finally:
            numbers.free()

    def matrix_times(
        self, element: str, matrix: Sequence[int], x: Matrix, rows: int, columns: int
    ) -> tuple[Matrix, Matrix]:
        """Return a matrix times x, and the squares of the norms of the matrix's rows.

        Args:
            matrix: address, row stride and column stride.
            x: float64, of length `columns`.
        """
        product, squares = np.empty(rows), np.empty(rows)
        memories = [self._copied(x)]
        try:
            memories += (self.cuda.mem_alloc(8 * rows) for _ in range(2))
            function, warps = self._function(f"times_vector_{element}", "PiiPPPii"), 8
            arguments = (*matrix, *map(int, memories), rows, columns)
            function.prepared_async_call((-(-rows // warps), 1), (32 * warps, 1, 1), None, *arguments)
            self.cuda.memcpy_dtoh(product, memories[1])
            self.cuda.memcpy_dtoh(squares, memories[2])
        finally:
            for memory in memories:
                memory.free()
        return product, squares

    def gather(self, element: str, matrix: Sequence[int], rows: Matrix, columns: Matrix) -> Matrix:
        """Return the elements of some rows and some columns of a matrix.

        Args:
            matrix: address, row stride and column stride.
            rows, columns: their numbers, int32.
        """
        elements: Matrix = np.empty((len(rows), len(columns)), ELEMENT_TYPES[element].dtype)
        memories: list[Any] = []
        try:
            memories += (self._copied(numbers) for numbers in (rows, columns))
            memories.append(self.cuda.mem_alloc(elements.nbytes))
            of_rows, of_columns, copies = map(int, memories)
            arguments = (*matrix, of_rows, len(rows), of_columns, len(columns), copies)
            self._launch(f"gather_{element}", "PiiPiPiP", *arguments)
            self.cuda.memcpy_dtoh(elements, copies)
        finally:
            for memory in memories:
                memory.free()
        return elements

    def _copied(self, array: Matrix) -> Any:
        """Return a copy of an array in device memory."""
        memory = self.cuda.mem_alloc(array.nbytes)
        self.cuda.memcpy_htod(memory, array)
        return memory
