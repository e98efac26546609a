"""cuBLAS on a GPU: right on every shape and type, timed beside kernels, and without TF32."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
from cudamm.kernels.usual_sizes import VERIFIED_SIZES
from cudamm.kernels.variant import variants

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.quiet,
    pytest.mark.skipif(bool(missing_package(find("cublas"))), reason="nvmath-python is not installed"),
]

FLOAT32, FLOAT64, TF32 = (ELEMENT_TYPES[name] for name in ("float32", "float64", "tf32"))
(CUBLAS,) = variants(find("cublas"), {})
(CUBLASLT,) = variants(find("cublaslt"), {})
FLOAT8 = ELEMENT_TYPES["float8_e4m3"]
(TILED,) = variants(find("tiled"), {})
ODD = ("2049x1x3", "1x2049x31", "1000x999x1001", "64x64x65536", "8192x64x33", "3x5x4097")


def silent(doing: str, done: int, total: int) -> None:
    """Ignore the progress."""


def cudamm(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process."""
    command = [sys.executable, "-m", "cudamm", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=os.environ | environment
    )


@pytest.mark.parametrize("element", [FLOAT32, FLOAT64, TF32], ids=lambda e: e.name)
def test_cublas_is_right_on_every_shape(gpu: Any, element: Any) -> None:
    cases = [(CUBLAS, Problem(parse_shape(size), element)) for size in (*VERIFIED_SIZES, *ODD)]
    with InProcessExecutor(gpu) as executor:
        results = list(verify_all(executor, cases, True, silent))
    assert [(r.m, r.n, r.k, r.reason) for r in results if r.status != "ok"] == []
    assert len(results) == len(cases)


@pytest.mark.parametrize("inputs", ["normal", "uniform", "integers"])
def test_cublaslt_is_right_on_every_shape(gpu: Any, inputs: Any) -> None:
    cases = [
        (CUBLASLT, Problem(parse_shape(size), FLOAT8, input_kind=inputs)) for size in (*VERIFIED_SIZES, *ODD)
    ]
    with InProcessExecutor(gpu) as executor:
        results = list(verify_all(executor, cases, True, silent))
    assert [(r.m, r.n, r.k, r.reason) for r in results if r.status != "ok"] == []
    assert len(results) == len(cases)


@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_cublaslt_tries_its_algorithms_before_the_stream_is_held(gpu: Any, cache: Any) -> None:
    (naive,) = variants(find("naive"), {})
    cases = [(variant, Problem(Shape(1111, 333, 777), FLOAT8)) for variant in (naive, CUBLASLT)]
    given_up = gpu.support._gave_up
    with InProcessExecutor(gpu) as executor:
        settings = Settings(runs=3, warmup=0, verify=False, cache=cache)
        results = sorted(bench(executor, cases, settings, silent), key=lambda r: r.position)
    assert [(r.status, r.reason) for r in results] == [("ok", ""), ("ok", "")]
    assert max(results[1].timing.samples_ms) < 100, "a call waited until the held stream was released"
    assert gpu.support._gave_up == given_up


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_product_is_that_of_numpy_and_the_guards_are_unchanged(gpu: Any, dtype: str) -> None:
    problem = Problem(Shape(67, 131, 41), ELEMENT_TYPES[dtype], seed=5)
    with InProcessExecutor(gpu) as executor:
        (case,) = prepare(executor, [(CUBLAS, problem)], True, silent, verified=True)
        with executor.open(case) as run:
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


@pytest.mark.parametrize("element", [FLOAT32, TF32], ids=lambda e: e.name)
def test_cublas_computes_in_tf32_only_if_that_is_the_type(gpu: Any, element: Any) -> None:
    """The product with a unit matrix keeps 1 + 2⁻¹², which is a float32; a TF32 has a fraction of 10 bits."""
    n = 512
    problem = Problem(Shape(n, n, n), element)
    with InProcessExecutor(gpu) as executor:
        (case,) = prepare(executor, [(CUBLAS, problem)], True, silent, verified=True)
        with executor.open(case) as run:
            a = np.full((n, n), 1 + 2.0**-12, np.float32)
            run.load(a, np.eye(n, dtype=np.float32))
            run.launch()
            assert np.array_equal(run.product(), a) is (element is FLOAT32)


@pytest.mark.parametrize("cache", ["cold", "hot"])
@pytest.mark.parametrize("element", [FLOAT32, FLOAT64], ids=lambda e: e.name)
def test_cublas_takes_turns_with_a_kernel_and_is_faster(gpu: Any, cache: Any, element: Any) -> None:
    cases = [(variant, Problem(Shape(2048, 2048, 2048), element)) for variant in (TILED, CUBLAS)]
    given_up = gpu.support._gave_up
    with InProcessExecutor(gpu) as executor:
        results = list(bench(executor, cases, Settings(runs=10, cache=cache), silent))
    tiled, cublas = sorted(results, key=lambda r: r.position)
    assert (tiled.status, cublas.status) == ("ok", "ok"), (tiled.reason, cublas.reason)
    assert cublas.verdict.correct is True and cublas.execution == "gpu"
    assert len(cublas.timing.samples_ms) == 10
    assert cublas.median_ms is not None and tiled.median_ms is not None
    assert cublas.median_ms < tiled.median_ms
    assert gpu.support._gave_up == given_up, "a call waited for the GPU behind the held stream"
    if element is FLOAT32:
        assert cublas.share_of_fma_ceiling is not None
        # A higher share would be impossible in float32. cuBLAS reaches more than half of the ceiling.
        assert 0.5 < cublas.share_of_fma_ceiling < 1.05


def test_the_stream_is_not_held_for_a_timed_first_launch(gpu: Any) -> None:
    """Without verification and warm-up the first sample could be the first call, which loads kernels."""
    case = CUBLAS, Problem(Shape(1111, 333, 777), FLOAT32)
    given_up = gpu.support._gave_up
    with InProcessExecutor(gpu) as executor:
        settings = Settings(runs=3, warmup=0, verify=False, cache="cold")
        (result,) = bench(executor, [case], settings, silent)
    assert result.status == "ok"
    assert max(result.timing.samples_ms) < 100, "a call waited until the held stream was released"
    assert gpu.support._gave_up == given_up


def test_short_products_share_a_hot_sample(gpu: Any) -> None:
    given_up = gpu.support._gave_up
    with InProcessExecutor(gpu) as executor:
        (result,) = bench(executor, [(CUBLAS, Problem(Shape(64, 64, 65536), FLOAT32))],
                          Settings(runs=5, cache="hot"), silent)  # fmt: skip
    assert result.status == "ok" and result.timing.launches_per_sample > 10
    assert gpu.support._gave_up == given_up


def test_bench_reports_the_share_of_cublas_of_each_row(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    completed = cudamm("bench", "-m", "tiled,cublas", "-n", 1024, "-n", 1000, "--json", file)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.count("of cuBLAS") == completed.stdout.count("of FMA ceiling") == 2
    rows = json.loads(file.read_text())["results"]
    assert [row["method"] for row in rows] == ["tiled", "cublas"] * 2
    for tiled, cublas in (rows[:2], rows[2:]):
        assert cublas["share_of_cublas"] == 1 and cublas["correct"] is True
        assert tiled["share_of_cublas"] == pytest.approx(cublas["median_ms"] / tiled["median_ms"])
        assert 0 < tiled["share_of_cublas"] < 1
        for row in (tiled, cublas):
            ceiling = row["fma_ceiling_gflops"]
            assert row["share_of_fma_ceiling"] == pytest.approx(row["gflops"] / ceiling)


def test_all_methods_include_cublas_which_is_skipped_for_int32() -> None:
    completed = cudamm("verify", "-n", "17x31x13", "--dtype", "float32", "--json", "-")
    assert completed.returncode == 0, completed.stderr
    rows = {row["method"]: row for row in json.loads(completed.stdout)["results"]}
    assert rows["cublas"]["status"] == "ok" and rows["cublas"]["correct"] is True
    completed = cudamm(
        "bench", "-m", "tiled,cublas", "-n", 64, "--dtype", "int32", "--runs", 2, "--json", "-"
    )
    assert completed.returncode == 0, completed.stderr
    tiled, cublas = json.loads(completed.stdout)["results"]
    assert (tiled["status"], cublas["status"]) == ("ok", "skipped")
    assert "no product of int32" in cublas["reason"]


@pytest.mark.parametrize("name", ["NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"])
def test_an_environment_variable_that_changes_the_precision_fails_the_row(name: str) -> None:
    completed = cudamm("bench", "-m", "tiled,cublas", "-n", 64, "--runs", 2, "--json", "-", **{name: "1"})
    assert completed.returncode == 1
    tiled, cublas = json.loads(completed.stdout)["results"]
    assert (tiled["status"], cublas["status"]) == ("ok", "failed")
    assert name in cublas["reason"]


def test_roofline_and_sweep_contain_a_row_for_cublas() -> None:
    completed = cudamm("roofline", "-m", "tiled,cublas", "-n", 1024, "--runs", 3, "--json", "-")
    assert completed.returncode == 0, completed.stderr
    cublas = {row["method"]: row for row in json.loads(completed.stdout)["results"]}["cublas"]
    assert cublas["bound_gflops"] is None and 0 < cublas["share_of_compulsory_bound"] < 1.05
    completed = cudamm("sweep", "-m", "tiled,cublas", "-n", 1024, "--json", "-")
    assert completed.returncode == 0, completed.stderr
    rows = json.loads(completed.stdout)["results"]
    # All variants of tiled are far slower than cuBLAS, and yet the best of them is not dropped.
    assert "ok" in {row["status"] for row in rows if row["method"] == "tiled"}
    assert [row["status"] for row in rows if row["method"] == "cublas"] == ["ok"]


def test_the_script_against_cublas_compares_every_size(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[2] / "benchmarks" / "against_cublas.py"
    file = tmp_path / "ratios.json"
    sizes = ("-n", "1024", "-n", "1000", "-n", "256x512x128")
    command = [sys.executable, str(script), "-m", "tiled", *sizes, "--max-time", "1", "--json", str(file)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    assert "geometric mean of the ratios at 2 square sizes" in completed.stdout
    rows = json.loads(file.read_text())["rows"]
    assert [row["size"] for row in rows] == ["1024", "1000", "256x512x128"]
    assert all(0 < row["ratio"] < 1 and row["trouble"] == "" for row in rows)
