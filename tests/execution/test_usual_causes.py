"""A wrong product is named by the mistake that explains it. NumPy computes each here, without a compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cudamm.devices.cpu_device import _FunctionRun
from cudamm.execution.judge import verify
from cudamm.kernels.header import read_method
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Matrix, Problem, Shape, parse_shape
from cudamm.kernels.variant import Variant, variants

Compute = Callable[[Matrix, Matrix, Matrix], Any]


@pytest.fixture(scope="module")
def variant(tmp_path_factory: pytest.TempPathFactory) -> Variant:
    path = tmp_path_factory.mktemp("kernels") / "mine.cu"
    path.write_text("// threads: 8, 8\n// grid: ceil(N/8), ceil(M/8)\n__global__ void k(float *C) {}\n")
    return variants(read_method(path), {})[0]


@pytest.fixture
def cause(variant: Variant) -> Callable[..., str]:
    """Return a function that judges what a function computes, and returns the cause that is named."""

    def cause(
        compute: Compute, size: str = "12x20x9", dtype: str = "float32", grid: tuple[int, int] | None = None
    ) -> str:
        shape = parse_shape(size)
        problem = Problem(shape, ELEMENT_TYPES[dtype])
        run = _FunctionRun(compute, launch_of(shape, grid), problem.element, *problem.inputs)
        verdict = verify(run, problem, variant, fmad=True, thread_order=False)
        assert verdict.correct is False
        assert verdict.reason.startswith(verdict.cause)
        return verdict.cause

    return cause


def launch_of(shape: Shape, grid: tuple[int, int] | None) -> Launch:
    blocks = grid or (-(-shape.n // 8), -(-shape.m // 8))
    return Launch(shape, (8, 8, 1), (*blocks, 1), 0, (), ())


def flat(matrix: Matrix, rows: int, columns: int, steps: tuple[int, int]) -> Matrix:
    """Return elements of a matrix as a kernel reads them with its own arithmetic; NaN beyond the end."""
    index = np.arange(rows)[:, None] * steps[0] + np.arange(columns)[None, :] * steps[1]
    beyond = np.append(matrix.reshape(-1).astype(np.float64), np.nan)
    return beyond[np.minimum(index, matrix.size)]


def setting(product: Callable[[Matrix, Matrix], Matrix]) -> Compute:
    def compute(a: Matrix, b: Matrix, c: Matrix) -> None:
        c[:] = product(a.astype(np.float64), b.astype(np.float64))

    return compute


M, N, K = 12, 20, 9
WRONG: dict[str, tuple[str, Compute]] = {
    "B column-major": (
        "B is read as if it were column-major: B[col * K + k] instead of B[k * N + col] "
        "(if B is meant to be column-major: --layout B=column)",
        setting(lambda a, b: a @ flat(b, K, N, (1, K))),
    ),
    "A column-major": (
        "A is read as if it were column-major: A[k * M + row] instead of A[row * K + k] "
        "(if A is meant to be column-major: --layout A=column)",
        setting(lambda a, b: flat(a, M, K, (1, M)) @ b),
    ),
    "length of B's rows": (
        "B is read with the wrong row length: B[k * M + col] instead of B[k * N + col]",
        setting(lambda a, b: a @ flat(b, K, N, (M, 1))),
    ),
    "all column-major": (
        "A, B and C are taken as if they were column-major "
        "(if they are meant to be column-major: --layout A=column,B=column,C=column)",
        setting(
            lambda a, b: (flat(a, M, K, (1, M)) @ flat(b, K, N, (1, K))).reshape(-1, order="F").reshape(M, N)
        ),
    ),
    "tiles of B": (
        "each tile of B, 8 x 8, is transposed: its two indices are swapped where the kernel "
        "stores or reads it",
        setting(lambda a, b: np.pad(a, ((0, 0), (0, 7))) @ in_tiles(b)[:, :N]),
    ),
    "last terms": (
        "the sums end too early: the last term is missing, k = 8",
        setting(lambda a, b: a[:, :8] @ b[:8]),
    ),
    "first terms": (
        "C holds only the terms from k = 4 on, and K is 9",
        setting(lambda a, b: a[:, 4:] @ b[4:]),
    ),
    "last term only": (
        "C holds only the last term of each sum, k = 8",
        setting(lambda a, b: a[:, 8:] @ b[8:]),
    ),
    "twice": ("C is 2 times the product", setting(lambda a, b: 2 * (a @ b))),
    "negative": ("C is -0.75 times the product", setting(lambda a, b: -0.75 * (a @ b))),
    "whole": (
        "every element of C is a whole number: the kernel sums or stores in a variable of a whole-number "
        "type",
        setting(lambda a, b: np.trunc(a @ b)),
    ),
    "half": (
        "A and B are rounded to half precision before they are multiplied",
        setting(lambda a, b: a.astype(np.float16).astype(float) @ b.astype(np.float16).astype(float)),
    ),
}


def in_tiles(b: Matrix) -> Matrix:
    """Return B, padded with zeros to whole 8 x 8 tiles, each tile transposed."""
    padded = np.pad(b, ((0, 7), (0, 4)))
    for row in range(0, 16, 8):
        for column in range(0, 24, 8):
            padded[row : row + 8, column : column + 8] = padded[row : row + 8, column : column + 8].T.copy()
    return padded


@pytest.mark.parametrize("mistake", WRONG)
def test_the_mistake_that_explains_every_element_is_named(cause: Callable[..., str], mistake: str) -> None:
    sentence, compute = WRONG[mistake]
    assert cause(compute) == sentence


@pytest.mark.parametrize("mistake", WRONG)
def test_one_element_that_a_mistake_does_not_explain_is_enough_to_name_none(
    cause: Callable[..., str], mistake: str
) -> None:
    def compute(a: Matrix, b: Matrix, c: Matrix) -> None:
        WRONG[mistake][1](a, b, c)
        c[7, 11] += 0.125

    assert cause(compute) == ""


def test_whole_numbers_are_compared_exactly(cause: Callable[..., str]) -> None:
    transposed = setting(lambda a, b: a @ flat(b, K, N, (1, K)))
    assert cause(transposed, dtype="int32").startswith("B is read as if it were column-major")
    assert cause(setting(lambda a, b: 3 * (a @ b)), dtype="int32") == "C is 3 times the product"


def test_a_float_in_a_float64_kernel_is_named(cause: Callable[..., str]) -> None:
    rounded = setting(lambda a, b: (a @ b).astype(np.float32))
    assert cause(rounded, dtype="float64").startswith("C has the precision of float32, and not of float64")


def test_swapped_arguments_are_named(cause: Callable[..., str]) -> None:
    assert cause(setting(lambda a, b: b @ a), "16x16x16").startswith("A and B are swapped: C is B·A (if")

    def other_sizes(a: Matrix, b: Matrix, c: Matrix) -> None:
        """Compute a product of M, K and N in the place of M, N and K, as far as it lies in C."""
        c.reshape(-1)[: M * K] = (flat(a, M, N, (N, 1)) @ flat(b, N, K, (K, 1))).reshape(-1)

    assert cause(other_sizes) == (
        "the sizes are passed in another order: the kernel gets K for N and N for K"
    )


def partly(rows: slice, columns: slice) -> Compute:
    def compute(a: Matrix, b: Matrix, c: Matrix) -> None:
        c[rows, columns] = (a.astype(np.float64) @ b)[rows, columns]

    return compute


@pytest.mark.parametrize(
    ("grid", "written", "words"),
    [
        ((2, 3), (12, 16), ["2 x 3 blocks cover 12 x 16 elements of C, which has 12 x 20"]),
        ((2, 2), (12, 16), ["2 x 2 blocks cover 12 x 16 elements of C, which has 12 x 20"]),
        ((2, 1), (8, 16), ["2 x 1 blocks cover 8 x 16 elements of C, which has 12 x 20"]),
        ((1, 1), (8, 8), ["1 x 1 blocks cover 8 x 8 elements of C, which has 12 x 20"]),
    ],
)
def test_a_part_that_no_block_covers_is_named(
    cause: Callable[..., str], grid: tuple[int, int], written: tuple[int, int], words: list[str]
) -> None:
    found = cause(partly(slice(written[0]), slice(written[1])), grid=grid)
    assert all(word in found for word in words), found
    assert "swapped" not in found  # no launch has shown it


def test_a_strict_bounds_check_is_not_supposed_without_evidence(cause: Callable[..., str]) -> None:
    assert cause(partly(slice(12), slice(19)), grid=(3, 2)) == ""


def test_the_part_of_each_tile_that_is_written_is_named(cause: Callable[..., str]) -> None:
    def compute(a: Matrix, b: Matrix, c: Matrix) -> None:
        product = a.astype(np.float64) @ b
        for i in range(0, 32, 16):
            for j in range(0, 48, 16):
                c[i : i + 8, j : j + 8] = product[i : i + 8, j : j + 8]

    assert cause(compute, "32x48x9", grid=(3, 2)) == (
        "of each 16 x 16 elements of C only 8 x 8 are written, with blocks of 8 x 8 threads"
    )


def test_vectors_show_too_little_to_name_a_mistake(cause: Callable[..., str]) -> None:
    assert cause(setting(lambda a, b: 2 * (a @ b)), "12x1x9") == ""


def test_a_right_product_beside_damaged_memory_has_no_wrong_precision(cause: Callable[..., str]) -> None:
    def compute(a: Matrix, b: Matrix, c: Matrix) -> None:
        c[:] = a @ b
        np.lib.stride_tricks.as_strided(c, (c.size + 1,), (c.itemsize,))[-1] = 0  # the element past C's end

    assert cause(compute, dtype="float64") == ""


def test_the_place_of_wrong_elements_is_described(variant: Variant) -> None:
    problem = Problem(Shape(12, 20, 9), ELEMENT_TYPES["float32"])

    def reason(rows: slice, columns: slice, by: float) -> str:
        def compute(a: Matrix, b: Matrix, c: Matrix) -> None:
            c[:] = a.astype(np.float64) @ b
            c[rows, columns] += by

        run = _FunctionRun(compute, launch_of(problem.shape, None), problem.element, *problem.inputs)
        return verify(run, problem, variant, fmad=True, thread_order=False).reason

    assert "first C[8][0], all in rows 8 to 11: expected" in reason(slice(8, 12), slice(0, 20), 1)
    assert "first C[8][3], all in rows 8 to 9 and column 3: exp" in reason(slice(8, 10), slice(3, 4), 1)
    assert "all in" not in reason(slice(0, 12), slice(0, 20), 1)
    assert ", which the kernel computed itself" in reason(slice(8, 12), slice(0, 20), np.nan)
