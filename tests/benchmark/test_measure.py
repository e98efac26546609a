"""Measuring: the number of launches and samples, verification, dropped variants and failures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any

import pytest
from scripted_device import ScriptedDevice, silent

from cudamm.benchmark.measure import bench
from cudamm.benchmark.result import Result
from cudamm.benchmark.sampling_policy import Settings
from cudamm.devices.device import Ceilings, Device
from cudamm.devices.gpu_device import GpuTarget
from cudamm.errors import UsageError
from cudamm.execution.case import UNVERIFIED
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.architecture import find_architecture
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant, variants

WriteKernel = Callable[..., Path]
PROBLEM = Problem(Shape(4, 5, 6), ELEMENT_TYPES["float32"])


def measured(device: Device[Any], settings: Settings, problem: Problem = PROBLEM) -> Result:
    (variant,) = variants(find("coalesced"), {})
    (result,) = bench(InProcessExecutor(device), [(variant, problem)], settings, silent)
    return result


def swept(device: Device[Any], settings: Settings, *blocks: int) -> list[Result]:
    """Measure a variant for each block size, and return the results in that order."""
    cases = [(variant, PROBLEM) for variant in variants(find("coalesced"), {"BLOCK_SIZE": blocks})]
    return sorted(
        bench(InProcessExecutor(device), cases, settings, silent), key=lambda result: result.position
    )


def compiling_slowly(device: ScriptedDevice, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each compilation take this long on the device's clock."""

    def compile_slowly(program: Any) -> str:
        device.sleep(seconds)
        return "compiled"

    monkeypatch.setattr(device, "compile", compile_slowly)


def counting() -> Iterator[float]:
    """Return the durations 1 ms, 2 ms, 3 ms, …, so that a sample's duration is the number of its launch."""
    return iter(float(n) for n in range(1, 10_000))


def test_samples_are_taken_after_verifying_and_warming_up() -> None:
    device = ScriptedDevice(counting())
    result = measured(device, Settings(runs=3, warmup=2))
    assert result.timing.samples_ms == [4, 5, 6]  # launch 1 verifies, launches 2 and 3 warm up
    assert len(device.launches) == 6
    assert (result.status, result.reason) == ("ok", "")
    assert result.verdict.correct is True
    assert (device.opened, device.closed) == (1, 1)


def test_a_result_has_the_statistics_of_its_samples() -> None:
    device = ScriptedDevice(iter([4.0, 10.0, 1.0, 2.0, 100.0]))
    result = measured(device, Settings(runs=5, warmup=0, verify=False))
    assert result.timing.samples_ms == [4, 10, 1, 2, 100]
    assert result.statistics is not None
    assert result.statistics.mean_ms == pytest.approx(23.4)
    assert result.median_ms == 4
    assert result.statistics.min_ms == 1
    assert result.gflops == pytest.approx(2 * 4 * 5 * 6 / 4e-3 / 1e9)


@pytest.mark.parametrize("runs", [1, 7])
@pytest.mark.parametrize("warmup", [0, 1, 5])
def test_without_verification_a_wrong_kernel_is_timed(runs: int, warmup: int) -> None:
    device = ScriptedDevice(counting(), error=1)
    result = measured(device, Settings(runs=runs, warmup=warmup, verify=False))
    assert result.status == "ok"
    assert result.verdict.correct is None
    assert result.timing.samples_ms == list(range(warmup + 1, warmup + runs + 1))
    assert len(device.launches) == runs + warmup


@pytest.mark.parametrize(
    ("each_ms", "launches"), [(500.0, 1), (100.0, 1), (99.0, 2), (30.0, 4), (1.0, 100), (0.0, 10_000)]
)
def test_warming_up_takes_a_tenth_of_a_second(each_ms: float, launches: int) -> None:
    device = ScriptedDevice(iter([each_ms] * 20_000))
    measured(device, Settings(runs=1, verify=False))
    # A launch of 0 ms counts as 10 microseconds, and the sum of those is rounded.
    assert len(device.launches) - 1 == pytest.approx(launches, rel=1e-3)


def test_long_launches_are_requested_one_at_a_time() -> None:
    """A request that takes longer than --timeout counts as a hang, however many launches warm up."""
    device = ScriptedDevice(repeat(30_000.0))
    measured(device, Settings(runs=1, warmup=10, verify=False))
    assert device.requested == [1] * 11
    device = ScriptedDevice(repeat(1.0))
    measured(device, Settings(runs=1, warmup=100, verify=False))
    assert sum(device.requested) == 101 and len(device.requested) < 12


def test_verifying_warms_a_processor_up_but_not_a_gpu() -> None:
    for kind, warmups in (("cpu", 2), ("gpu", 4)):
        device = ScriptedDevice(iter([40.0] + [30.0] * 100), kind)
        measured(device, Settings(runs=1))
        assert len(device.launches) == 1 + warmups + 1, kind


def test_threads_run_in_one_order_while_a_kernel_is_timed() -> None:
    device = ScriptedDevice(counting(), "cpu")
    measured(device, Settings(runs=3, warmup=2))
    assert set(device.launches) == {"ascending"}


def test_a_wrong_product_is_not_timed() -> None:
    device = ScriptedDevice(counting(), error=1)
    result = measured(device, Settings(runs=3, warmup=2))
    assert result.status == "failed"
    assert "20 of 20 elements wrong, first C[0][0]" in result.reason
    assert result.timing.samples_ms == []
    assert (result.statistics, result.median_ms, result.gflops) == (None, None, None)
    assert device.closed == 1


@pytest.mark.parametrize("failing", [1, 2, 4], ids=["verification", "warm-up", "second-sample"])
def test_a_launch_that_fails_costs_only_its_own_row(failing: int) -> None:
    script = [1.0] * 100
    script[failing - 1] = -1
    device = ScriptedDevice(iter(script))
    (variant,) = variants(find("coalesced"), {})
    other = Problem(Shape(2, 3, 4), PROBLEM.element)
    results = list(
        bench(
            InProcessExecutor(device),
            [(variant, PROBLEM), (variant, other)],
            Settings(runs=3, warmup=1),
            silent,
        )
    )
    assert [(r.status, r.reason, len(r.timing.samples_ms)) for r in results] == [
        ("failed", "it broke", 0),
        ("ok", "", 3),
    ]
    assert (device.opened, device.closed) == (2, 2)


@pytest.mark.slow
def test_host_methods_are_measured_on_the_host_beside_kernels_on_a_gpu() -> None:
    device = ScriptedDevice(counting())
    cases = [(variants(find(name), {})[0], PROBLEM) for name in ("numpy", "cpu-simple", "coalesced")]
    results = list(bench(InProcessExecutor(device), cases, Settings(runs=2, warmup=1), silent))
    results.sort(key=lambda r: r.position)  # host methods are measured after the last compilation
    assert [r.execution for r in results] == ["native", "native", "gpu"]
    assert [r.status for r in results] == ["ok"] * 3
    assert device.opened == 1


def test_results_are_yielded_one_by_one() -> None:
    """Ctrl-C then costs only the results that are not complete."""
    device = ScriptedDevice(counting())
    (variant,) = variants(find("coalesced"), {})
    results = bench(
        InProcessExecutor(device), [(variant, PROBLEM)] * 3, Settings(runs=2, warmup=0, verify=False), silent
    )
    next(results)
    assert len(device.launches) == 4  # variants take turns: the other two have one sample each
    assert [r.position for r in results] == [1, 2]
    assert len(device.launches) == 6


@pytest.mark.slow
def test_failures_on_the_cpu_device_cost_only_their_own_rows(
    cpu: Device[Any], write_kernel: WriteKernel
) -> None:
    source = find("coalesced").source
    replacements = {
        "syntax.cu": ("accumulator sum = 0;", "element sum = ;"),
        "crash.cu": ("accumulator sum = 0;", "element sum = M / (K - 6);"),
        "wrong.cu": ("= sum;", "= 2 * sum;"),
        "out_of_bounds.cu": ("C[row * N + col] = sum;", "C[row * N + col + 2] = sum;"),
    }
    methods = [find("naive")]
    for name, (old, new) in replacements.items():
        assert old in source
        methods.append(read_method(write_kernel(source.replace(old, new), name)))
    methods.append(find("tiled"))
    cases: list[tuple[Variant, Problem]] = [(variants(m, {"BLOCK_SIZE": (4,)})[0], PROBLEM) for m in methods]
    results = list(bench(InProcessExecutor(cpu), cases, Settings(runs=2, warmup=0), silent))
    assert [r.status for r in results] == ["ok", "failed", "failed", "failed", "failed", "ok"]
    reasons = ("does not compile: syntax.cu", "division by zero", "elements wrong", "past the end of C")
    for result, reason in zip(results[1:5], reasons, strict=True):
        assert reason in result.reason
        assert result.timing.samples_ms == []
    for result in (results[0], results[-1]):
        assert len(result.timing.samples_ms) == 2
        assert min(result.timing.samples_ms) > 0
        assert result.verdict.correct is True


def test_a_users_kernel_that_compiles_in_no_variant_is_an_error(
    cpu: Device[Any], write_kernel: WriteKernel
) -> None:
    method = read_method(
        write_kernel(find("coalesced").source.replace("accumulator sum = 0;", "element sum = ;"))
    )
    cases = [(variant, PROBLEM) for variant in variants(method, {"BLOCK_SIZE": (2, 4)})]
    with pytest.raises(UsageError, match=r"kernel\.cu does not compile: kernel\.cu:\d+:"):
        list(bench(InProcessExecutor(cpu), cases, Settings(), silent))


def test_a_write_past_a_matrix_fails_even_without_verification(
    cpu: Device[Any], write_kernel: WriteKernel
) -> None:
    source = find("coalesced").source.replace("C[row * N + col] = sum;", "C[row * N + col + 2] = sum;")
    (variant,) = variants(read_method(write_kernel(source)), {"BLOCK_SIZE": (4,)})
    (result,) = bench(InProcessExecutor(cpu), [(variant, PROBLEM)], Settings(runs=1, verify=False), silent)
    assert result.status == "failed"
    assert "wrote past the end of C: 2 elements" in result.reason


# Number of samples.


@pytest.mark.parametrize("runs", [1, 2, 10, 37, 300])
def test_the_requested_number_of_runs_is_taken_however_noisy_or_slow(
    runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = ScriptedDevice(cycle([1.0, 900.0])).with_own_clock(monkeypatch)
    result = measured(device, Settings(runs=runs, warmup=0))
    assert (len(result.timing.samples_ms), result.timing.ended_by) == (runs, "runs")
    assert len(device.launches) == runs + 1


def test_sampling_ends_after_ten_samples_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(repeat(1.0)).with_own_clock(monkeypatch)
    result = measured(device, Settings(warmup=0))
    assert (len(result.timing.samples_ms), result.timing.ended_by) == (10, "noise")
    assert result.timing.clock_mhz == 1500
    assert (result.timing.cache, result.timing.launches_per_sample) == ("cold", 1)


def test_outliers_do_not_prolong_sampling_if_the_median_is_precise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = ScriptedDevice(chain([1.0], cycle([1.0] * 9 + [30.0]))).with_own_clock(monkeypatch)
    result = measured(device, Settings(warmup=0))
    assert (len(result.timing.samples_ms), result.timing.ended_by) == (10, "noise")
    assert result.statistics is not None
    assert result.statistics.noise > 1
    assert result.median_ms == 1


def test_noisy_kernels_are_sampled_until_the_median_is_precise(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(cycle([1.0, 1.1])).with_own_clock(monkeypatch)
    result = measured(device, Settings(warmup=0, max_noise=0.02))
    assert result.timing.ended_by == "noise"
    assert result.statistics is not None
    assert result.statistics.count > 10
    assert result.statistics.noise > 0.02 > result.statistics.median_error


@pytest.mark.parametrize(("max_time_s", "most"), [(0.0, 10), (0.001, 10), (0.3, 240)])
def test_noisy_sampling_ends_with_max_time_but_takes_at_least_ten_samples(
    max_time_s: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = ScriptedDevice(cycle([1.0, 2.0])).with_own_clock(monkeypatch)
    result = measured(device, Settings(warmup=0, max_time_s=max_time_s))
    assert result.timing.ended_by == "time"
    count = len(result.timing.samples_ms)
    assert 10 <= count <= most
    assert sum(result.timing.samples_ms) >= 1e3 * max_time_s
    assert sum(result.timing.samples_ms[:-20]) < 1e3 * max_time_s or count == 10


@pytest.mark.parametrize(("script", "ended_by"), [([3000.0], "noise"), ([3000.0, 6000.0], "time")])
def test_three_samples_are_enough_if_one_launch_exceeds_the_time(
    script: list[float], ended_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = ScriptedDevice(cycle(script)).with_own_clock(monkeypatch)
    result = measured(device, Settings(warmup=0, max_time_s=2.0))
    assert (len(result.timing.samples_ms), result.timing.ended_by) == (3, ended_by)


# Turns of variants.


def test_variants_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that grows warm or busy then affects all variants alike."""
    device = ScriptedDevice(scripts={8: repeat(10.0), 16: repeat(25.0)}).with_own_clock(monkeypatch)
    swept(device, Settings(runs=10, warmup=0, verify=False), 8, 16)
    turns = [block for i, block in enumerate(device.blocks) if i == 0 or device.blocks[i - 1] != block]
    assert len(turns) == 6  # after six turns the first variant is complete, and the second continues alone
    assert device.blocks[:9] == [8, 16, *[8] * 5, *[16] * 2]
    assert (device.blocks.count(8), device.blocks.count(16)) == (10, 10)


def test_variants_take_turns_only_with_variants_of_their_problem() -> None:
    device = ScriptedDevice(counting())
    (variant,) = variants(find("coalesced"), {})
    other = Problem(Shape(2, 3, 4), PROBLEM.element)
    results = list(
        bench(
            InProcessExecutor(device),
            [(variant, PROBLEM), (variant, other)],
            Settings(runs=3, warmup=0),
            silent,
        )
    )
    assert [r.timing.samples_ms for r in results] == [[2, 3, 4], [6, 7, 8]]


@pytest.mark.parametrize(("idle_s", "launches"), [(0.1, [12, 2, 2]), (0.3, [12, 13, 13])])
def test_only_an_idle_gpu_is_warmed_up(
    idle_s: float, launches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sweep the fastest variant so far is sampled while others compile."""
    device = ScriptedDevice(scripts={8: repeat(10.0), 16: repeat(9.9), 32: repeat(9.8)})
    compiling_slowly(device.with_own_clock(monkeypatch), idle_s, monkeypatch)
    swept(device, Settings(runs=1, drop=True), 8, 16, 32)
    assert [device.blocks.count(block) for block in (8, 16, 32)] == launches


def test_a_sweep_with_one_run_takes_one_sample_per_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(repeat(1.0)).with_own_clock(monkeypatch)
    results = swept(device, Settings(runs=1, drop=True), 8, 16)
    assert [r.timing.samples_ms for r in results] == [[1.0]] * 2


def test_all_variants_are_verified_before_the_first_is_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(repeat(10.0)).with_own_clock(monkeypatch)
    swept(device, Settings(runs=1), 8, 16, 32)
    assert device.blocks[:3] == [8, 16, 32]
    assert [device.blocks.count(block) for block in (8, 16, 32)] == [12, 2, 2]


# Dropped variants.


@pytest.mark.parametrize("blocks", [(8, 16), (16, 8)])
def test_a_variant_twice_as_slow_is_dropped_after_one_sample(
    blocks: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    device = ScriptedDevice(scripts={8: repeat(1.0), 16: repeat(2.0)}).with_own_clock(monkeypatch)
    results = {r.params["BLOCK_SIZE"]: r for r in swept(device, Settings(warmup=0, drop=True), *blocks)}
    assert (results[8].status, len(results[8].timing.samples_ms)) == ("ok", 10)
    assert (results[16].status, results[16].timing.samples_ms) == ("dropped", [2.0])
    assert (results[16].timing.ended_by, results[16].verdict.correct) == ("dropped", True)


def test_a_far_slower_variant_is_dropped_after_its_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(scripts={8: repeat(1.0), 16: repeat(1.6)}).with_own_clock(monkeypatch)
    best, slow = swept(device, Settings(drop=True), 8, 16)
    assert best.status == "ok"
    assert (slow.status, slow.timing.samples_ms, slow.verdict.correct) == ("dropped", [1.6], True)
    assert device.blocks.count(16) == 1
    # The first launch alone drops nothing if it may be slow by chance: if it is little slower than the best,
    # or if launching takes as long as the kernel.
    for best_ms, first_ms, later_ms in ((1.0, 1.3, 0.98), (0.001, 0.1, 0.001)):
        scripts = {8: repeat(best_ms), 16: chain([first_ms], repeat(later_ms))}
        device = ScriptedDevice(scripts=scripts).with_own_clock(monkeypatch)
        assert [r.status for r in swept(device, Settings(drop=True), 8, 16)] == ["ok", "ok"]


@pytest.mark.parametrize(("idle_s", "statuses"), [(0.1, ["ok", "dropped"]), (0.3, ["ok", "ok"])])
def test_a_first_launch_may_take_longer_on_an_idle_gpu(
    idle_s: float, statuses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    device = ScriptedDevice(scripts={8: repeat(1.0), 16: chain([2.4], repeat(0.98))}).with_own_clock(
        monkeypatch
    )
    compiling_slowly(device, idle_s, monkeypatch)
    assert [r.status for r in swept(device, Settings(drop=True), 8, 16)] == statuses


def test_a_slow_first_launch_on_the_cpu_device_drops_no_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(kind="cpu", scripts={8: repeat(1.0), 16: chain([9.0], repeat(0.9))})
    results = swept(device.with_own_clock(monkeypatch), Settings(drop=True), 8, 16)
    assert [(r.status, r.median_ms) for r in results] == [("ok", 1.0), ("ok", 0.9)]


@pytest.mark.parametrize(
    ("slow_ms", "status", "samples"),
    [
        (repeat(1.04), "ok", 10),
        (repeat(1.06), "dropped", 3),
        (
            chain([1.2] * 3, [1.04], repeat(1.2)),
            "ok",
            10,
        ),  # its fastest sample is less than 5% slower
    ],
)
def test_a_variant_more_than_5_percent_slower_is_dropped_after_three_samples(
    slow_ms: Iterator[float], status: str, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = ScriptedDevice(scripts={8: repeat(1.0), 16: slow_ms}).with_own_clock(monkeypatch)
    best, slow = swept(device, Settings(warmup=0, drop=True), 8, 16)
    assert (best.status, len(best.timing.samples_ms)) == ("ok", 10)
    assert (slow.status, len(slow.timing.samples_ms)) == (status, samples)


def test_without_dropping_slow_variants_get_as_many_samples_as_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = ScriptedDevice(scripts={8: repeat(1.0), 16: repeat(5.0)}).with_own_clock(monkeypatch)
    results = swept(device, Settings(warmup=0, drop=False), 8, 16)
    assert [(r.status, len(r.timing.samples_ms)) for r in results] == [("ok", 10)] * 2


@pytest.mark.parametrize("runs", [None, 50])
def test_the_best_is_never_dropped(runs: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best's own first sample, even if it is very fast, does not drop the best."""
    scripts = {8: chain([9.0, 1.0], cycle([1.5, 1.9])), 16: repeat(4.0)}
    device = ScriptedDevice(scripts=scripts).with_own_clock(monkeypatch)
    best, other = swept(device, Settings(runs=runs, warmup=0, drop=True, max_time_s=1.0), 8, 16)
    assert (best.status, best.timing.ended_by) == ("ok", "time" if runs is None else "runs")
    assert other.status == "dropped"


def test_unverified_and_failed_variants_drop_no_other_variant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripts = {8: repeat(1.0), 16: repeat(9.0)}
    device = ScriptedDevice(scripts=scripts).with_own_clock(monkeypatch)
    results = swept(device, Settings(warmup=0, verify=False, drop=True), 8, 16)
    assert [r.status for r in results] == ["ok", "ok"]
    # The variant with block size 8 is right when it is verified, and fails after its first sample.
    scripts = {8: chain([1.0, 1.0], repeat(-1.0)), 16: repeat(9.0)}
    device = ScriptedDevice(scripts=scripts).with_own_clock(monkeypatch)
    results = swept(device, Settings(runs=5, warmup=0, drop=True), 16, 8)
    assert [r.status for r in results] == ["ok", "failed"]


def test_a_variant_above_the_ceiling_drops_no_other_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = Ceilings(fma_gflops=2 * 4 * 5 * 6 / 1e6, copy_gbytes_per_s=1e9)  # the problem takes at least 1 ms
    scripts = {8: repeat(0.5), 16: repeat(1.5), 32: repeat(4.0)}
    device = ScriptedDevice(scripts=scripts, ceilings=limit).with_own_clock(monkeypatch)
    results = swept(device, Settings(warmup=0, drop=True), 8, 16, 32)
    assert [r.status for r in results] == ["failed", "ok", "dropped"]


def test_the_best_result_of_a_resumed_run_drops_slower_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(scripts={8: repeat(1.0), 16: repeat(2.0)}).with_own_clock(monkeypatch)
    (best,) = swept(device, Settings(warmup=0, drop=True), 8)
    (slow_variant,) = variants(find("coalesced"), {"BLOCK_SIZE": (16,)})
    other = Problem(Shape(2, 3, 4), PROBLEM.element)
    cases = [(slow_variant, PROBLEM), (slow_variant, other)]

    def statuses(*resumed: Result) -> list[str]:
        settings = Settings(warmup=0, drop=True)
        return [r.status for r in bench(InProcessExecutor(device), cases, settings, silent, None, resumed)]

    assert statuses() == ["ok", "ok"]
    assert statuses(best) == ["dropped", "ok"]
    assert statuses(dataclasses.replace(best, verdict=UNVERIFIED)) == ["ok", "ok"]
    assert statuses(dataclasses.replace(best, status="dropped")) == ["ok", "ok"]


def test_failed_rows_have_the_requested_cache_state() -> None:
    for cache in ("cold", "hot"):
        result = measured(ScriptedDevice(repeat(1.0), error=1.0), Settings(cache=cache))
        assert (result.status, result.timing.cache) == ("failed", cache)
    device = ScriptedDevice(repeat(1.0), "cpu", error=1.0)
    assert measured(device, Settings(cache="cold")).timing.cache == "hot"


# Throttled devices.


def test_samples_of_a_throttled_device_are_taken_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(counting(), throttled=[True, True, False]).with_own_clock(monkeypatch)
    result = measured(device, Settings(runs=2, warmup=0))
    assert result.timing.samples_ms == [4, 5]  # launch 1 verifies; launches 2 and 3 are discarded
    assert device.pauses_s == [0.1, 0.2]
    timing = result.timing
    assert (timing.retaken, timing.throttled, timing.throttle_reasons) == (2, 0, ())


def test_pauses_do_not_count_as_sampling_time(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(cycle([1.0, 2.0]), throttled=[True] * 4).with_own_clock(monkeypatch)
    result = measured(device, Settings(warmup=0, max_time_s=0.3))
    assert sum(device.pauses_s) > 1
    assert result.timing.ended_by == "time"
    assert sum(result.timing.samples_ms) > 290


def test_samples_are_kept_and_marked_if_pauses_do_not_end_throttling(monkeypatch: pytest.MonkeyPatch) -> None:
    for settings, count in ((Settings(runs=5, warmup=0), 5), (Settings(warmup=0), 10)):
        device = ScriptedDevice(repeat(1.0), throttled=repeat(True)).with_own_clock(monkeypatch)
        result = measured(device, settings)
        assert result.status == "ok"
        assert len(device.pauses_s) == 6
        assert sum(device.pauses_s) == pytest.approx(6.3)
        timing = result.timing
        assert (len(timing.samples_ms), timing.throttled) == (count, count)
        assert timing.throttle_reasons == ("power cap",)
        assert timing.retaken >= 6


def test_only_samples_taken_during_throttling_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    throttled = [*[True] * 6, True, *[False] * 100]
    device = ScriptedDevice(repeat(30.0), throttled=throttled).with_own_clock(monkeypatch)
    result = measured(device, Settings(runs=5, warmup=0))
    assert (len(result.timing.samples_ms), result.timing.throttled) == (5, 1)


# Impossible rates, and products that are wrong only while they are timed.


@pytest.mark.parametrize(
    ("ceilings", "cache", "words"),
    [
        (Ceilings(0.0002, 1e9), "cold", "impossible: 0 GFLOP/s, but fused multiply-adds alone"),
        (Ceilings(0.0002, 1e9), "hot", "impossible: 0 GFLOP/s, but fused multiply-adds alone"),
        (Ceilings(1e9, 0.0001), "cold", "impossible: A and B were read at 0 GB/s"),
        (Ceilings(1e9, 0.0001), "hot", ""),
        (Ceilings(0.00023, 0.000175), "cold", ""),  # above the ceilings by less than 5% and less than 25%
    ],
)
def test_a_result_above_the_devices_own_ceilings_is_a_failure(
    ceilings: Ceilings, cache: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The problem has 240 operations, A and B have 216 bytes, and a launch takes 1 ms."""
    device = ScriptedDevice(repeat(1.0), ceilings=ceilings).with_own_clock(monkeypatch)
    result = measured(device, Settings(runs=3, warmup=0, cache=cache))
    assert result.status == ("failed" if words else "ok")
    assert result.reason.startswith(words)
    assert result.timing.samples_ms == [1, 1, 1]
    assert result.verdict.correct is True


class TargetWithClocks(GpuTarget):
    """A GPU with the clocks of an A100, of which nothing is compiled."""

    def __init__(self, device: ScriptedDevice) -> None:
        info = dataclasses.replace(device.info, properties={"clock_mhz": 1410})
        super().__init__(info, device.limits, find_architecture("sm_80"))

    def compile(self, program: Any) -> Any:
        return "compiled"

    def made_from(self, program: Any) -> list[str]:
        return [program.text]


def test_ceilings_that_were_measured_on_a_busy_gpu_accuse_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    device = ScriptedDevice(repeat(1.0), ceilings=Ceilings(0.0002, 1e9)).with_own_clock(monkeypatch)
    monkeypatch.setattr(device, "target", lambda: TargetWithClocks(device))
    assert measured(device, Settings(runs=3, warmup=0)).status == "ok"


@pytest.mark.parametrize(
    ("ceiling", "reason"),
    [
        ("2", ""),
        ("1", "impossible: 0 GFLOP/s, but fused multiply-adds alone reach 0 "),
        ("3 / 2", "impossible: 0 GFLOP/s, but the units that its header names reach 0 "),
    ],
)
def test_a_kernel_on_faster_units_has_the_ceiling_of_those_units(
    ceiling: str, reason: str, write_kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rate is 240 operations per millisecond, 1.8 times that of multiply-adds."""
    source = find("coalesced").source.replace("// threads:", f"// ceiling: {ceiling}\n// threads:")
    (variant,) = variants(read_method(write_kernel(source, "own.cu")), {})
    ceilings = Ceilings(0.00024 / 1.8, 1e9)
    device = ScriptedDevice(repeat(1.0), ceilings=ceilings).with_own_clock(monkeypatch)
    (result,) = bench(InProcessExecutor(device), [(variant, PROBLEM)], Settings(runs=3, warmup=0), silent)
    assert (result.status, result.reason[: len(reason)]) == ("failed" if reason else "ok", reason)


@pytest.mark.parametrize(("dtype", "times", "is_possible"), [("float32", 2, False), ("bfloat16", 20, True),
                                                             ("bfloat16", 40, False), ("tf32", 12, True),
                                                             ("tf32", 20, False)])  # fmt: skip
def test_kernels_in_types_of_tensor_cores_may_be_as_fast_as_they(
    write_kernel: WriteKernel, dtype: str, times: int, is_possible: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries use them without a header that says so. `times` is the rate, in float32 multiply-adds."""
    source = find("coalesced").source.replace("// sum-order: k", f"// types: {dtype}")
    (variant,) = variants(read_method(write_kernel(source)), {})
    ceilings = Ceilings(0.00024 / times, 1e9)
    device = ScriptedDevice(repeat(1.0), ceilings=ceilings).with_own_clock(monkeypatch)
    problem = dataclasses.replace(PROBLEM, element=ELEMENT_TYPES[dtype])
    (result,) = bench(InProcessExecutor(device), [(variant, problem)], Settings(runs=3, warmup=0), silent)
    assert result.status == ("ok" if is_possible else "failed"), result.reason
    assert is_possible or result.reason.startswith("impossible: ")


def test_a_product_that_is_wrong_only_while_it_is_timed_fails() -> None:
    device = ScriptedDevice(repeat(1.0), error=1, right_launches=1)
    result = measured(device, Settings(runs=3, warmup=0))
    assert (result.status, result.timing.samples_ms) == ("failed", [])
    assert result.reason.startswith("right on the first launch only; in a later one 20 of 20 elements wrong")
    assert device.opened == device.closed
    device = ScriptedDevice(repeat(1.0), error=1, right_launches=1)
    assert measured(device, Settings(runs=3, warmup=0, verify=False)).status == "ok"


def test_the_product_of_a_timed_launch_is_judged_and_not_of_a_warm_up() -> None:
    device = ScriptedDevice(repeat(1.0), error=1, right_launches=4)
    assert measured(device, Settings(runs=1, warmup=3)).status == "failed"
    assert len(device.launches) == 1 + 3 + 1


# Samples of several launches.


@pytest.mark.parametrize(("each_ms", "launches"), [(0.102, 20), (0.012, 200), (0.0021, 200), (9.0, 1)])
def test_short_hot_launches_share_a_sample(
    each_ms: float, launches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = ScriptedDevice(repeat(each_ms), floor_ms=0.002).with_own_clock(monkeypatch)
    result = measured(device, Settings(runs=4, warmup=0, cache="hot"))
    timing = result.timing
    assert (timing.launches_per_sample, timing.cache, timing.event_floor_ms) == (launches, "hot", 0.002)
    assert timing.samples_ms == pytest.approx([each_ms] * 4)
    # One launch verifies. One more determines the launches per sample, except if the kernel is long.
    assert len(device.launches) == 1 + (each_ms < 2) + 4 * launches


def test_cold_launches_and_launches_without_events_have_a_sample_each() -> None:
    for floor_ms, cache in ((0.002, "cold"), (None, "hot")):
        device = ScriptedDevice(repeat(0.01), floor_ms=floor_ms)
        timing = measured(device, Settings(runs=4, warmup=0, cache=cache)).timing
        assert (timing.launches_per_sample, timing.cache) == (1, cache)
