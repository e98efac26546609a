"""Typed use of `import cudamm`: `make check` runs mypy on this file, and the test suite runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cudamm
from cudamm.analysis.trace import TraceResult
from cudamm.benchmark.result import Result
from cudamm.occupancy.occupancy_result import OccupancyResult


@pytest.mark.long
def test_results_have_the_types_of_their_records() -> None:
    verified: cudamm.Results[Result] = cudamm.verify("naive", n=[4, 8], dtype="float32", device="cpu")
    first: Result = verified[0]
    rest: cudamm.Results[Result] = verified[1:]
    rows: list[dict[str, Any]] = verified.to_dicts()
    error: float | None = first.verdict.max_error
    assert (len(rest), len(rows), error is not None) == (1, 2, True)

    methods: list[str | Path] = ["numpy"]
    measured: cudamm.Results[Result] = cudamm.bench(
        methods, shape=(4, 4, 4), params=None, runs=1, device="cpu"
    )
    rate: float | None = measured[0].gflops
    assert rate is not None

    traced: cudamm.Results[TraceResult] = cudamm.trace("naive", n=4, params={"BLOCK_SIZE": [4]}, arch=None)
    intensity: float | None = traced[0].intensity
    assert intensity == 0.25

    numbers: cudamm.Results[OccupancyResult] = cudamm.occupancy(threads=[64, 128], shared=0, arch="sm_90")
    occupancy: float = numbers[0].occupancy
    assert occupancy == 1


def test_numpys_types_choose_an_element_type() -> None:
    one: cudamm.Results[Result] = cudamm.verify("naive", n=4, dtype=np.float16, device="cpu")
    types = ["float32", np.dtype("int32"), ml_dtypes.bfloat16, np.dtype(ml_dtypes.float8_e4m3fn)]
    several: cudamm.Results[Result] = cudamm.verify("naive", n=4, dtype=types, device="cpu")
    assert [result.dtype for result in (*one, *several)] == [
        "float16", "float32", "int32", "bfloat16", "float8_e4m3",
    ]  # fmt: skip


def test_wrong_types_are_refused_by_mypy() -> None:
    """mypy reports an ignore comment that suppresses no error, so each line has to be a type error."""
    with pytest.raises(cudamm.errors.UsageError):
        cudamm.bench("naive", n="many")  # type: ignore[arg-type]
    with pytest.raises(cudamm.errors.UsageError):
        cudamm.bench("naive", dtype=16)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        cudamm.bench("naive", block=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        cudamm.bench("naive", runs=1.5)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        cudamm.benhc()  # type: ignore[attr-defined]
