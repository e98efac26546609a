"""Sums of 8-bit products on the tensor cores that benchmarks/float8_errors.py emulates, and their bound."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cudamm.execution.precision import yardstick_of
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape

ROOT = Path(__file__).resolve().parents[1]
FLOAT8 = ELEMENT_TYPES["float8_e4m3"]


@pytest.fixture(scope="module")
def emulated() -> ModuleType:
    path = ROOT / "benchmarks" / "float8_errors.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problem_of(k: int, kind: str, edge: int = 48) -> Problem:
    return Problem(Shape(edge, edge, k), FLOAT8, 7, input_kind=kind)  # type: ignore[arg-type]


def product(emulated: ModuleType, problem: Problem, longest: int) -> np.ndarray:
    a, b = (matrix.astype(np.float64) for matrix in problem.inputs)
    return emulated.on_tensor_cores(a, b, longest).astype(FLOAT8.of_results.dtype)


@pytest.mark.parametrize("kind", ["normal", "uniform"])
@pytest.mark.parametrize("k", [1, 5, 16, 33, 64, 128, 160, 1024, 4096])
def test_sums_of_128_products_pass_the_bound_and_the_yardstick(
    emulated: ModuleType, k: int, kind: str
) -> None:
    problem = problem_of(k, kind)
    found = product(emulated, problem, 128)
    assert (np.abs(found.astype(np.float64) - problem.reference[0]) <= problem.error_bound).all()
    yardstick = yardstick_of(*problem.inputs, *problem.reference, FLOAT8.name)
    assert yardstick is not None
    precision = yardstick.precision_of(found)
    assert precision is not None and not precision.is_lower and precision.ratio < 1.15


def test_without_the_part_for_short_sums_the_bound_would_be_too_small(emulated: ModuleType) -> None:
    problem = problem_of(64, "normal", 128)
    error = np.abs(product(emulated, problem, 128).astype(np.float64) - problem.reference[0])
    norms = np.outer(
        *(np.linalg.norm(x.astype(np.float64), axis=i) for x, i in zip(problem.inputs, (1, 0), strict=True))
    )
    assert (error > problem.error_bound - 2.0**-10 * norms).any()


@pytest.mark.parametrize("k", [64, 4096, 65536])
def test_whole_numbers_are_exact_in_sums_of_128_products(emulated: ModuleType, k: int) -> None:
    problem = problem_of(k, "integers", 12)
    assert problem.partial_sum_error == 0
    assert (product(emulated, problem, 128).astype(np.float64) == problem.reference[0]).all()


def test_one_long_sum_is_reported(emulated: ModuleType) -> None:
    problem = problem_of(16384, "normal", 20)
    yardstick = yardstick_of(*problem.inputs, *problem.reference, FLOAT8.name)
    precision = yardstick.precision_of(product(emulated, problem, 0)) if yardstick else None
    assert precision is not None and precision.is_lower


def test_the_emulation_cuts_what_lies_13_bits_below_the_largest_exponent(emulated: ModuleType) -> None:
    """Values by hand: the largest product is 2 · 2, so the unit is 2² · 2⁻¹³; 2⁻⁶ · 2⁻⁶ is half a unit."""
    unit = 2.0**-11
    a = np.full((1, 32), 2.0**-6)
    a[0, 0] = 2.0
    assert emulated.on_tensor_cores(a, a.T, 128)[0, 0] == 4.0
    a[0, 1] = 2.0**-5  # its square is two units
    assert emulated.on_tensor_cores(a, a.T, 128)[0, 0] == 4.0 + 2 * unit
    a[0, 1] = 1.5 * 2.0**-5  # four and a half
    assert emulated.on_tensor_cores(a, a.T, 128)[0, 0] == 4.0 + 4 * unit


def test_the_table_in_the_documentation_has_the_largest_ratio_and_error_that_the_text_states() -> None:
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8").split("\n### float8_e4m3\n")[1]
    text = text.split("\n### ")[0]
    rows = {
        (kernel, what): [float(cell.strip(" %")) for cell in cells.split("|")]
        for kernel, what, cells in re.findall(
            r"^\| normal \| ([\w ]+) \| (ratio|error) \|(.*)\|$", text, re.M
        )
    }
    assert max(rows["sums of 128 products", "ratio"]) <= 1.06
    assert max(rows["sums of 128 products", "error"]) <= 1.5
    assert [ratio > 1.75 for ratio in rows["one sum", "ratio"]] == [False] * 7 + [True] * 2
