"""Every method of the ladder computes the product: all types, awkward shapes and block sizes.

tests/gpu does the same on a GPU, with every value of each header.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from some_methods import one_type_long_others

from cudamm.benchmark.result import Result
from cudamm.benchmark.verify import verify_all
from cudamm.devices.cpu_device import CpuDevice
from cudamm.devices.device import Device
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.kernels.ladder import ladder
from cudamm.kernels.launch_plan import unsupported_reason
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Problem, Shape, parse_shape
from cudamm.kernels.variant import Variant, variants

LADDER = [method for method in ladder() if not unsupported_reason(method, CpuDevice.limits)]
"""Methods that the CPU device can run. tests/gpu tests the others."""

SHAPES = ("33x65x129", "100x1x50", "127x128x1", "64x64x64")
Kernel = Callable[..., Any]


def silent(doing: str, done: int, total: int) -> None:
    """Ignore the progress."""


def verified(device: Device[Any], cases: list[tuple[Variant, Problem]], fmad: bool) -> list[Result]:
    """Verify all cases in one call, so that their programs are compiled in parallel."""
    with InProcessExecutor(device) as executor:
        results = list(verify_all(executor, cases, fmad, silent))
    assert len(results) == len(cases)
    return results


def failures(results: list[Result]) -> list[str]:
    return [
        f"{r.method} {r.params} {r.m}x{r.n}x{r.k} {r.dtype} fmad={r.fmad}: {r.status} {r.reason}"
        for r in results
        if r.status != "ok" or r.verdict.correct is not True
    ]


ODD_VALUES: dict[str, dict[str, int]] = {
    "cpu-simple": {},
    "numpy": {},
    "cpu-block": {"BLOCK_SIZE": 7},
    "naive": {"BLOCK_SIZE": 7},
    "coalesced": {"BLOCK_SIZE": 7},
    "block-coarse": {"BLOCK_SIZE": 3},
    "block-coarse-local": {"BLOCK_SIZE": 3},
    "register-tile": {"BLOCK_SIZE": 3, "TILE_SIZE": 5},
    "tiled": {"BLOCK_SIZE": 3},
    "tiled-transposed": {"BLOCK_SIZE": 5},
    "tiled-padded": {"BLOCK_SIZE": 5, "PAD": 2},
    "tiled-bounds": {"BLOCK_SIZE": 5},
    "tiled-dynamic": {"BLOCK_SIZE": 6},
    "tiled-coarse": {"BLOCK_SIZE": 3, "COARSE": 3},
    "double-buffer": {"BLOCK_SIZE": 7},
    "shared-double-buffer": {"BLOCK_SIZE": 7},
    "tile-1d": {"BM": 21, "BN": 13, "BK": 5, "TM": 3},
    "tile-2d": {"BM": 15, "BN": 28, "BK": 3, "TM": 5, "TN": 7},
    "vectorized": {"BM": 24, "BN": 40, "BK": 24, "TM": 8, "TN": 8},
    "warp-tile": {"BM": 96, "BN": 64, "BK": 8, "WM": 32, "WN": 64, "TM": 8, "TN": 8},
    "row-tile": {"BM": 96, "BN": 64, "BK": 24, "WM": 32, "WN": 64, "TM": 8, "TN": 8},
    "async-ring": {"BM": 64, "BN": 32, "BK": 16, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 3},
    "fragment-prefetch": {"BM": 64, "BN": 32, "BK": 16, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 3},
    "lean-loop": {"BM": 64, "BN": 32, "BK": 16, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 3},
    "async-copy": {"BM": 64, "BN": 32, "BK": 16, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 3},
    "sliced-k": {
        "BM": 32, "BN": 64, "BK": 16, "WM": 32, "WN": 16, "TM": 4, "TN": 4, "SPLITS": 3, "STAGES": 3,
    },
    "stream-k": {
        "BM": 64, "BN": 32, "BK": 16, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 3, "BLOCKS": 7,
    },
    "wmma": {"WARPS": 3},
    "mma": {"BM": 96, "BN": 64, "BK": 16, "WM": 48, "WN": 32, "STAGES": 4},
    "dmma": {"BM": 48, "BN": 40, "BK": 24, "WM": 16, "WN": 40, "STAGES": 2},
    "dmma-pipelined": {"BM": 64, "BN": 64, "BK": 32, "WM": 32, "WN": 16, "STAGES": 2},
    "mma-tf32": {"BM": 96, "BN": 64, "BK": 8, "WM": 48, "WN": 32, "STAGES": 3, "ROUND": 0},
}  # fmt: skip
"""Parameters of each method, other than its defaults. Most values do not occur in the method's header."""


def odd_variant(method: Method) -> Variant:
    (variant,) = variants(method, {name: (value,) for name, value in ODD_VALUES[method.name].items()})
    return variant


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("method", "dtype"), one_type_long_others(LADDER))
def test_the_product_is_correct_for_every_type_at_odd_block_sizes(
    cpu: Device[Any], method: Method, dtype: str
) -> None:
    variant = odd_variant(method)
    shapes = [parse_shape(shape) for shape in ("1x1x1", "17x31x13", "33x65x70")]
    problems = [Problem(s, ELEMENT_TYPES[dtype], seed) for seed, s in enumerate(shapes)]
    results = verified(cpu, [(variant, problem) for problem in problems], fmad=False)
    assert failures(results) == []
    for result in results:
        # Bits are compared only if the header declares the order of the sum, or if the type is int32.
        exact = dtype == "int32" or method.sums_in_k_order
        assert result.verdict.bit_equal is (True if exact else None)
        assert result.fmad is False
        if dtype == "int32":
            assert result.verdict.max_error == 0
        shape = (result.m, result.n, result.k)
        assert result.padded is (variant.padded(ELEMENT_TYPES[dtype], *shape) != shape)


@pytest.mark.sampled(6, first=2)  # other methods than those of the test above
@pytest.mark.parametrize("method", LADDER, ids=lambda m: m.name)
def test_the_product_is_correct_for_every_shape_with_fused_multiply_add(
    cpu: Device[Any], method: Method
) -> None:
    (default,) = variants(method, {})
    element = ELEMENT_TYPES[method.element_types[0]]
    cases = [(default, Problem(parse_shape(s), element)) for s in SHAPES]
    results = verified(cpu, cases, fmad=True)
    assert failures(results) == []
    assert {r.verdict.bit_equal for r in results} == {None}


@pytest.mark.long
@pytest.mark.parametrize(("method", "dtype"), one_type_long_others(LADDER))
def test_the_product_agrees_with_a_plain_sum(device: Device[Any], method: Method, dtype: str) -> None:
    """This test reads the product itself, without cudamm's own verification."""
    # On the CPU device, the test of types has compiled the variant.
    variant = odd_variant(method) if device.info.kind == "cpu" else variants(method, {})[0]
    problem = Problem(Shape(17, 31, 13), ELEMENT_TYPES[dtype], seed=9)
    with InProcessExecutor(device) as executor:
        (case,) = prepare(executor, [(variant, problem)], False, silent, verified=True)
        with executor.open(case) as run:
            run.fill_output()
            run.launch()
            product = run.product()[:17, :31].astype(np.float64)
    a, b = (x.astype(np.float64) for x in problem.inputs)
    expected = np.array([[sum(a[i, k] * b[k, j] for k in range(13)) for j in range(31)] for i in range(17)])
    if dtype == "int32":
        assert np.array_equal(product, expected)
    else:
        unit = {"float64": 2.0**-53, "tf32": 2.0**-24 + 2.0**-9 / 30}.get(dtype, 2.0**-24)
        of_rounding = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float8_e4m3": 2.0**-8}.get(
            dtype, 0
        ) * np.abs(expected)
        assert (np.abs(product - expected) < of_rounding + 30 * unit * (np.abs(a) @ np.abs(b)).max()).all()


def test_results_do_not_depend_on_the_order_of_blocks(cpu: Device[Any], open_run: Kernel) -> None:
    """Blocks run on all cores in parallel. Each element of C belongs to one block."""
    products = []
    for _ in range(5):
        with open_run(cpu, "tiled", "40x40x40", BLOCK_SIZE=8) as run:
            run.launch()
            products.append(run.product().tobytes())
    assert len(set(products)) == 1
