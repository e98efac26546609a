"""Measuring: how often a kernel is launched, what is verified, and what becomes of one that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cudamm.catalog import ELEMENT_TYPES, Method, Variant, find, read_method, variants
from cudamm.devices import Device, DeviceInfo, Run
from cudamm.devices.device import GUARD_BYTES, POISON, guarded
from cudamm.errors import KernelError, UsageError
from cudamm.launch import Launch, Limits
from cudamm.measure import Settings, bench
from cudamm.problem import Problem, Shape
from cudamm.results import Result

WriteKernel = Callable[..., Path]
PROBLEM = Problem(Shape(4, 5, 6), ELEMENT_TYPES["float32"])


class ScriptedRun(Run):
    """A right product, in as many milliseconds as the script says next."""

    def __init__(self, device: ScriptedDevice, launch: Launch, a: np.ndarray, b: np.ndarray) -> None:
        super().__init__(launch, a, b)
        self.device = device
        self.memory = {name: guarded(name, matrix) for name, matrix in self.matrices.items()}
        self.load(a, b)

    def launch(self, descending: bool = False) -> float:
        self.device.launches.append("descending" if descending else "ascending")
        milliseconds = next(self.device.script)
        if milliseconds < 0:
            raise KernelError("it broke")
        self.product()[:] = self.matrices["A"] @ self.matrices["B"] + self.device.error
        return milliseconds

    def _place(self, name: Any, matrix: np.ndarray) -> None:
        self.memory[name][GUARD_BYTES : GUARD_BYTES + matrix.nbytes] = matrix.reshape(-1).view(np.uint8)

    def fill_output(self, word: np.uint32 = POISON) -> None:
        self.product().view(np.uint32)[:] = word

    def region(self, name: Any) -> np.ndarray:
        return self.memory[name]

    def close(self) -> None:
        self.device.closed += 1


class ScriptedDevice(Device[str]):
    """A device whose launches take what a test says."""

    limits = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 48 * 1024)

    def __init__(self, milliseconds: Iterator[float], kind: str = "gpu", error: float = 0) -> None:
        self.script = milliseconds
        self.info = DeviceInfo(kind, kind, "a script")
        self.has_thread_order = kind == "cpu"
        self.error = error
        self.launches: list[str] = []
        self.opened = self.closed = 0

    def execution(self, method: Method) -> Any:
        return "gpu" if self.info.kind == "gpu" else "emulated"

    def compile(self, program: Any) -> str:
        return "compiled"

    def open(self, program: Any, compiled: str, launch: Launch, a: np.ndarray, b: np.ndarray) -> Run:
        self.opened += 1
        return ScriptedRun(self, launch, a, b)

    def free_bytes(self) -> int:
        return 2**40


def silent(doing: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def measured(device: Device[Any], settings: Settings, problem: Problem = PROBLEM) -> Result:
    (variant,) = variants(find("coalesced"), {})
    (result,) = bench(device, [(variant, problem)], settings, silent)
    return result


def counting() -> Iterator[float]:
    """1 ms, 2 ms, 3 ms, …: each launch is known by its time."""
    return iter(float(n) for n in range(1, 10_000))


def test_the_runs_counted_are_those_after_verifying_and_warming_up() -> None:
    device = ScriptedDevice(counting())
    result = measured(device, Settings(runs=3, warmup=2))
    assert result.runs_ms == [4, 5, 6]  # 1: verified, 2 and 3: warm-up
    assert len(device.launches) == 6
    assert (result.status, result.reason) == ("ok", "")
    assert result.verdict.correct is True
    assert (device.opened, device.closed) == (1, 1)


def test_the_figures_of_a_result() -> None:
    device = ScriptedDevice(iter([4.0, 10.0, 1.0, 2.0, 100.0]))
    result = measured(device, Settings(runs=5, warmup=0, verify=False))
    assert result.runs_ms == [4, 10, 1, 2, 100]
    assert result.mean_ms == pytest.approx(23.4)
    assert result.median_ms == 4
    assert result.min_ms == 1
    assert result.gflops == pytest.approx(2 * 4 * 5 * 6 / 4e-3 / 1e9)


@pytest.mark.parametrize("runs", [1, 7])
@pytest.mark.parametrize("warmup", [0, 1, 5])
def test_without_verifying(runs: int, warmup: int) -> None:
    device = ScriptedDevice(counting(), error=1)
    result = measured(device, Settings(runs=runs, warmup=warmup, verify=False))
    assert result.status == "ok"
    assert result.verdict.correct is None
    assert result.runs_ms == list(range(warmup + 1, warmup + runs + 1))
    assert len(device.launches) == runs + warmup


@pytest.mark.parametrize(
    ("each_ms", "launches"), [(500.0, 1), (100.0, 1), (99.0, 2), (30.0, 4), (1.0, 100), (0.0, 10_000)]
)
def test_warming_up_takes_a_tenth_of_a_second(each_ms: float, launches: int) -> None:
    device = ScriptedDevice(iter([each_ms] * 20_000))
    measured(device, Settings(runs=1, verify=False))
    # Times of nothing count as 10 microseconds, whose sum is itself rounded.
    assert len(device.launches) - 1 == pytest.approx(launches, rel=1e-3)


def test_verifying_warms_a_processor_up_but_not_a_gpu() -> None:
    for kind, warmups in (("cpu", 2), ("gpu", 4)):
        device = ScriptedDevice(iter([40.0] + [30.0] * 100), kind)
        measured(device, Settings(runs=1))
        assert len(device.launches) == 1 + warmups + 1, kind


def test_timing_takes_threads_in_one_order_only() -> None:
    device = ScriptedDevice(counting(), "cpu")
    measured(device, Settings(runs=3, warmup=2))
    assert set(device.launches) == {"ascending"}


def test_a_wrong_product_is_not_timed() -> None:
    device = ScriptedDevice(counting(), error=1)
    result = measured(device, Settings(runs=3, warmup=2))
    assert result.status == "failed"
    assert "20 of 20 elements wrong, first C[0][0]" in result.reason
    assert result.runs_ms == []
    assert (result.mean_ms, result.median_ms, result.min_ms, result.gflops) == (None, None, None, None)
    assert device.closed == 1


@pytest.mark.parametrize("at", [1, 2, 4])
def test_a_launch_that_breaks_ends_only_its_own_row(at: int) -> None:
    """At verification, at the warm-up, at a run that counts."""
    script = [1.0] * 100
    script[at - 1] = -1
    device = ScriptedDevice(iter(script))
    (variant,) = variants(find("coalesced"), {})
    other = Problem(Shape(2, 3, 4), PROBLEM.element)
    results = list(bench(device, [(variant, PROBLEM), (variant, other)], Settings(runs=3, warmup=1), silent))
    assert [(r.status, r.reason, len(r.runs_ms)) for r in results] == [
        ("failed", "it broke", 0),
        ("ok", "", 3),
    ]
    assert (device.opened, device.closed) == (2, 2)


def test_host_methods_run_on_the_host_beside_a_gpu() -> None:
    device = ScriptedDevice(counting())
    cases = [(variants(find(name), {})[0], PROBLEM) for name in ("numpy", "cpu-simple", "coalesced")]
    results = list(bench(device, cases, Settings(runs=2, warmup=1), silent))
    assert [r.execution for r in results] == ["native", "native", "gpu"]
    assert [r.status for r in results] == ["ok"] * 3
    assert device.opened == 1


def test_results_come_one_by_one() -> None:
    """So that Ctrl-C costs only what has not been measured."""
    device = ScriptedDevice(counting())
    (variant,) = variants(find("coalesced"), {})
    results = bench(device, [(variant, PROBLEM)] * 3, Settings(runs=2, warmup=0, verify=False), silent)
    next(results)
    assert len(device.launches) == 2


def test_failures_on_the_cpu_device_cost_their_rows_only(cpu: Device[Any], write_kernel: WriteKernel) -> None:
    source = find("coalesced").source
    bad = {
        "syntax.cu": ("element sum = 0;", "element sum = ;"),
        "crash.cu": ("element sum = 0;", "element sum = M / (K - 6);"),
        "wrong.cu": ("= sum;", "= 2 * sum;"),
        "out_of_bounds.cu": ("C[row * N + col] = sum;", "C[row * N + col + 2] = sum;"),
    }
    methods = [find("naive")]
    for name, (old, new) in bad.items():
        assert old in source
        methods.append(read_method(write_kernel(source.replace(old, new), name)))
    methods.append(find("tiled"))
    cases: list[tuple[Variant, Problem]] = [(variants(m, {"BLOCK_SIZE": (4,)})[0], PROBLEM) for m in methods]
    results = list(bench(cpu, cases, Settings(runs=2, warmup=0), silent))
    assert [r.status for r in results] == ["ok", "failed", "failed", "failed", "failed", "ok"]
    said = ("does not compile: syntax.cu", "division by zero", "elements wrong", "past the end of C")
    for result, words in zip(results[1:5], said, strict=True):
        assert words in result.reason
        assert result.runs_ms == []
    for result in (results[0], results[-1]):
        assert len(result.runs_ms) == 2
        assert min(result.runs_ms) > 0
        assert result.verdict.correct is True


def test_a_users_kernel_that_compiles_in_no_variant_is_an_error(
    cpu: Device[Any], write_kernel: WriteKernel
) -> None:
    method = read_method(
        write_kernel(find("coalesced").source.replace("element sum = 0;", "element sum = ;"))
    )
    cases = [(variant, PROBLEM) for variant in variants(method, {"BLOCK_SIZE": (2, 4)})]
    with pytest.raises(UsageError, match=r"kernel\.cu does not compile: kernel\.cu:\d+:"):
        list(bench(cpu, cases, Settings(), silent))


def test_unverified_kernels_may_still_not_miss_their_memory(
    cpu: Device[Any], write_kernel: WriteKernel
) -> None:
    source = find("coalesced").source.replace("C[row * N + col] = sum;", "C[row * N + col + 2] = sum;")
    (variant,) = variants(read_method(write_kernel(source)), {"BLOCK_SIZE": (4,)})
    (result,) = bench(cpu, [(variant, PROBLEM)], Settings(runs=1, verify=False), silent)
    assert result.status == "failed"
    assert "wrote past the end of C: 2 elements" in result.reason
