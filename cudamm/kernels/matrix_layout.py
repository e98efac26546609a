"""The order of a matrix's elements in memory: row by row, or column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cudamm.kernels.reference_product import Matrix


@dataclass(frozen=True)
class MatrixLayout:
    """The extents of a matrix, and the order of its elements in memory.

    Attributes:
        by_column: whether the elements of a column follow each other, and not those of a row.
    """

    rows: int
    columns: int
    by_column: bool = False

    @property
    def leading(self) -> int:
        """Return the number of elements from one row, or one column if `by_column`, to the next."""
        return self.rows if self.by_column else self.columns

    @property
    def lines(self) -> int:
        """Return the number of rows, or of columns if `by_column`, that follow each other in memory."""
        return self.columns if self.by_column else self.rows

    def element_at(self, index: int) -> tuple[int, int]:
        """Return the row and the column of the element with an index in memory.

        An index past the end belongs to a row, or a column, that the matrix does not have.
        """
        major, minor = divmod(index, self.leading)
        return (minor, major) if self.by_column else (major, minor)

    def stored(self, matrix: Matrix) -> Matrix:
        """Return a matrix whose elements lie in this order; the matrix itself if they do already."""
        return np.asfortranarray(matrix) if self.by_column else np.ascontiguousarray(matrix)

    def memory_of(self, matrix: Matrix) -> Matrix:
        """Return the elements of a matrix from `stored`, in their order in memory, without a copy."""
        return matrix.reshape(-1, order=self._order)

    def matrix_in(self, memory: Matrix) -> Matrix:
        """Return the matrix whose elements are in memory, without a copy."""
        return memory.reshape((self.rows, self.columns), order=self._order)

    @property
    def _order(self) -> Literal["C", "F"]:
        return "F" if self.by_column else "C"
