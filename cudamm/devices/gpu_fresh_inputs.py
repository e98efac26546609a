"""Kernels of cudamm itself on a GPU: they draw inputs, and judge the products of launches on these inputs."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
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

KEPT_BYTES = 2**20
"""Device memory for what a kernel reads and writes besides matrices, in bytes; larger ones are allocated."""

ALIGNED_BYTES = 256
"""Alignment of these memories, in bytes."""


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
            self._kept = cuda.mem_alloc(KEPT_BYTES)
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
        with self._scratch(rows.nbytes) as (numbers,):
            self.cuda.memcpy_htod(numbers, rows)
            function = self._function("judge_rows", "PiiPiiPiiPiiidddP")
            grid, block = (-(-n // EDGE), -(-len(rows) // EDGE)), (EDGE, EDGE, 1)
            bounds = bound, rounding.relative, rounding.least
            arguments = (*matrices, numbers, len(rows), n, k, *bounds, int(self._results))
            function.prepared_async_call(grid, block, None, *arguments)
            return self._result(0), self._result(1) & 0xFFFFFFFF

    def matrix_times(
        self, name: MatrixName, matrix: Sequence[int], x: Matrix, rows: int, columns: int
    ) -> tuple[Matrix, Matrix]:
        """Return a matrix times x, and the squares of the norms of the matrix's rows.

        Args:
            name: which matrix it is; C may have elements of another type.
            x: float64, of length `columns`.
        """
        product, squares = np.empty(rows), np.empty(rows)
        with self._scratch(x.nbytes, product.nbytes, squares.nbytes) as memories:
            self.cuda.memcpy_htod(memories[0], x)
            kernel = "result_times_vector" if name == "C" else "input_times_vector"
            function, warps = self._function(kernel, "PiiPPPii"), 8
            arguments = (*matrix, *memories, rows, columns)
            function.prepared_async_call((-(-rows // warps), 1), (32 * warps, 1, 1), None, *arguments)
            self.cuda.memcpy_dtoh(product, memories[1])
            self.cuda.memcpy_dtoh(squares, memories[2])
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
        with self._scratch(rows.nbytes, columns.nbytes, sampled.nbytes) as (of_rows, of_columns, results):
            self.cuda.memcpy_htod(of_rows, rows)
            self.cuda.memcpy_htod(of_columns, columns)
            arguments = (*matrices, of_rows, len(rows), of_columns, len(columns), k, results)
            self._launch("sample_product", "PiiPiiPiiPiPiiP", *arguments)
            self.cuda.memcpy_dtoh(sampled, results)
        return SampledProduct(*sampled)

    @contextlib.contextmanager
    def _scratch(self, *sizes_bytes: int) -> Iterator[list[int]]:
        """Yield the addresses of memories of these sizes: parts of the memory that is kept, if it suffices.

        Allocating and freeing takes the driver some tenths of a millisecond, longer than most kernels here.
        """
        ends = list(itertools.accumulate(-(-size // ALIGNED_BYTES) * ALIGNED_BYTES for size in sizes_bytes))
        is_small = ends[-1] <= KEPT_BYTES
        memory = self._kept if is_small else self.cuda.mem_alloc(ends[-1])
        try:
            yield [int(memory) + begin for begin in (0, *ends[:-1])]
        finally:
            if not is_small:
                memory.free()

    def close(self) -> None:
        """Free what was allocated in device memory."""
        super().close()
        self._kept.free()
