"""cuBLAS on a GPU: right on every shape and type, timed among kernels, and in plain float32."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cudamm.api.defaults import VERIFIED_SIZES
from cudamm.benchmark.measure import bench
from cudamm.benchmark.sampling_policy import Settings
from cudamm.benchmark.verify import verify_all
from cudamm.devices.device import GUARD_BYTES
from cudamm.devices.gpu_library import missing_package
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape, parse_shape
from cudamm.kernels.variant import variants

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(missing_package(find("cublas"))), reason="nvmath-python is not installed"),
]

FLOAT32, FLOAT64 = ELEMENT_TYPES["float32"], ELEMENT_TYPES["float64"]
(CUBLAS,) = variants(find("cublas"), {})
(TILED,) = variants(find("tiled"), {})
ODD = ("2049x1x3", "1x2049x31", "1000x999x1001", "64x64x65536", "8192x64x33", "3x5x4097")


def silent(doing: str, done: int, total: int) -> None:
    """No progress to show."""


def cudamm(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does."""
    command = [sys.executable, "-m", "cudamm", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=os.environ | environment
    )


@pytest.mark.parametrize("element", [FLOAT32, FLOAT64], ids=lambda e: e.name)
def test_it_is_right_on_every_shape(gpu: Any, element: Any) -> None:
    cases = [(CUBLAS, Problem(parse_shape(size), element)) for size in (*VERIFIED_SIZES, *ODD)]
    with InProcessExecutor(gpu) as here:
        results = list(verify_all(here, cases, True, silent))
    assert [(r.m, r.n, r.k, r.reason) for r in results if r.status != "ok"] == []
    assert len(results) == len(cases)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_product_is_numpys_and_nothing_else_is_touched(gpu: Any, dtype: str) -> None:
    problem = Problem(Shape(67, 131, 41), ELEMENT_TYPES[dtype], seed=5)
    with InProcessExecutor(gpu) as here:
        (case,) = prepare(here, [(CUBLAS, problem)], True, silent)
        with here.open(case) as run:
            guards = {
                name: (run.region(name)[:GUARD_BYTES], run.region(name)[-GUARD_BYTES:]) for name in "ABC"
            }
            run.fill_output()
            run.launch()
            product = run.product().copy()
            run.check_memory()
            for name, (before, after) in guards.items():
                assert np.array_equal(run.region(name)[:GUARD_BYTES], before)
                assert np.array_equal(run.region(name)[-GUARD_BYTES:], after)
    a, b = (matrix.astype(np.float64) for matrix in problem.inputs)
    assert np.abs(product - a @ b).max() < 41 * (2.0**-24 if dtype == "float32" else 2.0**-53) * 41


def test_it_computes_in_float32_and_not_in_tf32(gpu: Any) -> None:
    """1 + 2⁻¹² is a float32 and no TF32, whose fraction has 10 bits: a product with a unit matrix tells."""
    n = 512
    problem = Problem(Shape(n, n, n), FLOAT32)
    with InProcessExecutor(gpu) as here:
        (case,) = prepare(here, [(CUBLAS, problem)], True, silent)
        with here.open(case) as run:
            a = np.full((n, n), 1 + 2.0**-12, np.float32)
            run.load(a, np.eye(n, dtype=np.float32))
            run.launch()
            assert np.array_equal(run.product(), a)


@pytest.mark.parametrize("cache", ["cold", "hot"])
@pytest.mark.parametrize("element", [FLOAT32, FLOAT64], ids=lambda e: e.name)
def test_it_takes_turns_with_a_kernel_and_is_faster(gpu: Any, cache: Any, element: Any) -> None:
    cases = [(variant, Problem(Shape(2048, 2048, 2048), element)) for variant in (TILED, CUBLAS)]
    given_up = gpu.support._gave_up
    with InProcessExecutor(gpu) as here:
        results = list(bench(here, cases, Settings(runs=10, cache=cache), silent))
    tiled, cublas = sorted(results, key=lambda r: r.position)
    assert (tiled.status, cublas.status) == ("ok", "ok"), (tiled.reason, cublas.reason)
    assert cublas.verdict.correct is True and cublas.execution == "gpu"
    assert len(cublas.timing.samples_ms) == 10
    assert cublas.median_ms is not None and tiled.median_ms is not None
    assert cublas.median_ms < tiled.median_ms
    assert gpu.support._gave_up == given_up, "a call waited for the GPU behind the held stream"
    if element is FLOAT32:
        assert cublas.share_of_fma_ceiling is not None
        # More than multiply-adds from registers would not be float32; less than half, not this library.
        assert 0.5 < cublas.share_of_fma_ceiling < 1.05


def test_a_first_launch_that_is_timed_is_not_held(gpu: Any) -> None:
    """Without verifying and warming up the first sample would be the first call, and that loads kernels."""
    case = CUBLAS, Problem(Shape(1111, 333, 777), FLOAT32)
    given_up = gpu.support._gave_up
    with InProcessExecutor(gpu) as here:
        settings = Settings(runs=3, warmup=0, verify=False, cache="cold")
        (result,) = bench(here, [case], settings, silent)
    assert result.status == "ok"
    assert max(result.timing.samples_ms) < 100, "as long as the stream is held, if a call waits there"
    assert gpu.support._gave_up == given_up


def test_short_products_share_a_hot_sample(gpu: Any) -> None:
    given_up = gpu.support._gave_up
    with InProcessExecutor(gpu) as here:
        (result,) = bench(here, [(CUBLAS, Problem(Shape(64, 64, 65536), FLOAT32))],
                          Settings(runs=5, cache="hot"), silent)  # fmt: skip
    assert result.status == "ok" and result.timing.launches_per_sample > 10
    assert gpu.support._gave_up == given_up


def test_bench_says_each_rows_share(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    done = cudamm("bench", "-m", "tiled,cublas", "-n", 1024, "-n", 1000, "--json", file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("of cuBLAS") == done.stdout.count("of FMA ceiling") == 2
    rows = json.loads(file.read_text())["results"]
    assert [row["method"] for row in rows] == ["tiled", "cublas"] * 2
    for tiled, cublas in (rows[:2], rows[2:]):
        assert cublas["share_of_cublas"] == 1 and cublas["correct"] is True
        assert tiled["share_of_cublas"] == pytest.approx(cublas["median_ms"] / tiled["median_ms"])
        assert 0 < tiled["share_of_cublas"] < 1
        for row in (tiled, cublas):
            ceiling = row["fma_ceiling_gflops"]
            assert row["share_of_fma_ceiling"] == pytest.approx(row["gflops"] / ceiling)


def test_all_includes_it_and_int32_skips_it() -> None:
    done = cudamm("verify", "-n", "17x31x13", "--dtype", "float32", "--json", "-")
    assert done.returncode == 0, done.stderr
    rows = {row["method"]: row for row in json.loads(done.stdout)["results"]}
    assert rows["cublas"]["status"] == "ok" and rows["cublas"]["correct"] is True
    done = cudamm("bench", "-m", "tiled,cublas", "-n", 64, "--dtype", "int32", "--runs", 2, "--json", "-")
    assert done.returncode == 0, done.stderr
    tiled, cublas = json.loads(done.stdout)["results"]
    assert (tiled["status"], cublas["status"]) == ("ok", "skipped")
    assert "no product of int32" in cublas["reason"]


@pytest.mark.parametrize("name", ["NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"])
def test_another_precision_by_the_environment_fails_its_row(name: str) -> None:
    done = cudamm("bench", "-m", "tiled,cublas", "-n", 64, "--runs", 2, "--json", "-", **{name: "1"})
    assert done.returncode == 1
    tiled, cublas = json.loads(done.stdout)["results"]
    assert (tiled["status"], cublas["status"]) == ("ok", "failed")
    assert name in cublas["reason"]


def test_roofline_and_sweep_have_its_row() -> None:
    done = cudamm("roofline", "-m", "tiled,cublas", "-n", 1024, "--runs", 3, "--json", "-")
    assert done.returncode == 0, done.stderr
    rows = {row["method"]: row for row in json.loads(done.stdout)["results"]}
    assert rows["cublas"]["bound_gflops"] is None and 0 < rows["cublas"]["share_of_compulsory_bound"] < 1.05
    done = cudamm("sweep", "-m", "tiled,cublas", "-n", 1024, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["results"]
    # All of them are far behind cuBLAS, and the best of them is measured to the end.
    assert "ok" in {row["status"] for row in found if row["method"] == "tiled"}
    assert [row["status"] for row in found if row["method"] == "cublas"] == ["ok"]


def test_the_comparison_runs(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[2] / "benchmarks" / "against_cublas.py"
    file = tmp_path / "ratios.json"
    sizes = ("-n", "1024", "-n", "1000", "-n", "256x512x128")
    command = [sys.executable, str(script), "-m", "tiled", *sizes, "--max-time", "1", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "geometric mean of the ratios at 2 square sizes" in done.stdout
    rows = json.loads(file.read_text())["rows"]
    assert [row["size"] for row in rows] == ["1024", "1000", "256x512x128"]
    assert all(0 < row["ratio"] < 1 and row["trouble"] == "" for row in rows)
