"""Kernels of cudamm itself on a GPU: they draw inputs, and judge the products of launches on these inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cudamm.devices.own_kernels import OwnKernels
from cudamm.devices.own_module import fresh_inputs_module
from cudamm.errors import NoDeviceError
from cudamm.kernels.error_bound import RoundingOfSums
from cudamm.kernels.method import ElementType, MatrixName
from cudamm.kernels.random_elements import normal_quantiles
from cudamm.kernels.reference_product import Matrix
from cudamm.kernels.sampled_product import SampledProduct

EDGE = 32
"""Number of rows and of columns of a block of `judge_rows`."""

MOST_JUDGED_ROWS = 65535 * EDGE
"""Maximum number of rows of a launch of `judge_rows`, whose rows are along the grid's y."""


class FreshInputs(OwnKernels):
    """The kernels of `fresh_inputs.cu` for one element type, loaded into the current context.

    A stream of random elements is given by `ElementStream.arguments`, and a matrix by its address, its row
    stride and its column stride.
    """

    def __init__(self, cuda: Any, arch: str, multiprocessors: int, element: ElementType) -> None:
        """Load the kernels. Raises NoDeviceError if they cannot be compiled or loaded."""
        super().__init__(cuda, fresh_inputs_module(element), arch, multiprocessors)
        try:
            quantiles, _ = self._module.get_global("normal_quantiles")
            cuda.memcpy_htod(quantiles, normal_quantiles())
        except cuda.Error as error:
            raise NoDeviceError(f"the GPU does not work: {error}") from None

    def draw(self, address: int, size_bytes: int, *stream: int) -> None:
        """Fill memory with a stream of random elements."""
        self._launch("draw", "PQQQii", address, size_bytes, *stream)

    def count_unlike(self, address: int, size_bytes: int, *stream: int) -> int:
        """Return how many elements in memory are not those of a stream."""
        self.cuda.memset_d32(self._results, 0, 4)
        results = int(self._results)
        self._launch("count_unlike", "PQQQiiP", address, size_bytes, *stream, results)
        return self._result(0)

    def judge_rows(
        self,
        matrices: Sequence[int],
        rows: Matrix,
        n: int,
        k: int,
        bound: float,
        rounding: RoundingOfSums,
    ) -> tuple[int, int]:
        """Return the number of wrong elements in some rows of C, and the index of the worst among them.

        Args:
            matrices: A, B and C.
            rows: the rows' numbers, int32; at most MOST_JUDGED_ROWS.
            bound: largest error of a sum over the sum of its products' sizes.
            rounding: largest error of rounding the sum to the element type.
        """
        self.cuda.memset_d32(self._results, 0, 4)
        numbers = self._copied(rows)
        try:
            function = self._function("judge_rows", "PiiPiiPiiPiiidddP")
            grid, block = (-(-n // EDGE), -(-len(rows) // EDGE)), (EDGE, EDGE, 1)
            bounds = bound, rounding.relative, rounding.least
            arguments = (*matrices, int(numbers), len(rows), n, k, *bounds, int(self._results))
            function.prepared_async_call(grid, block, None, *arguments)
            return self._result(0), self._result(1) & 0xFFFFFFFF
        finally:
            numbers.free()

    def matrix_times(
        self, name: MatrixName, matrix: Sequence[int], x: Matrix, rows: int, columns: int
    ) -> tuple[Matrix, Matrix]:
        """Return a matrix times x, and the squares of the norms of the matrix's rows.

        Args:
            name: which matrix it is; C may have elements of another type.
            x: float64, of length `columns`.
        """
        product, squares = np.empty(rows), np.empty(rows)
        memories = [self._copied(x)]
        try:
            memories += (self.cuda.mem_alloc(8 * rows) for _ in range(2))
            kernel = "result_times_vector" if name == "C" else "input_times_vector"
            function, warps = self._function(kernel, "PiiPPPii"), 8
            arguments = (*matrix, *map(int, memories), rows, columns)
            function.prepared_async_call((-(-rows // warps), 1), (32 * warps, 1, 1), None, *arguments)
            self.cuda.memcpy_dtoh(product, memories[1])
            self.cuda.memcpy_dtoh(squares, memories[2])
        finally:
            for memory in memories:
                memory.free()
        return product, squares

    def sample_product(
        self, matrices: Sequence[int], rows: Matrix, columns: Matrix, k: int
    ) -> SampledProduct:
        """Return the elements of C in some rows and columns, and the sums that they should be.

        Args:
            matrices: A, B and C.
            rows, columns: their numbers, int32.
        """
        sampled = np.empty((4, len(rows), len(columns)))
        memories: list[Any] = []
        try:
            memories += (self._copied(numbers) for numbers in (rows, columns))
            memories.append(self.cuda.mem_alloc(sampled.nbytes))
            of_rows, of_columns, results = map(int, memories)
            arguments = (*matrices, of_rows, len(rows), of_columns, len(columns), k, results)
            self._launch("sample_product", "PiiPiiPiiPiPiiP", *arguments)
            self.cuda.memcpy_dtoh(sampled, results)
        finally:
            for memory in memories:
                memory.free()
        return SampledProduct(*sampled)

    def _copied(self, array: Matrix) -> Any:
        """Return a copy of an array in device memory."""
        memory = self.cuda.mem_alloc(array.nbytes)
        self.cuda.memcpy_htod(memory, array)
        return memory
