"""The methods that copy tiles ahead into a ring, on a GPU: parameter values, races, and stream-k's counters.

`test_on_gpu.py` verifies every method on small shapes. The problems here have more tiles than the ring has
stages, rows are copied 16 bytes at a time, and several blocks of stream-k, bf16x9, tensor-stream-k and
tensor-split-k share a tile.
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
PIPELINES = (
    "async-ring", "fragment-prefetch", "lean-loop", "async-copy", "tma", "sliced-k", "stream-k", "mma",
    "mma-tf32", "dmma", "wgmma", "warp-specialized", "persistent", "dependent-launch", "cluster", "bf16x9",
    "tensor-stream-k", "register-operand", "aligned-copy", "float8", "full-waves", "dmma-pipelined",
    "dmma-specialized", "tensor-split-k",
)  # fmt: skip


def silent(doing: str, done: int, total: int) -> None:
    """Ignore the progress."""


@pytest.fixture(params=PIPELINES)
def pipeline(request: pytest.FixtureRequest, gpu: Device[Any]) -> Method:
    """Return each method that this GPU can run."""
    method = find(request.param)
    lacks = gpu.lacks(method)
    if lacks:
        pytest.skip(lacks)
    return method


def test_every_parameter_value_is_right_with_more_tiles_than_stages(
    gpu: Device[Any], pipeline: Method, worth_sweeping: Callable[[Method], list[Variant]]
) -> None:
    """The problem has tiles at every edge, rows of whole 16 bytes, and a shorter last step along k."""
    chosen = worth_sweeping(pipeline)
    element = ELEMENT_TYPES[pipeline.element_types[0]]
    shape = {1: "516x776x272", 2: "516x776x264"}.get(element.size_bytes, "516x772x260")
    problem = Problem(parse_shape(shape), element)
    with InProcessExecutor(gpu) as executor:
        results = list(verify_all(executor, [(variant, problem) for variant in chosen], True, silent))
    assert len(results) == len(chosen)
    assert [(r.params, r.status, r.reason) for r in results if r.verdict.correct is not True] == []


def test_twenty_launches_give_the_same_bits(
    gpu: Device[Any], pipeline: Method, open_run: Callable[..., AbstractContextManager[Any]]
) -> None:
    """A race between copies and reads would change the product from launch to launch.

    The product would also change if a method that cuts tiles added partial sums in the order in which blocks
    arrive. If their counters did not return to zero, the second launch would store nothing, and C would keep
    the NaN that `fill_output` wrote.
    """
    with open_run(gpu, pipeline.name, "1024x1024x1536", pipeline.element_types[0]) as run:
        products = []
        for _ in range(20):
            run.fill_output()
            run.launch()
            products.append(run.product().copy())
    assert np.isfinite(products[0]).all()
    assert [i for i, product in enumerate(products) if not np.array_equal(product, products[0])] == []


@pytest.mark.parametrize("name", ["stream-k", "bf16x9"])
def test_the_product_is_right_after_launches_of_other_sizes(gpu: Device[Any], name: str) -> None:
    """All launches share the counters and partial sums of one module, and each size cuts tiles elsewhere."""
    method = find(name)
    if gpu.lacks(method):
        pytest.skip(gpu.lacks(method))
    cuda = import_driver()
    (variant,) = variants(method, {})
    cubin = gpu.compile(program(variant, FLOAT32, True))
    module = cuda.module_from_buffer(cubin.image)
    function = module.get_function(cubin.kernel)
    # In order: few tiles and a long k; one whole tile; one tile shared by nearly all blocks; more tiles than
    # blocks; rows of an odd length; the first size again.
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


# One tile; tiles at edges, an odd K; blocks without a step; at most two clusters for a tile; at most one.
LONG_SUMS = ("64x64x65536", "70x134x20001", "5x3x9", "700x704x640", "1024x1024x1536", "64x64x65536")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("clusters", [1, 2, 16])
def test_split_sums_are_right_after_launches_of_other_sizes(
    gpu: Device[Any], dtype: str, clusters: int
) -> None:
    """Launches of all sizes share the counters of parts, which must be 0 again after each."""
    method = find("tensor-split-k")
    if gpu.lacks(method):
        pytest.skip(gpu.lacks(method))
    (variant,) = variants(method, {"CLUSTERS": (clusters,)})
    cases = [(variant, Problem(parse_shape(shape), ELEMENT_TYPES[dtype])) for shape in LONG_SUMS]
    with InProcessExecutor(gpu) as executor:
        results = list(verify_all(executor, cases, True, silent))
    assert len(results) == len(cases)
    assert [(r.params, r.status, r.reason) for r in results if r.verdict.correct is not True] == []


@pytest.mark.parametrize("shape", ["64x64x65536", "72x136x8200", "256x256x4096"])
def test_split_sums_have_the_same_bits_whichever_cluster_is_last(
    gpu: Device[Any], open_run: Callable[..., AbstractContextManager[Any]], shape: str
) -> None:
    """16 clusters add up each tile. In the other test of equal bits there are many tiles, with one each."""
    method = find("tensor-split-k")
    if gpu.lacks(method):
        pytest.skip(gpu.lacks(method))
    with open_run(gpu, method.name, shape, "bfloat16") as run:
        products = []
        for _ in range(50):
            run.fill_output()
            run.launch()
            products.append(run.product().copy())
    assert np.isfinite(products[0]).all()
    assert [i for i, product in enumerate(products) if not np.array_equal(product, products[0])] == []


@pytest.mark.parametrize("shape", ["300x260x500", "130x250x4096", "64x64x7"])
@pytest.mark.parametrize(
    ("description", "value"),
    [
        ("unchanged", None),
        ("infinity", np.inf),
        ("not a number", np.nan),
        ("the smallest", np.float32(1.4e-45)),
        ("too small to be split", np.float32(7.1234567e-36)),
        ("the largest", np.float32(3.4028235e38)),
    ],
)
def test_bf16x9_is_right_for_extreme_float32_values(
    gpu: Device[Any], shape: str, description: str, value: Any
) -> None:
    """One element of A is replaced. A finite value is the only one in its row, so that no other hides it.

    The reference is computed in float64, in which no product of these values overflows or underflows.
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
