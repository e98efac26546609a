"""`import cudamm`: the four functions, compared with NumPy and with the commands."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

import cudamm
from cudamm.cli import app
from cudamm.devices.find_device import find
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.method import ELEMENT_TYPES

EDGE = 16
KERNEL = """
    // One thread per element of C.
    //
    // threads: 16, 16
    // grid:    ceil(N / 16), ceil(M / 16)

    __global__ void mine(int M, int N, int K, const float *A, const float *B, float *C) {
        const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
        if (row >= M || col >= N) return;
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
"""
WITHOUT_HEADER = KERNEL[KERNEL.index("__global__") :]


def statuses(results: cudamm.Results[Any]) -> list[tuple[str, str]]:
    return [(result.method, result.status) for result in results]


def by_command(*arguments: str) -> list[dict[str, Any]]:
    """Run a command in this process and return the rows of its JSON document."""
    ended = CliRunner().invoke(app, [*arguments, "--json", "-", "--quiet"], catch_exceptions=False)
    rows: list[dict[str, Any]] = json.loads(ended.stdout)["results"]
    return rows


@pytest.fixture(autouse=True)
def no_worker_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels run in this process, except in the test of a kernel that crashes."""
    if "crashes" not in request.node.name:
        monkeypatch.setattr(
            "cudamm.execution.worker_executor.WorkerExecutor",
            lambda spec, timeout_s, expected=None: InProcessExecutor(find(spec)),
        )


# Imports.


def test_importing_cudamm_imports_no_dependency() -> None:
    names = "numpy", "click", "cloup", "rich", "jinja2", "msgspec", "platformdirs", "filelock", "pycuda"
    code = f"import cudamm, sys; print(cudamm.__version__, [n for n in {names} if n in sys.modules])"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout == f"{cudamm.__version__} []\n"


def test_occupancy_is_a_function_before_and_after_its_room_is_imported() -> None:
    code = "import cudamm; f = cudamm.occupancy; import cudamm.occupancy.latency; print(f, cudamm.occupancy)"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.count("<function occupancy at ") == 2


def test_names_of_the_interface_are_listed_and_others_do_not_exist() -> None:
    assert set(cudamm.__all__) <= set(dir(cudamm))
    assert all(callable(getattr(cudamm, name)) for name in ("bench", "occupancy", "trace", "verify"))
    with pytest.raises(AttributeError, match="has no attribute 'benhc'"):
        getattr(cudamm, "benhc")  # noqa: B009


# verify.


def test_verify_distinguishes_a_right_kernel_from_a_wrong_one() -> None:
    wrong = KERNEL.replace("k < K; ++k", "k + 1 < K; ++k")
    results = cudamm.verify([KERNEL, wrong], n=20, dtype="float32", device="cpu")
    assert statuses(results) == [("mine", "ok"), ("mine-2", "failed")]
    assert "k = 19" in results[1].reason


def test_a_kernel_that_crashes_fails_only_its_own_row() -> None:
    crashing = KERNEL.replace("C[row * N + col] = sum;", "__trap();").replace("mine", "crashing")
    results = cudamm.verify([crashing, KERNEL], n=20, device="cpu")
    assert statuses(results) == [("crashing", "failed"), ("mine", "ok")]


@pytest.mark.long
def test_results_of_verify_are_the_rows_of_the_command() -> None:
    chosen = "-m", "tiled", "--block", "8", "-n", "33", "-n", "7x5x3", "--device", "cpu"
    expected = by_command("verify", *chosen)
    results = cudamm.verify("tiled", n=33, shape=(7, 5, 3), params={"BLOCK_SIZE": 8}, device="cpu")
    assert results.to_dicts() == expected
    only_named = {"tf32", "int8", *(name for name in ELEMENT_TYPES if "_to_" in name)}
    assert {row["dtype"] for row in expected} == set(ELEMENT_TYPES) - only_named


def test_a_method_is_given_by_name_path_or_source(tmp_path: Path) -> None:
    path = tmp_path / "in_file.cu"
    path.write_text(textwrap.dedent(KERNEL))
    results = cudamm.verify(["numpy", path, str(path), KERNEL], n=5, dtype="float32", device="cpu")
    assert statuses(results) == [("numpy", "ok"), ("in-file", "ok"), ("mine", "ok")]


@pytest.mark.parametrize("grid", ["ceil(N/16), ceil(M/16)", ["ceil(N/16)", "ceil(M/16)"]])
def test_keyword_arguments_replace_a_header(grid: str | list[str]) -> None:
    results = cudamm.verify(WITHOUT_HEADER, n=20, threads=(16, 16), grid=grid, device="cpu")
    assert statuses(results) == [("mine", "ok")]


def test_a_kernel_that_adds_to_c_gets_zeros() -> None:
    source = WITHOUT_HEADER.replace("] = sum", "] += sum")
    grid = "ceil(N/16), ceil(M/16)"
    (added,) = cudamm.verify(source, n=20, threads=(16, 16), grid=grid, initial_c=0, device="cpu")
    assert added.status == "ok"


def test_a_variant_is_made_for_each_value_of_a_parameter() -> None:
    source = KERNEL.replace("16", "EDGE")
    results = cudamm.verify(source, n=9, params={"EDGE": range(4, 9, 4)}, device="cpu")
    assert [result.params for result in results] == [{"EDGE": 4}, {"EDGE": 8}]


def test_a_parameter_may_belong_to_only_one_of_two_kernels() -> None:
    kernels = [KERNEL.replace("16", "EDGE"), KERNEL.replace("mine", "other")]
    results = cudamm.verify(kernels, n=9, params={"EDGE": 8}, device="cpu")
    assert [(result.method, result.params) for result in results] == [("mine", {"EDGE": 8}), ("other", {})]
    refused = r"mine\.cu and other\.cu do not mention EDG: did you mean EDGE\?$"
    with pytest.raises(cudamm.errors.UsageError, match=refused):
        cudamm.verify(kernels, n=9, params={"EDG": 8}, device="cpu")


# bench.


@pytest.mark.long
def test_bench_verifies_and_its_rate_is_that_of_the_median_sample() -> None:
    steps: list[tuple[str, int, int]] = []
    results = cudamm.bench(
        ["numpy", "cpu-simple", "naive"],
        shape=(8, 4, 6), runs=3, device="cpu", progress=lambda *step: steps.append(step),
    )  # fmt: skip
    assert [result.method for result in results] == ["numpy", "cpu-simple", "naive"]
    assert all(result.verdict.correct for result in results)
    for row in results[:2].to_dicts():
        assert len(row["samples_ms"]) == 3
        assert row["gflops"] == pytest.approx(2 * 8 * 4 * 6 / np.median(row["samples_ms"]) / 1e6)
    assert steps and all(0 <= done <= total for _, done, total in steps)


# trace.


def requests_of_naive(size: int) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield the matrix and the byte offsets of each request of `KERNEL`, for the lanes inside of C."""
    blocks = math.ceil(size / EDGE)
    lane = np.arange(32)
    for block in np.ndindex(blocks, blocks):
        for warp in range(EDGE * EDGE // 32):
            row = block[0] * EDGE + (warp * 32 + lane) // EDGE
            column = block[1] * EDGE + (warp * 32 + lane) % EDGE
            inside = (row < size) & (column < size)
            row, column = row[inside], column[inside]
            if row.size:
                for k in range(size):
                    yield "A", 4 * (row * size + k)
                    yield "B", 4 * (k * size + column)
                yield "C", 4 * (row * size + column)


def test_trace_counts_the_sectors_that_numpy_counts_from_the_addresses() -> None:
    size = 20
    expected = {"A": np.zeros(2, int), "B": np.zeros(2, int), "C": np.zeros(2, int)}
    for matrix, offsets in requests_of_naive(size):
        expected[matrix] += 1, len(np.unique(offsets // 32))
    rows = cudamm.trace(KERNEL, n=size, blocks=None).to_dicts()
    assert {row["array"]: (row["requests"], row["sectors"]) for row in rows} == {
        matrix: tuple(counts) for matrix, counts in expected.items()
    }


def test_trace_has_a_time_limit() -> None:
    source = KERNEL.replace("C[row * N + col] = sum;", "for (volatile int i = 0; i < 1;) {}")
    (row,) = cudamm.trace(source, n=4, timeout_s=0.3).to_dicts()
    assert row["status"] == "failed" and "no answer within 0.3 s" in row["reason"]


def test_a_source_line_is_escaped_in_html() -> None:
    source = KERNEL.replace("C[row * N + col] = sum;", "if (sum<N && 1) {} C[row * N + col] = sum;")
    html = cudamm.trace(source, n=16, arch=None)._repr_html_()
    assert "if (sum&lt;N &amp;&amp; 1) {}" in html and "sum<N" not in html


# occupancy.


def test_occupancy_of_bare_numbers_is_limited_by_threads_and_blocks() -> None:
    threads = np.arange(32, 1025, 32)
    results = cudamm.occupancy(threads=threads.tolist(), arch="sm_86")
    blocks = np.minimum(16, 1536 // threads)
    assert [result.active_blocks for result in results] == blocks.tolist()
    assert [result.occupancy for result in results] == (blocks * threads / 1536).tolist()


def test_results_of_occupancy_are_the_rows_of_the_command() -> None:
    numbers = "--threads", "128,256", "--registers", "37", "--shared", "8*threads", "--why"
    expected = by_command("occupancy", "--arch", "sm_80", "--arch", "sm_90", *numbers)
    results = cudamm.occupancy(
        threads=[128, 256], registers=37, shared="8*threads", arch=["sm_80", "sm_90"], why=True
    )
    assert json.loads(json.dumps(results.to_dicts())) == expected


@pytest.mark.usefixtures("needs_nvcc")
def test_a_block_size_is_suggested_for_source_text() -> None:
    parameter = "// param: BLOCK_SIZE = 8 in 8, 16\n    // threads"
    source = KERNEL.replace("16", "BLOCK_SIZE").replace("// threads", parameter)
    (result,) = cudamm.occupancy(source, arch="sm_80", suggest=True)
    assert result.suggestion is not None and result.suggestion.threads_per_block in (64, 256)


# Results.


def test_results_are_a_sequence_with_a_text_and_an_html_table() -> None:
    results = cudamm.occupancy(threads=[64, 128, 256], arch="sm_80")
    assert len(results) == 3 and list(results) == [results[0], results[1], results[-1]]
    assert [result.threads_per_block for result in results[1:]] == [128, 256]
    assert results[1:].to_dicts() == results.to_dicts()[1:]
    assert "Occupancy on sm_80" in str(results) and "<table>" in results._repr_html_()
    assert "128" not in results[:1]._repr_html_() and results[:0]._repr_html_() == ""


def test_a_remark_contains_the_variant_chosen_for_best() -> None:
    results = cudamm.trace("best", n=16, arch=None)
    (remark,) = results.remarks
    assert remark.startswith(f"best at 16x16x16 float32: {results[0].method}")
    assert remark in str(results)


# Errors.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cudamm.bench("tilde"), "unknown method tilde: did you mean tiled"),
        (lambda: cudamm.bench([]), "methods is empty"),
        (lambda: cudamm.bench("tiled", n=0), "“0” is not a size"),
        (lambda: cudamm.bench("tiled", n=[]), "n is empty"),
        (lambda: cudamm.bench("tiled", shape=[]), "shape is empty"),
        (lambda: cudamm.bench("tiled", shape=(1, 2)), "shape=(1, 2): it has to be (m, n, k)"),
        (lambda: cudamm.bench("tiled", runs=0), "runs=0: it has to be between 1 and"),
        (lambda: cudamm.bench("tiled", seed=-1), "seed=-1: it has to be between 0 and"),
        (lambda: cudamm.bench("tiled", seed=10**5000), "seed: a number of 16610 bits is too large"),
        (lambda: cudamm.bench("tiled", n=10**5000), "n: a number of 16610 bits is too large"),
        (lambda: cudamm.bench("tiled", shape=(1, 1, 10**5000)), "shape: a number of 16610 bits is too large"),
        (
            lambda: cudamm.bench("tiled", timeout_s=float("nan")),
            "timeout_s=nan: it has to be between 0 and 86400",
        ),
        (
            lambda: cudamm.bench("tiled", max_time_s=float("inf")),
            "max_time_s=inf: it has to be between 0 and",
        ),
        (
            lambda: cudamm.bench("tiled", max_noise=float("nan")),
            "max_noise=nan: it has to be between 0 and 1",
        ),
        (lambda: cudamm.verify("tiled", timeout_s=-1), "timeout_s=-1: it has to be between 0 and 86400"),
        (lambda: cudamm.occupancy(threads=10**400), "threads: a number of 1329 bits is too large"),
        (lambda: cudamm.bench("tiled", params={"BLOCK_SIZE": []}), "BLOCK_SIZE is empty"),
        (lambda: cudamm.bench("tiled", device="tpu"), "unknown device tpu"),
        (lambda: cudamm.bench("tiled", device="a100"), "calculate for --gpu a100"),
        (lambda: cudamm.bench("tiled", n=8, device="cpu", baseline="nope"), "nope is not measured"),
        (lambda: cudamm.bench("tiled", dtype="half"), "unknown element type half"),
        (
            lambda: cudamm.bench("tiled", dtype=np.int64),
            "dtype=<class 'numpy.int64'>: it has to be a name, or",
        ),
        (lambda: cudamm.verify("tiled", dtype=["float32", None]), "dtype=None: it has to be a name"),
        (lambda: cudamm.trace("tiled", dtype=np.dtype(">f4")), "dtype=dtype('>f4'): it has to be a name"),
        # This type of the package has infinities, and float8_e4m3 of CUDA has none.
        (
            lambda: cudamm.trace("tiled", dtype=ml_dtypes.float8_e4m3),
            "float8_e4m3'>: it has to be a name, or",
        ),
        (lambda: cudamm.occupancy("tiled", dtype=[]), "dtype is empty"),
        (lambda: cudamm.occupancy("tiled", dtype=np.dtype([("x", "f4")])), "it has to be a name, or NumPy's"),
        (lambda: cudamm.verify("nowhere.cu"), "there is no kernel file nowhere.cu"),
        (lambda: cudamm.verify(WITHOUT_HEADER), "mine.cu lacks threads and grid"),
        (lambda: cudamm.trace("numpy"), "host methods have no warps to trace"),
        (lambda: cudamm.trace("tiled", blocks=0), "blocks=0: it has to be between 1 and"),
        (lambda: cudamm.occupancy("tiled", registers=32), "stand for a kernel"),
        (lambda: cudamm.occupancy(threads=64, n=1024), "bare numbers have no matrices"),
        (lambda: cudamm.occupancy(threads=64, arch="sm_1"), "sm_1"),
        (lambda: cudamm.occupancy(threads=64, carveout=101), "carveout=101: it has to be between 0 and 100"),
    ],
)
def test_a_wrong_request_raises_a_usage_error(call: Callable[[], object], message: str) -> None:
    with pytest.raises(cudamm.errors.UsageError) as raised:
        call()
    assert message in str(raised.value)


def test_an_unknown_keyword_argument_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'sizes'"):
        cudamm.bench("tiled", sizes=3)


def test_a_missing_gpu_raises_no_device_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(cudamm.errors.NoDeviceError):
        cudamm.bench("tiled", n=16, device="gpu")


def test_methods_without_the_element_type_are_left_out_with_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    from cudamm.kernels import ladder

    for name, measure in (
        ("numpy", lambda: cudamm.bench(n=EDGE, dtype="int32", runs=1, warmup=0, device="cpu")),
        ("numpy", lambda: cudamm.verify(n=EDGE, dtype="int32", device="cpu")),
        ("naive", lambda: cudamm.trace(n=EDGE, dtype="int32", arch=None)),
    ):
        two = (ladder.find(name), ladder.find("async-copy"))
        with monkeypatch.context() as patch:
            patch.setattr(ladder, "methods", lambda two=two: two)
            results = measure()
        assert [result.method for result in results] == [name]
        assert "these methods are omitted because they do not support int32: async-copy" in results.remarks
    with pytest.raises(cudamm.errors.UsageError, match="async-copy is written for float32"):
        cudamm.bench("async-copy", n=EDGE, dtype="int32", device="cpu")
