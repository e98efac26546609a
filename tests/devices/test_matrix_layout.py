"""The order of a matrix's elements in memory, and in a run's memory with its guards."""

from __future__ import annotations

import numpy as np
import pytest

from cudamm.devices.device import GUARD_BYTES, Region, Run, guarded
from cudamm.errors import KernelError
from cudamm.kernels.launch_plan import Launch, MatrixName
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Matrix, Shape


@pytest.mark.parametrize("by_column", [False, True])
def test_each_element_is_where_element_at_says(by_column: bool) -> None:
    layout = MatrixLayout(3, 5, by_column)
    matrix = np.arange(15, dtype=np.float32).reshape(3, 5)
    memory = layout.memory_of(layout.stored(matrix))
    assert memory.flags.c_contiguous and memory.shape == (15,)
    for index, element in enumerate(memory):
        assert matrix[layout.element_at(index)] == element
    assert np.array_equal(layout.matrix_in(memory), matrix)
    assert np.shares_memory(layout.matrix_in(memory), memory)
    assert layout.leading == (3 if by_column else 5)
    assert layout.element_at(15) == ((0, 5) if by_column else (3, 0))  # past the end


def test_a_matrix_in_its_order_is_not_copied() -> None:
    matrix = np.zeros((3, 5))
    assert MatrixLayout(3, 5).stored(matrix) is matrix
    assert MatrixLayout(3, 5, by_column=True).stored(matrix.T.copy().T).base is not None


class MemoryRun(Run):
    """A run without a kernel: tests write into its memory."""

    def __init__(self, column_major: tuple[MatrixName, ...]) -> None:
        launch = Launch(Shape(2, 3, 4), (1, 1, 1), (1, 1, 1), 0, (), (), column_major)
        a, b = np.arange(8, dtype=np.float32).reshape(2, 4), np.arange(12, dtype=np.float32).reshape(4, 3)
        super().__init__(launch, ELEMENT_TYPES["float32"], a, b)
        self.regions = {name: guarded(name, matrix) for name, matrix in self.matrices.items()}
        self.load(a, b)

    def elements(self, name: MatrixName) -> Matrix:
        """Return the elements of a matrix, and those behind it, as they lie in memory."""
        return self.regions[name][GUARD_BYTES:].view(np.float32)

    def _place(self, name: MatrixName, elements: Matrix) -> None:
        self.elements(name)[: elements.size] = elements

    def region(self, name: MatrixName) -> Region:
        return self.regions[name]

    def launch(self, descending: bool = False) -> float:
        return 0.0

    def fill_output(self, word: np.uint32 | None = None) -> None: ...

    def close(self) -> None: ...


def test_matrices_lie_in_the_runs_memory_by_column() -> None:
    run = MemoryRun(("A", "C"))
    assert [*run.elements("A")[:8]] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert [*run.elements("B")[:4]] == [0, 1, 2, 3]
    run.load_output(np.array([[1, 2, 3]], np.float32))  # padded to 2 x 3
    assert [*run.elements("C")[:6]] == [1, 0, 2, 0, 3, 0]
    assert run.product().tolist() == [[1, 2, 3], [0, 0, 0]]
    run.check_memory()


@pytest.mark.parametrize(
    ("column_major", "name", "index", "message"),
    [
        ((), "C", 7, r"beyond its 2 x 3, the first where C\[2\]\[1\] would be"),
        (("C",), "C", 7, r"beyond its 2 x 3, the first where C\[1\]\[3\] would be"),
        ((), "A", 3, r"wrote into the input A, first at A\[0\]\[3\]"),
        (("A",), "A", 3, r"wrote into the input A, first at A\[1\]\[1\]"),
    ],
)
def test_damage_is_named_by_the_row_and_column(
    column_major: tuple[MatrixName, ...], name: MatrixName, index: int, message: str
) -> None:
    run = MemoryRun(column_major)
    run.elements(name)[index] = 99
    with pytest.raises(KernelError, match=message):
        run.check_memory()
