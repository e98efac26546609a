"""The host's own methods beside a GPU: measured last, with a bound on how long they take."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import pytest
from scripted_device import ScriptedDevice, silent

from cudamm.benchmark.measure import bench
from cudamm.benchmark.result import Result
from cudamm.benchmark.sampling_policy import Settings
from cudamm.errors import HangError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

FLOAT32 = ELEMENT_TYPES["float32"]
SMALL, OTHER, LARGE = Shape(4, 5, 6), Shape(7, 3, 2), Shape(2048, 2048, 2048)


class ScriptedHost(ScriptedDevice):
    """A processor whose methods take the durations of a script."""

    def __init__(self, milliseconds: Iterator[float]) -> None:
        super().__init__(milliseconds, "cpu")

    def execution(self, method: Method) -> Any:
        return "native" if method.runs_on_host else "emulated"


@pytest.fixture
def beside_gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that measures methods on a GPU and on the host; launches take 1 ms on the GPU."""

    def measure(
        host: ScriptedHost, names: tuple[str, ...], shapes: tuple[Shape, ...], settings: Settings
    ) -> list[Result]:
        gpu = ScriptedDevice(repeat(1.0)).with_own_clock(monkeypatch)
        for module in ("prepare", "in_process_executor"):
            monkeypatch.setattr(f"cudamm.execution.{module}.host", lambda: host)
        chosen = [variant for name in names for variant in variants(find(name), {})]
        cases = [(variant, Problem(shape, FLOAT32)) for shape in shapes for variant in chosen]
        return list(bench(InProcessExecutor(gpu), cases, settings, silent))

    return measure


def test_rows_on_the_gpu_come_before_those_on_the_host_at_every_size(beside_gpu: Any) -> None:
    names = ("cpu-simple", "coalesced", "cpu-block", "naive", "numpy")
    results = beside_gpu(ScriptedHost(repeat(5.0)), names, (SMALL, OTHER), Settings(runs=2))
    assert [r.execution for r in results] == ["gpu"] * 4 + ["native"] * 6
    assert {r.position for r in results} == set(range(10))
    assert {r.status for r in results} == {"ok"}
    assert [(r.method, r.m) for r in results[4:]] == [
        *(("cpu-simple", 4), ("cpu-block", 4), ("numpy", 4)),
        *(("cpu-simple", 7), ("cpu-block", 7), ("numpy", 7)),
    ]


def test_programs_of_the_gpu_are_compiled_before_those_of_the_host(
    beside_gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, compiled = ScriptedHost(repeat(5.0)), []
    monkeypatch.setattr(ScriptedDevice, "compile", lambda self, _: compiled.append(self.info.kind) or "done")
    beside_gpu(host, ("cpu-simple", "coalesced"), (SMALL,), Settings(runs=1))
    assert compiled == ["gpu", "cpu"]


def test_a_run_of_several_seconds_is_the_only_sample(beside_gpu: Any) -> None:
    host = ScriptedHost(chain([3000.0], repeat(9000.0)))
    (row,) = beside_gpu(host, ("cpu-simple",), (SMALL,), Settings())
    assert (row.status, row.median_ms, row.timing.samples_ms) == ("ok", 3000.0, [3000.0])
    assert row.verdict.correct and len(host.launches) == 1


def test_a_shorter_run_is_sampled_several_times(beside_gpu: Any) -> None:
    (row,) = beside_gpu(ScriptedHost(repeat(1500.0)), ("cpu-simple",), (SMALL,), Settings())
    assert len(row.timing.samples_ms) > 1


def test_a_requested_number_of_runs_is_made_however_long_they_take(beside_gpu: Any) -> None:
    (row,) = beside_gpu(ScriptedHost(repeat(3000.0)), ("cpu-simple",), (SMALL,), Settings(runs=2))
    assert row.timing.samples_ms == [3000.0, 3000.0]


def test_a_wrong_product_of_a_long_run_is_no_sample(beside_gpu: Any) -> None:
    host = ScriptedHost(repeat(3000.0))
    host.error = 1
    (row,) = beside_gpu(host, ("cpu-simple",), (SMALL,), Settings())
    assert row.status == "failed" and row.timing.samples_ms == []


def test_a_loop_that_would_take_minutes_is_skipped_with_its_estimated_duration(beside_gpu: Any) -> None:
    host = ScriptedHost(repeat(3750.0))  # 32 of 2048 rows: 240 s in all
    (row,) = beside_gpu(host, ("cpu-simple",), (LARGE,), Settings())
    assert row.status == "skipped" and row.median_ms is None
    assert "about 4 minutes" in row.reason
    assert "-n 512 takes about 4 s" in row.reason
    assert "--max-time 360" in row.reason
    assert len(host.launches) == 1


def test_max_time_allows_a_longer_run(beside_gpu: Any) -> None:
    host = ScriptedHost(chain([600.0], repeat(40_000.0)))
    (row,) = beside_gpu(host, ("cpu-simple",), (Shape(2048, 1024, 1024),), Settings(max_time_s=39))
    assert (row.status, row.timing.samples_ms) == ("ok", [40_000.0])


def test_a_slow_host_is_not_called_a_failure(beside_gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    host = ScriptedHost(repeat(1.0))

    def hang(*_: Any) -> Any:
        raise HangError("no answer within 60 s (--timeout): it hangs, or needs longer than that")

    monkeypatch.setattr(host, "open", hang)
    on_gpu, on_host = beside_gpu(host, ("cpu-simple", "coalesced"), (SMALL,), Settings(runs=1))
    assert (on_gpu.status, on_host.status) == ("ok", "skipped")
    assert "--timeout" in on_host.reason and "smaller size" in on_host.reason
