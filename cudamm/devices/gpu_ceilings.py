"""Upper bounds for the rates of a GPU: the rate of each kind of arithmetic units, and of a copy, measured.

Every measurement is compared with those of float32 multiply-adds and of a copy. The others are needed for the
roofline alone, and take a second: they are measured when they are asked for.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

import msgspec

from cudamm.compile.compile_cache import cached
from cudamm.compile.nvcc_compiler import nvcc
from cudamm.devices.device import Ceilings, Load, LoadedUnit, Peak, Unit
from cudamm.devices.gpu_support import Support
from cudamm.devices.nvml import GpuState, Monitor
from cudamm.devices.own_module import CEILINGS, PEAKS, OwnModule

T = TypeVar("T")

THREADS = 256
"""Number of threads of a block of each kernel."""

FACTOR = 0.5
"""The kernels' argument `factor`."""

TRIAL_STEPS = 64
"""Number of steps of the launches that show how long a step takes."""

LAUNCH_MS = 5.0
"""Duration of a timed launch, in milliseconds: long for its overhead and for reading the clock meanwhile."""

SAMPLES = 25
"""Number of timed launches. The first ones raise the clocks of an idle GPU; the fastest one counts."""

MOST_STEPS = 10**6
"""Maximum number of steps: no sum overflows, and the number of operations stays exact."""


@dataclass(frozen=True)
class PeakKernel:
    """A kernel of `ceilings.cu` or `other_peaks.cu` that does nothing but multiply and add.

    Attributes:
        instruction: what it executes and where its factors come from, in words.
        warp_flops: operations of a warp in a step; a multiply-add counts as two.
        blocks: number of blocks for each multiprocessor.
        archs: the architectures that have the kernel; empty for all.
        since_cuda: the first release of nvcc that compiles the kernel.
    """

    name: str
    unit: Unit
    element_type: str
    instruction: str
    warp_flops: int
    blocks: int = 8
    archs: tuple[str, ...] = ()
    since_cuda: tuple[int, int] = (0, 0)


_WITH_MMA = ("sm_80", "sm_86", "sm_87", "sm_89", "sm_120", "sm_121")
"""Architectures whose tensor cores reach their full rate in types of up to 32 bits by `mma.sync`."""

_DEPTHS = {"float16": 16, "bfloat16": 16, "tf32": 8, "float8_e4m3": 32}
"""Number of multiply-adds for an element of C in an instruction of tensor cores: 32 bytes of A and of B."""


def _tensor_kernels(element: str, depth: int) -> tuple[PeakKernel, PeakKernel]:
    """Return the kernels with `mma.sync` and with `wgmma`, which have different architectures."""
    is_8_bit = element == "float8_e4m3"
    return (
        PeakKernel(
            f"mma_{element}", "tensor cores", element, f"mma.sync m16n8k{depth} from registers",
            32 * 16 * 8 * depth * 2, 8,
            ("sm_89", "sm_120", "sm_121") if is_8_bit else _WITH_MMA,
            (12, 4) if is_8_bit else (0, 0),
        ),
        # The four warps of a warpgroup share an instruction.
        PeakKernel(
            f"wgmma_{element}", "tensor cores", element, f"wgmma m64n256k{depth} from shared memory",
            16 * 64 * 256 * depth * 2 // 4, 1, ("sm_90",),
        ),
    )  # fmt: skip


FMA_KERNEL, _DOUBLE_FMA_KERNEL = (
    PeakKernel(f"multiply_add_{element}", "FMA", element, "multiply-adds from registers", 128 * 32 * 2)
    for element in ("float32", "float64")
)

# Float64 comes before the types whose kernels reach the power limit. Shortly after such kernels, an H100
# computed up to 5% faster than its highest clock allows, and the fastest launch counts.
OTHER_PEAK_KERNELS = (
    _DOUBLE_FMA_KERNEL,
    PeakKernel(
        "mma_float64", "tensor cores", "float64", "mma.sync m8n8k4 from registers", 32 * 8 * 8 * 4 * 2, 8,
        ("sm_80", "sm_90"),
    ),
    PeakKernel(
        "large_mma_float64", "tensor cores", "float64", "mma.sync m16n8k16 from registers",
        16 * 16 * 8 * 16 * 2, 8, ("sm_90",),
    ),
    *(kernel for element, depth in _DEPTHS.items() for kernel in _tensor_kernels(element, depth)),
)  # fmt: skip
"""The kernels of all other peaks. If several measure the same peak, the fastest one counts."""


def other_peak_kernels(arch: str, release: tuple[int, int]) -> tuple[PeakKernel, ...]:
    """Return the other kernels that an architecture has if an nvcc of this release compiles them."""
    return tuple(
        kernel
        for kernel in OTHER_PEAK_KERNELS
        if (not kernel.archs or arch in kernel.archs) and release >= kernel.since_cuda
    )


def measured_ceilings(support: Support, key: str, read_clock: Callable[[], int | None]) -> Ceilings:
    """Return the upper bounds for the rates of a GPU, measured once and cached under `key`.

    Args:
        read_clock: returns the current clock of the multiprocessors in MHz, or None.
    """
    return _measured_once(
        ("ceilings", key, CEILINGS.text, repr(FMA_KERNEL)),
        read_ceilings,
        lambda: _Measurement(support, CEILINGS, read_clock).ceilings(),
    )


def measured_other_peaks(
    support: Support, key: str, read_clock: Callable[[], int | None]
) -> tuple[Peak, ...]:
    """Return the peaks of all units and types but float32 multiply-adds, as `measured_ceilings` does.

    Peaks that were measured by other kernels are measured again: some may be missing.
    """
    kernels = other_peak_kernels(support.arch, nvcc().release)
    return _measured_once(
        ("other peaks", key, PEAKS.text, *map(repr, kernels)),
        read_peaks,
        lambda: _Measurement(support, PEAKS, read_clock).peaks(kernels),
    )


def _measured_once(made_from: Sequence[str], read: Callable[[Path], T | None], measure: Callable[[], T]) -> T:
    """Return what is cached, or what is measured now and then cached."""

    def make(path: Path) -> None:
        path.write_bytes(msgspec.json.encode(measure()))

    path = cached(made_from, ".json", make)
    found = read(path)
    if found is None:  # the file was damaged
        path.unlink()
        found = read(cached(made_from, ".json", make))
    assert found is not None  # noqa: S101 - this process has just written the file
    return found


def read_ceilings(path: Path) -> Ceilings | None:
    """Return the ceilings in a file of the cache; None if the file is damaged."""
    found = _read(path, Ceilings)
    return found if found and _are_possible(found.fma_gflops, found.copy_gbytes_per_s) else None


def read_peaks(path: Path) -> tuple[Peak, ...] | None:
    """Return the peaks in a file of the cache; None if the file is damaged."""
    found = _read(path, tuple[Peak, ...])
    return found if found and _are_possible(*(peak.gflops for peak in found)) else None


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _are_possible(*rates: float) -> bool:
    return all(1 <= rate <= 1e9 for rate in rates)


class _Measurement:
    """Measurements of one GPU with the kernels of a module, in its current context."""

    def __init__(self, support: Support, module: OwnModule, read_clock: Callable[[], int | None]) -> None:
        self._support, self._cuda, self._read_clock = support, support.cuda, read_clock
        self._module = module.load(support.arch)

    def ceilings(self) -> Ceilings:
        """Measure the ceilings that every measurement needs."""
        fma = self._peak(FMA_KERNEL)
        return Ceilings(fma.gflops, self._copy_gbytes_per_s(), fma.clock_mhz)

    def peaks(self, kernels: Sequence[PeakKernel]) -> tuple[Peak, ...]:
        """Measure with each kernel; return the highest peak of each kind of units in each type."""
        best: dict[tuple[str, str], Peak] = {}
        for kernel in kernels:
            peak = self._peak(kernel)
            known = best.get((peak.unit, peak.element_type))
            if known is None or peak.gflops > known.gflops:
                best[peak.unit, peak.element_type] = peak
        return tuple(best.values())

    def _peak(self, kernel: PeakKernel) -> Peak:
        with self.repeatable(kernel) as (launch, flops):
            samples = [self.timed(launch) for _ in range(SAMPLES)]
        fastest_ms = min(ms for ms, _ in samples)
        # The driver reports a clock late: the value read during the fastest launch may be an earlier one. The
        # fastest launch ran at the highest clock.
        clock_mhz = max((clock for _, clock in samples if clock is not None), default=None)
        source = f"measured: {kernel.element_type} {kernel.instruction}"
        return Peak(kernel.unit, kernel.element_type, flops / fastest_ms / 1e6, source, clock_mhz)

    @contextlib.contextmanager
    def repeatable(self, kernel: PeakKernel) -> Iterator[tuple[Callable[[], None], float]]:
        """Yield a function that queues a launch of about `LAUNCH_MS`, and the operations of such a launch."""
        function = self._module.get_function(kernel.name)
        function.prepare("Pif")
        blocks = kernel.blocks * self._support.multiprocessors
        unused = self._cuda.mem_alloc(8)

        def launch(steps: int) -> None:
            function.prepared_async_call((blocks, 1), (THREADS, 1, 1), None, int(unused), steps, FACTOR)

        try:
            launch(TRIAL_STEPS)  # loads the kernel
            trial_ms = min(self.timed(lambda: launch(TRIAL_STEPS))[0] for _ in range(3))
            steps = min(MOST_STEPS, max(1, round(TRIAL_STEPS * LAUNCH_MS / trial_ms)))
            yield lambda: launch(steps), kernel.warp_flops * steps * blocks * (THREADS // 32)
        finally:
            unused.free()

    def timed(self, launch: Callable[[], None]) -> tuple[float, int | None]:
        """Return the milliseconds of a launch, and the clock while it ran."""
        start, end = self._cuda.Event(), self._cuda.Event()
        start.record()
        launch()
        end.record()
        clock_mhz = self._read_clock()
        end.synchronize()
        return start.time_till(end), clock_mhz

    def _copy_gbytes_per_s(self) -> float:
        with self.repeatable_copy() as (launch, moved_bytes):
            fastest_ms = min(self._support.time(launch, 10, 1, cold=False))
            return float(moved_bytes / fastest_ms / 1e6)

    @contextlib.contextmanager
    def repeatable_copy(self) -> Iterator[tuple[Callable[[], None], float]]:
        """Yield a function that queues a copy within device memory, and the bytes read and written by it."""
        count = max(2**26, 8 * self._support.l2_bytes)
        free = self._cuda.mem_get_info()[0]
        count = min(count, free // 4) // 16 * 16
        source, target = self._cuda.mem_alloc(count), self._cuda.mem_alloc(count)
        self._cuda.memset_d32(source, 1, count // 4)
        function = self._module.get_function("copy")
        function.prepare("PPQ")
        blocks = 8 * self._support.multiprocessors

        def launch() -> None:
            arguments = int(source), int(target), count // 16
            function.prepared_async_call((blocks, 1), (THREADS, 1, 1), None, *arguments)

        try:
            launch()
            yield launch, 2 * count
        finally:
            source.free()
            target.free()


COPIES = 16
"""Number of copies in a timed launch of `measured_load`: long for the overhead of two events."""

LAUNCHES_WHILE_READ = 10
"""Number of launches that keep the GPU busy while its state is read, at the end of the load."""


def measured_load(support: Support, unit: LoadedUnit, seconds: float, monitor: Monitor | None) -> Load | None:
    """Keep one kind of a GPU's units busy for a time, and return what the GPU did meanwhile.

    Return None if the GPU has no such units.

    Args:
        monitor: reads the GPU's state; None: the state is not known.
    """
    measurement = _Measurement(support, PEAKS, monitor.sm_clock_mhz if monitor else lambda: None)
    if unit == "memory":
        with measurement.repeatable_copy() as (copy, moved_bytes):

            def launch() -> None:
                for _ in range(COPIES):
                    copy()

            return _loaded(measurement, launch, COPIES * moved_bytes, unit, "copy", seconds, monitor)
    element = "float32" if unit == "FMA" else "float16"
    for kernel in (FMA_KERNEL, *other_peak_kernels(support.arch, nvcc().release)):
        if (kernel.unit, kernel.element_type) == (unit, element):
            with measurement.repeatable(kernel) as (launch_kernel, flops):
                words = f"{element} {kernel.instruction}"
                return _loaded(measurement, launch_kernel, flops, unit, words, seconds, monitor)
    return None


def _loaded(
    measurement: _Measurement,
    launch: Callable[[], None],
    work: float,
    unit: LoadedUnit,
    kernel: str,
    seconds: float,
    monitor: Monitor | None,
) -> Load:
    """Launch again and again for a time.

    Args:
        work: operations or bytes of a launch.
    """
    begun = time.monotonic()
    samples: list[tuple[float, int | None]] = []
    while not samples or time.monotonic() - begun < seconds:
        samples.append(measurement.timed(launch))
    state = GpuState()
    if monitor is not None:
        for _ in range(LAUNCHES_WHILE_READ):
            launch()
        state = monitor.state()
        samples.append(measurement.timed(launch))  # waits until the GPU is idle
    clocks = [clock for _, clock in samples if clock is not None]
    return Load(
        unit,
        kernel,
        rate=work / median(ms for ms, _ in samples) / 1e6,
        launches=len(samples),
        clock_mhz=median(clocks) if clocks else None,
        power_w=state.power_w,
        temperature_c=state.temperature_c,
        throttle_reasons=state.throttle_reasons,
        ecc_corrected=state.ecc_corrected,
        ecc_uncorrected=state.ecc_uncorrected,
    )
