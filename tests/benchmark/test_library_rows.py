"""A library beside kernels: its samples, its row, the share of its rate, and the cases when it is skipped."""

from __future__ import annotations

import dataclasses
from itertools import pairwise, repeat
from typing import Any

import pytest
from scripted_device import ScriptedDevice, silent

from cudamm.benchmark.measure import bench
from cudamm.benchmark.result import Result, bench_record_among, result_of, share_of_cublas, yardsticks_of
from cudamm.benchmark.sampling_policy import Settings
from cudamm.benchmark.verify import verify_all
from cudamm.devices.device import Ceilings, Device
from cudamm.errors import UsageError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant, variants

PROBLEM = Problem(Shape(4, 5, 6), ELEMENT_TYPES["float32"])

LIBRARY = 1
"""Threads per block by which the scripts name the library: its launch plan contains a block of one thread."""


class GpuWithLibrary(ScriptedDevice):
    """A scripted GPU on which a library's Python package is installed."""

    missing = ""

    def lacks(self, method: Method) -> str:
        return self.missing if method.package else ""


def gpu(kernels_ms: dict[int, float], library_ms: float, **others: Any) -> GpuWithLibrary:
    """Return a GPU with durations of kernels by BLOCK_SIZE, and the duration of the library's launch."""
    scripts = {block: repeat(ms) for block, ms in (kernels_ms | {LIBRARY: library_ms}).items()}
    return GpuWithLibrary(scripts=scripts, **others)


def cases(*blocks: int, problem: Problem = PROBLEM) -> list[tuple[Variant, Problem]]:
    chosen = [*variants(find("coalesced"), {"BLOCK_SIZE": blocks}), *variants(find("cublas"), {})]
    return [(variant, problem) for variant in chosen]


def measured(
    device: Device[Any], settings: Settings, requests: list[tuple[Variant, Problem]]
) -> list[Result]:
    return sorted(
        bench(InProcessExecutor(device), requests, settings, silent), key=lambda result: result.position
    )


def test_a_library_is_verified_and_takes_turns_with_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    device = gpu({16: 30.0}, 20.0).with_own_clock(monkeypatch)
    kernel, library = measured(device, Settings(runs=6, warmup=0), cases(16))
    assert (kernel.status, library.status) == ("ok", "ok")
    assert library.execution == "gpu" and library.verdict.correct is True and not library.padded
    assert library.timing.samples_ms == [20.0] * 6
    # The first two launches verify. Then each turn is one sample, because a turn lasts 50 ms.
    timed = device.blocks[2:]
    assert timed.count(16) == timed.count(LIBRARY) == 6
    switches = sum(a != b for a, b in pairwise(timed))
    assert switches >= 4, timed


def test_a_wrong_product_of_a_library_is_a_failed_row() -> None:
    kernel, library = measured(gpu({16: 1.0}, 1.0, error=1), Settings(runs=2, warmup=0), cases(16))
    assert (kernel.status, library.status) == ("failed", "failed")
    assert "wrong" in library.reason


@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_the_share_of_cublas_is_a_ratio_of_medians(cache: Any) -> None:
    settings = Settings(runs=3, warmup=0, cache=cache)
    results = measured(gpu({8: 4.0, 16: 2.5}, 2.0), settings, cases(8, 16))
    assert {r.timing.cache for r in results} == {cache}
    records = [bench_record_among(result, yardsticks_of(results)) for result in results]
    assert [record["share_of_cublas"] for record in records] == [0.5, 0.8, 1.0]
    assert [record["share_of_fma_ceiling"] for record in records] == [None] * 3  # the ceiling is unknown


def test_there_is_no_share_of_cublas_at_other_sizes_and_types_or_if_one_failed() -> None:
    (kernel, library) = measured(gpu({16: 4.0}, 2.0), Settings(runs=2, warmup=0), cases(16))
    for other in ({"m": 5}, {"n": 6}, {"k": 7}, {"dtype": "float64"}):
        assert share_of_cublas(dataclasses.replace(kernel, **other), yardsticks_of([kernel, library])) is None
    assert share_of_cublas(kernel, yardsticks_of([kernel])) is None
    failed = dataclasses.replace(library, status="failed")
    assert share_of_cublas(kernel, yardsticks_of([kernel, failed])) is None
    assert (
        share_of_cublas(dataclasses.replace(kernel, status="failed"), yardsticks_of([kernel, library]))
        is None
    )


def test_the_share_of_the_ceiling_is_of_float32_and_stored_with_the_row() -> None:
    ceilings = Ceilings(fma_gflops=0.002, copy_gbytes_per_s=1.0)
    settings = Settings(runs=2, warmup=0)
    kernel, library = measured(gpu({16: 0.24}, 0.2, ceilings=ceilings), settings, cases(16))
    assert kernel.gflops == pytest.approx(240 / 0.24 / 1e6)  # 2 x 4 x 5 x 6 operations
    assert kernel.share_of_fma_ceiling == pytest.approx(0.5)
    assert library.share_of_fma_ceiling == pytest.approx(0.6)
    restored = result_of(bench_record_among(kernel, yardsticks_of([kernel, library])), 0)
    assert restored.timing == kernel.timing and restored.share_of_fma_ceiling == pytest.approx(0.5)
    double = Problem(PROBLEM.shape, ELEMENT_TYPES["float64"])
    results = measured(gpu({16: 0.24}, 0.2, ceilings=ceilings), settings, cases(16, problem=double))
    assert [r.status for r in results] == ["ok", "ok"]
    assert [r.share_of_fma_ceiling for r in results] == [None, None]


def test_a_sweep_drops_nothing_for_being_slower_than_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(drop=True)
    device = gpu({4: 30.0, 8: 10.0, 16: 10.2}, 1.0).with_own_clock(monkeypatch)
    slow, *near, library = measured(device, settings, cases(4, 8, 16))
    assert slow.status == "dropped"
    assert [r.status for r in near] == ["ok", "ok"] and library.status == "ok"
    # A slow library is not dropped.
    device = gpu({8: 1.0}, 30.0).with_own_clock(monkeypatch)
    kernel, library = measured(device, settings, cases(8))
    assert (kernel.status, library.status) == ("ok", "ok")


def test_a_resumed_sweep_is_not_compared_with_a_librarys_earlier_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(drop=True)
    device = gpu({8: 10.0}, 1.0).with_own_clock(monkeypatch)
    _, library = measured(device, settings, cases(8))
    (kernel,) = bench(InProcessExecutor(device), cases(8)[:1], settings, silent, [0], [library])
    assert kernel.status == "ok"


def test_a_library_is_skipped_with_a_reason_if_it_lacks_the_element_type() -> None:
    int32_problem = Problem(Shape(4, 5, 6), ELEMENT_TYPES["int32"])
    device = gpu({16: 1.0}, 1.0)
    kernel, library = measured(device, Settings(runs=2, warmup=0), cases(16, problem=int32_problem))
    assert (kernel.status, library.status) == ("ok", "skipped")
    assert (
        library.reason == "cublas has no product of int32, only of float32, float64, float16, bfloat16, tf32"
    )
    verified = list(verify_all(InProcessExecutor(device), cases(16, problem=int32_problem), True, silent))
    assert [r.status for r in verified] == ["ok", "skipped"]
    with pytest.raises(UsageError, match="no product of int32"):
        measured(device, Settings(), cases(problem=int32_problem))


def test_a_library_without_its_package_is_skipped_with_a_reason() -> None:
    device = gpu({16: 1.0}, 1.0)
    device.missing = "cublas needs a package"
    kernel, library = measured(device, Settings(runs=2, warmup=0), cases(16))
    assert (kernel.status, library.status, library.reason) == ("ok", "skipped", "cublas needs a package")
    assert LIBRARY not in device.blocks


def test_the_cpu_device_skips_a_library(cpu: Device[Any]) -> None:
    kernel, library = measured(cpu, Settings(runs=2, warmup=0), cases(4))
    assert (kernel.status, library.status) == ("ok", "skipped")
    assert "NVIDIA GPU" in library.reason
