"""The table and the mean that benchmarks/against_cublas.py computes from a file of results."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "against_cublas.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("against_cublas", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up the names in their annotations here
    spec.loader.exec_module(module)
    return module


def result(method: str, size: int | tuple[int, int, int], ms: float, **other: Any) -> dict[str, Any]:
    m, n, k = (size, size, size) if isinstance(size, int) else size
    return {
        "method": method, "params": {"BM": 128, "BN": 64}, "m": m, "n": n, "k": k, "dtype": "float32",
        "samples_ms": [ms] * 10, "gflops": 2 * m * n * k / ms / 1e6, "share_of_fma_ceiling": 0.5,
        "clock_mhz": 1900.0, "status": "ok", "reason": "", "correct": True, "throttled": 0,
    } | other  # fmt: skip


def test_each_row_is_compared_with_cublas_at_its_own_size(script: ModuleType) -> None:
    results = [result("tiled", 1000, 2.0), result("cublas", 1000, 1.0, clock_mhz=1800.0),
               result("tiled", (10, 20, 1000), 0.5), result("cublas", (10, 20, 1000), 1.0)]  # fmt: skip
    square, other = script.rows_of(results)
    assert (square.ratio, other.ratio) == (0.5, 2.0)
    assert (square.tflops, square.cublas_tflops) == (1.0, 2.0)
    text = script.markdown([square, other])
    head, line, first, second, *_, last = text.splitlines()
    assert head.count("|") == line.count("|") == first.count("|") == second.count("|")
    for cell in (
        "1000",
        "`tiled`",
        "BM=128 BN=64",
        "1.00",
        "2.00",
        "0.500 (0.500–0.500)",
        "50.0%",
        "1900, 1800",
    ):
        assert f"| {cell} " in first
    assert "| 10x20x1000 " in second and "2.000" in second
    assert last == "geometric mean of the ratios at 1 square sizes: 0.500"


def test_the_mean_is_over_the_best_row_of_each_square_size(script: ModuleType) -> None:
    results = [
        *(result("a", 64, 2.0), result("b", 64, 1.0), result("cublas", 64, 1.0)),
        *(result("a", 128, 4.0), result("b", 128, 8.0), result("cublas", 128, 1.0)),
        *(result("a", (1, 2, 3), 1.0), result("cublas", (1, 2, 3), 9.0)),
    ]
    assert script.geometric_mean(script.rows_of(results)) == (pytest.approx(0.5), 2)  # √(1 x 0.25)
    assert script.geometric_mean([]) is None


@pytest.mark.parametrize(
    ("method", "other", "words"),
    [
        (
            "tiled",
            {"status": "failed", "reason": "it is wrong", "samples_ms": [], "gflops": None},
            "it is wrong",
        ),
        ("tiled", {"correct": None}, "tiled was not verified"),
        ("cublas", {"status": "skipped", "reason": "no GPU", "samples_ms": [], "gflops": None}, "no GPU"),
    ],
)
def test_a_failed_or_unverified_result_has_a_reason_and_no_ratio(
    script: ModuleType, method: str, other: dict[str, Any], words: str
) -> None:
    results = [result(name, 64, 1.0, **(other if name == method else {})) for name in ("tiled", "cublas")]
    (row,) = script.rows_of(results)
    assert row.ratio is None and words in row.trouble
    text = script.markdown([row])
    assert words in text and "geometric mean" not in text


@pytest.mark.parametrize("method", ["tiled", "cublas"])
def test_a_row_measured_on_a_throttled_gpu_is_marked(script: ModuleType, method: str) -> None:
    results = [result(name, 64, 1.0, throttled=3 * (name == method)) for name in ("tiled", "cublas")]
    (row,) = script.rows_of(results)
    assert row.was_slowed and row.trouble == ""
    assert "1.000 (1.000–1.000) ~ |" in script.markdown([row])


def test_a_row_without_cublas_has_no_ratio(script: ModuleType) -> None:
    (row,) = script.rows_of([result("tiled", 64, 1.0)])
    assert (row.ratio, row.trouble) == (None, "no cublas")


@pytest.mark.parametrize(("dtype", "library"), [("bfloat16", "cublas"), ("float8_e4m3", "cublaslt")])
def test_the_library_is_the_one_that_has_the_type(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, dtype: str, library: str
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        commands.append(command)
        return type("Done", (), {"returncode": 3})

    monkeypatch.setattr(script.subprocess, "run", run)
    assert dtype in script.DTYPES
    assert script.measure(["float8"], ["2048"], dtype, "hot", 1.0) == (3, {})
    assert commands[0][commands[0].index("-m", 3) + 1] == f"float8,{library}"
    rows = script.rows_of([result("float8", 64, 2.0, dtype=dtype), result(library, 64, 1.0, dtype=dtype)])
    assert [row.ratio for row in rows] == [0.5]
