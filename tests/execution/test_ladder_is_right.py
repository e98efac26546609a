"""Every method of the ladder computes the product: all types, awkward shapes, every value worth sweeping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudamm.benchmark.result import Result
from cudamm.benchmark.verify import verify_all
from cudamm.devices.cpu_device import CpuDevice
from cudamm.devices.device import Device
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.kernels.ladder import find, ladder
from cudamm.kernels.launch_plan import unfit
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Problem, Shape, parse_shape
from cudamm.kernels.variant import Variant, variants

LADDER = [method for method in ladder() if not unfit(method, CpuDevice.limits)]
"""Those that the CPU device can run too; tests/gpu has the others."""

SHAPES = ("1x1x1", "17x31x13", "33x65x129", "100x1x50", "127x128x1", "64x64x64")
Kernel = Callable[..., Any]


def silent(doing: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def verified(device: Device[Any], cases: list[tuple[Variant, Problem]], fmad: bool) -> list[Result]:
    """Every case in one go, so that their programs are compiled side by side."""
    with InProcessExecutor(device) as here:
        results = list(verify_all(here, cases, fmad, silent))
    assert len(results) == len(cases)
    return results


def failures(results: list[Result]) -> list[str]:
    return [
        f"{r.method} {r.params} {r.m}x{r.n}x{r.k} {r.dtype} fmad={r.fmad}: {r.status} {r.reason}"
        for r in results
        if r.status != "ok" or r.verdict.correct is not True
    ]


@pytest.mark.parametrize("method", LADDER, ids=lambda m: m.name)
def test_every_type_and_shape(device: Device[Any], method: Method) -> None:
    (variant,) = variants(method, {"BLOCK_SIZE": (16,)})
    problems = [Problem(parse_shape(s), ELEMENT_TYPES[t]) for s in SHAPES for t in method.element_types]
    results = verified(device, [(variant, problem) for problem in problems], fmad=False)
    assert failures(results) == []
    for result in results:
        # Only where a sum's order says what its bits are can they be asked for; whole numbers always can.
        exact = result.dtype == "int32" or method.sums_in_k_order
        assert result.verdict.bit_equal is (True if exact else None)
        assert result.fmad is False
        if result.dtype == "int32":
            assert result.verdict.max_error == 0


@pytest.mark.parametrize("method", LADDER, ids=lambda m: m.name)
def test_fused_multiply_add(device: Device[Any], method: Method) -> None:
    (variant,) = variants(method, {"BLOCK_SIZE": (16,)})
    cases = [(variant, Problem(parse_shape(s), ELEMENT_TYPES["float32"])) for s in SHAPES]
    results = verified(device, cases, fmad=True)
    assert failures(results) == []
    assert {r.verdict.bit_equal for r in results} == {None}


@pytest.mark.parametrize("method", [m for m in LADDER if m.parameters], ids=lambda m: m.name)
def test_values_worth_sweeping(
    cpu: Device[Any], method: Method, worth_sweeping: Callable[[Method], list[Variant]]
) -> None:
    """Of block sizes alone the default, the smallest and the largest: tests/gpu runs all of them."""
    problem = Problem(Shape(21, 34, 19), ELEMENT_TYPES["float32"])
    chosen = worth_sweeping(method)[: 3 if len(method.parameters) == 1 else None]
    cases = [(variant, problem) for variant in chosen]
    assert failures(verified(cpu, cases, fmad=True)) == []


@pytest.mark.parametrize(
    ("method", "dtype"),
    [(m, t) for m in LADDER for t in m.element_types],
    ids=lambda of: getattr(of, "name", of),
)
def test_the_product_is_numpys(device: Device[Any], method: Method, dtype: str) -> None:
    """Looked at directly, not through what verifies everything else."""
    (variant,) = variants(method, {"BLOCK_SIZE": (16,)})
    problem = Problem(Shape(17, 31, 13), ELEMENT_TYPES[dtype], seed=9)
    with InProcessExecutor(device) as here:
        (case,) = prepare(here, [(variant, problem)], False, silent)
        with here.open(case) as run:
            run.fill_output()
            run.launch()
            product = run.product()[:17, :31].astype(np.float64)
    a, b = (x.astype(np.float64) for x in problem.inputs)
    expected = np.array([[sum(a[i, k] * b[k, j] for k in range(13)) for j in range(31)] for i in range(17)])
    if dtype == "int32":
        assert np.array_equal(product, expected)
    else:
        unit = {"float32": 2.0**-24, "float64": 2.0**-53}[dtype]
        assert np.abs(product - expected).max() < 30 * unit * (np.abs(a) @ np.abs(b)).max()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("tiled", {"BLOCK_SIZE": 3}),
        ("tiled-bounds", {"BLOCK_SIZE": 5}),
        ("double-buffer", {"BLOCK_SIZE": 7}),
        ("tiled-dynamic", {"BLOCK_SIZE": 6}),
        ("tiled-padded", {"BLOCK_SIZE": 5, "PAD": 2}),
        ("tiled-coarse", {"BLOCK_SIZE": 3, "COARSE": 3}),
        ("register-tile", {"BLOCK_SIZE": 3, "TILE_SIZE": 5}),
        ("block-coarse-local", {"BLOCK_SIZE": 3}),
        ("tile-1d", {"BM": 21, "BN": 13, "BK": 5, "TM": 3}),
        ("tile-2d", {"BM": 15, "BN": 28, "BK": 3, "TM": 5, "TN": 7}),
        ("vectorized", {"BM": 24, "BN": 40, "BK": 12, "TM": 12, "TN": 8}),
        ("warp-tile", {"BM": 48, "BN": 64, "BK": 4, "WM": 48, "WN": 32, "TM": 12, "TN": 4}),
        ("naive", {"BLOCK_SIZE": 7}),
        ("cpu-block", {"BLOCK_SIZE": 7}),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_any_shape_at_odd_block_sizes(cpu: Device[Any], name: str, values: dict[str, int]) -> None:
    (variant,) = variants(find(name), {key: (value,) for key, value in values.items()})

    @settings(max_examples=8, deadline=None, derandomize=True, database=None)
    @given(
        m=st.integers(1, 70),
        n=st.integers(1, 70),
        k=st.integers(1, 70),
        seed=st.integers(0, 1000),
    )
    def check(m: int, n: int, k: int, seed: int) -> None:
        problem = Problem(Shape(m, n, k), ELEMENT_TYPES["float32"], seed)
        (result,) = verified(cpu, [(variant, problem)], fmad=False)
        assert failures([result]) == []
        assert result.verdict.bit_equal is (True if variant.method.sums_in_k_order else None)
        padded = variant.padded(problem.element, m, n, k) != (m, n, k)
        assert result.padded is padded

    check()


def test_results_do_not_depend_on_the_number_of_workers(cpu: Device[Any], open_run: Kernel) -> None:
    """Blocks run on all cores at once; each element is one block's own."""
    products = []
    for _ in range(5):
        with open_run(cpu, "tiled", "40x40x40", BLOCK_SIZE=4) as run:
            run.launch()
            products.append(run.product().tobytes())
    assert len(set(products)) == 1
