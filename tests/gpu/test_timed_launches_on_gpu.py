"""Timed launches on an NVIDIA GPU: their inputs are those of the host, and kernels that cheat are found."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from cudamm.devices.device import Slot
from cudamm.kernels.input_kinds import has_kind
from cudamm.kernels.ladder import ladder
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.sampled_product import sampled_product

pytestmark = pytest.mark.gpu

HEADER = """// args: A, B, C, M, N, K
// threads: 16, 16
// grid: ceil(N / 16), ceil(M / 16)

"""
PRODUCT = """
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
"""
PARAMETERS = "(const float *A, const float *B, float *C, int M, int N, int K)"

REPLAY_BY_ADDRESS = f"""{HEADER}
__device__ float kept[1 << 20];
__device__ const float *kept_for[1 << 20];
__global__ void product{PARAMETERS} {{
    int index = (blockIdx.y * 16 + threadIdx.y) * N + blockIdx.x * 16 + threadIdx.x;
    if (kept_for[index] == A) {{
        C[index] = kept[index];
        return;
    }}
    {PRODUCT}
    C[index] = kept[index] = sum;
    kept_for[index] = A;
}}
"""
REPLAY_ALWAYS = REPLAY_BY_ADDRESS.replace("kept_for[index] == A", "kept_for[index]")
FIRST_LAUNCHES = f"""{HEADER}
__device__ int launches;
__global__ void product{PARAMETERS} {{
    if (threadIdx.x + threadIdx.y + blockIdx.x + blockIdx.y == 0) atomicAdd(&launches, 1);
    if (launches > 3 && blockIdx.y >= gridDim.y / 2) return;
    {PRODUCT}
    C[row * N + col] = sum;
}}
"""
CUT = f"""{HEADER}
__global__ void product{PARAMETERS} {{
    {PRODUCT.replace("A[row * K + k] * B[k * N + col]", "cut(A[row * K + k]) * cut(B[k * N + col])")}
    C[row * N + col] = sum;
}}
""".replace(
    "__global__",
    "__device__ float cut(float x) { return __uint_as_float(__float_as_uint(x) & ~0x1FFFu); }\n__global__",
)


def bench(*arguments):
    """Run `cudamm bench` in a process, and return its rows."""
    command = [sys.executable, "-m", "cudamm", "bench", *map(str, arguments), "--json", "-"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)["results"]


ONLY_METHODS = {"tf32": "mma-tf32"}
"""The methods of types that `naive` lacks."""

KINDS_OF_TYPES = [
    (dtype, kind)
    for dtype, element in ELEMENT_TYPES.items()
    for kind in ("uniform", "normal", "integers")
    if has_kind(element, kind)
]


@pytest.mark.parametrize("column_major", [(), ("A", "B", "C")])
@pytest.mark.parametrize(("dtype", "kind"), KINDS_OF_TYPES)
def test_the_gpu_draws_the_inputs_of_the_host_and_adds_their_products_as_exactly(
    gpu, open_run, dtype, kind, column_major
):
    """An input that differs in its last bit would change a sum by more than is allowed."""
    with open_run(gpu, ONLY_METHODS.get(dtype, "naive"), "37x24x28", dtype) as run:
        run.plan = dataclasses.replace(run.plan, column_major=column_major)
        of_host = Problem(Shape(37, 24, 28), ELEMENT_TYPES[dtype], 3, input_kind=kind)
        problem = of_host.redrawn(5, run.plan.shape, column_major, 300)
        run.redraw(problem, place=7)
        run.time([Slot(300)], cold=True)
        rows, columns = np.arange(37, dtype=np.int32), np.arange(24, dtype=np.int32)
        on_gpu = run.sampled_timed_product(problem, 0, rows, columns)
        on_host = sampled_product(problem, run.timed_product(0), rows, columns)
    assert np.array_equal(on_gpu.elements, on_host.elements)
    difference = (on_gpu.high - on_host.high) + (on_gpu.low - on_host.low)
    largest = np.sqrt(on_host.squares.max())
    assert np.abs(difference).max() <= 2.0 ** (-90 if dtype == "float64" else -45) * largest
    assert on_gpu.squares == pytest.approx(on_host.squares, rel=1e-13)


@pytest.mark.parametrize(("dtype", "kind"), KINDS_OF_TYPES)
@pytest.mark.parametrize("shape", ["300x200x100", "64x64x65504"])
def test_the_gpu_judges_timed_launches_as_the_host_does(gpu, open_run, dtype, kind, shape):
    with open_run(gpu, ONLY_METHODS.get(dtype, "naive"), shape, dtype) as run:
        problem = Problem(run.plan.shape, ELEMENT_TYPES[dtype], 3, draw=5, window=300, input_kind=kind)
        run.redraw(problem)
        assert run.time([Slot(300)], cold=True) > 0
        run.check_timed_memory(problem, 0)
        judged = run.judge(problem, 0, problem.shape.m, problem.shape.n)
        assert (judged.wrong, judged.rows) == (False, problem.shape.m)
        product = run.timed_product(0).astype(np.float64)
        assert (np.abs(product - problem.reference[0]) <= problem.error_bound).all()
        other = dataclasses.replace(problem, draw=6)
        run.redraw(other)
        assert run.judge(other, 0, other.shape.m, other.shape.n).wrong  # C holds the pattern


@pytest.mark.parametrize("cache", ["--cold", "--hot"])
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (REPLAY_ALWAYS, "the result is that of an earlier launch"),
        (REPLAY_BY_ADDRESS, ""),  # addresses hardly ever return: it computes, and has no advantage
        (FIRST_LAUNCHES, "a later launch did not write C"),
        (CUT, "computed in less than its type: errors like those of"),
    ],
    ids=["replay", "replay by address", "first launches", "lower precision"],
)
def test_kernels_that_cheat_are_found(write_kernel, cache, source, reason):
    (row,) = bench(write_kernel(source), "-n", 1024, cache, "--runs", 60)
    if reason:
        assert row["status"] == "failed" and reason in row["reason"]
    else:
        assert row["status"] == "ok" or "an earlier launch" in row["reason"]


@pytest.mark.parametrize("cache", ["--cold", "--hot"])
@pytest.mark.parametrize("size", ["1000", "1024", "4096", "64x64x65536"])
def test_every_method_is_right_in_its_timed_launches(cache, size):
    # The methods of the host have no launches on a GPU, and its loops take minutes at 4096.
    methods = ",".join(method.name for method in ladder() if not method.runs_on_host)
    rows = bench("-m", methods, "-n", size, cache, "--runs", 3, "--warmup", 1, "--device", "gpu")
    assert [(r["method"], r["reason"]) for r in rows if r["status"] not in ("ok", "skipped")] == []
    assert all(r["judged_launches"] for r in rows if r["status"] == "ok")
