"""The rungs that copy ahead into a ring, on a GPU: all their parameters, races, and stream-k's counters.

`test_on_gpu.py` has every method on small shapes. Here tiles are more than stages, rows are copied 16 bytes
at a time, and blocks of stream-k and bf16x9 share tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

from cudamm.benchmark.verify import verify_all
from cudamm.compile.program import program
from cudamm.devices.device import Device
from cudamm.devices.gpu_device import import_driver
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import Variant, variants

pytestmark = pytest.mark.gpu

FLOAT32 = ELEMENT_TYPES["float32"]
PIPELINES = ("async-copy", "tma", "split-k", "stream-k", "bf16x9")


def silent(doing: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


@pytest.fixture(params=PIPELINES)
def pipeline(request: pytest.FixtureRequest, gpu: Device[Any]) -> Method:
    """Each of them that this GPU has what it takes for."""
    method = find(request.param)
    lacks = gpu.lacks(method)
    if lacks:
        pytest.skip(lacks)
    return method


def test_every_value_worth_sweeping_is_right_where_the_ring_goes_round(
    gpu: Device[Any], pipeline: Method, worth_sweeping: Callable[[Method], list[Variant]]
) -> None:
    """Tiles at every edge, rows of whole 16 bytes, and a last step along k that is shorter."""
    chosen = worth_sweeping(pipeline)
    problem = Problem(parse_shape("516x772x260"), FLOAT32)
    with InProcessExecutor(gpu) as here:
        results = list(verify_all(here, [(variant, problem) for variant in chosen], True, silent))
    assert len(results) == len(chosen)
    assert [(r.params, r.status, r.reason) for r in results if r.verdict.correct is not True] == []


def test_twenty_launches_give_the_same_bits(
    gpu: Device[Any], pipeline: Method, open_run: Callable[..., AbstractContextManager[Any]]
) -> None:
    """A race between copies and reads would not come out the same each time.

    Nor would stream-k or bf16x9, if they added up parts in the order in which blocks come; and if their
    counters did not return to zero, the second launch would store nothing, which leaves what `fill_output`
    put there.
    """
    with open_run(gpu, pipeline.name, "1024x1024x1536") as run:
        products = []
        for _ in range(20):
            run.fill_output()
            run.launch()
            products.append(run.product().copy())
    assert np.isfinite(products[0]).all()
    assert [i for i, product in enumerate(products) if not np.array_equal(product, products[0])] == []


@pytest.mark.parametrize("name", ["stream-k", "bf16x9"])
def test_tiles_are_cut_right_after_launches_of_other_sizes(gpu: Device[Any], name: str) -> None:
    """One loaded module, whose counters and parts all launches share; cut in other places each time."""
    method = find(name)
    if gpu.lacks(method):
        pytest.skip(gpu.lacks(method))
    cuda = import_driver()
    (variant,) = variants(method, {})
    cubin = gpu.compile(program(variant, FLOAT32, True))
    module = cuda.module_from_buffer(cubin.image)
    function = module.get_function(cubin.kernel)
    # Few tiles, a long k; one tile, whole; one tile for nearly all blocks; more tiles than blocks; odd rows.
    sizes = ["640x768x2000", "70x90x50", "256x128x8192", "3000x2300x96", "641x770x2001", "640x768x2000"]
    products = []
    for size in sizes:
        problem = Problem(parse_shape(size), FLOAT32)
        m, n, k = problem.shape.m, problem.shape.n, problem.shape.k
        launch = plan(variant, problem.shape, FLOAT32)
        function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared_bytes)
        a, b = problem.inputs
        product = np.full((m, n), np.nan, np.float32)
        function(
            *map(np.int32, (m, n, k)), cuda.In(a), cuda.In(b), cuda.InOut(product),
            block=launch.block, grid=launch.grid, shared=launch.shared_bytes,
        )  # fmt: skip
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        # Higham's bound for sums of k products in any order.
        bound = k * np.finfo(np.float32).eps * (np.abs(wide_a) @ np.abs(wide_b))
        wrong = ~(np.abs(product - wide_a @ wide_b) <= bound)
        assert not wrong.any(), (size, np.argwhere(wrong)[:3].tolist())
        products.append(product)
    assert np.array_equal(products[0], products[-1])


@pytest.mark.parametrize("shape", ["300x260x500", "130x250x4096", "64x64x7"])
@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("as they are", None),
        ("infinity", np.inf),
        ("not a number", np.nan),
        ("the smallest", np.float32(1.4e-45)),
        ("too small to be split", np.float32(7.1234567e-36)),
        ("the largest", np.float32(3.4028235e38)),
    ],
)
def test_bf16x9_takes_every_float32(gpu: Device[Any], shape: str, what: str, value: Any) -> None:
    """One element of A is replaced; what is finite is alone in its row, so as not to be lost beside others.

    float64 is the reference, in which no product of these is too large or too small.
    """
    method = find("bf16x9")
    if gpu.lacks(method):
        pytest.skip(gpu.lacks(method))
    cuda = import_driver()
    (variant,) = variants(method, {})
    problem = Problem(parse_shape(shape), FLOAT32)
    m, n, k = problem.shape.m, problem.shape.n, problem.shape.k
    launch = plan(variant, problem.shape, FLOAT32)
    cubin = gpu.compile(program(variant, FLOAT32, True))
    function = cuda.module_from_buffer(cubin.image).get_function(cubin.kernel)
    function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared_bytes)
    a, b = (matrix.copy() for matrix in problem.inputs)
    if value is not None:
        if np.isfinite(value):
            a[m // 2] = 0
        a[m // 2, k // 2] = value
    product = np.full((m, n), -1, np.float32)
    function(
        *map(np.int32, (m, n, k)), cuda.In(a), cuda.In(b), cuda.InOut(product),
        block=launch.block, grid=launch.grid, shared=launch.shared_bytes,
    )  # fmt: skip
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = wide_a @ wide_b
        bound = k * np.finfo(np.float32).eps * (np.abs(wide_a) @ np.abs(wide_b)) + 2.0**-149
    finite = np.isfinite(expected)
    assert np.array_equal(product[~finite], expected[~finite].astype(np.float32), equal_nan=True)
    assert (np.abs(product[finite] - expected[finite]) <= bound[finite]).all()
