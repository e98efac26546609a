"""The roofline: the rate that a device's arithmetic and its memory allow each method.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52 (2009). Attainable rate = min(peak, intensity x bandwidth).

An intensity is a number of operations per byte that the threads load from global memory:

- The requested intensity counts each load of each thread, as Programming Massively Parallel Processors does
  in chapter 5. The bytes are those of the kernel's header, or `trace` counts them. Tiling improves this
  intensity. Part of the loads does not reach device memory, because of caches and because threads of a warp
  load the same bytes. Therefore a measured rate may lie above this roof.
- The compulsory intensity counts A and B, each loaded once. No kernel loads fewer bytes, so no rate from a
  cold cache lies above this roof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from cudamm.benchmark.measure import bench
from cudamm.benchmark.result import Result, Status
from cudamm.benchmark.sampling_policy import Settings
from cudamm.benchmark.theoretical_rates import theoretical_bandwidth, theoretical_peaks
from cudamm.compile.program import program
from cudamm.devices.cpu_device import CpuDevice
from cudamm.devices.device import Ceilings, DeviceInfo, Peak, Target, Unit
from cudamm.devices.gpu_device import GpuTarget
from cudamm.errors import KernelError, NoDeviceError, RequirementError, UsageError
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import Architecture, architecture_of_gpu, find_architecture
from cudamm.kernels.launch_plan import Limits, check, limits_of, plan
from cudamm.kernels.method import ElementType, Method, Value
from cudamm.kernels.named_gpus import NamedGpu, named_gpu
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import MOST_CASES, ChosenBy, Traffic, Variant, check_count, chosen_record
from cudamm.source.c_text import without_comments

SCHEMA = "cudamm.roofline/1"

Region = Literal["memory-bound", "compute-bound"]

Cases = Sequence[tuple[Variant, Problem]]

_LIMITS = replace(CpuDevice.limits, device="a GPU", arch="")
"""Limits of launches on a GPU that this machine lacks: those of current GPUs."""


@dataclass(frozen=True)
class Bound:
    """The rate that the roofs allow at an intensity.

    Attributes:
        intensity: operations per byte.
        gflops: maximum rate, in 10⁹ operations per second.
        share_of_peak: the maximum rate over the peak; can exceed 1 for a float32 method whose `ceiling` does.
        region: the roof that limits the rate; `compute-bound` at the ridge point.
    """

    intensity: float
    gflops: float
    share_of_peak: float
    region: Region


_TENSOR_OR_HALF = re.compile(r"mma|\b__h(?:fma|mul|add)|\basm\b")
"""What a kernel's code has that multiplies on tensor cores, or may add in 16 bits."""


@dataclass(frozen=True)
class Roofline:
    """The roofs of a device: the peaks of its arithmetic units, and the bandwidth of its memory.

    Attributes:
        peaks: one or more peaks; at most one of each unit and element type.
        bandwidth_gbytes_per_s: bandwidth of device memory.
        bandwidth_from: source of the bandwidth, in words.
    """

    peaks: tuple[Peak, ...]
    bandwidth_gbytes_per_s: float
    bandwidth_from: str

    @property
    def peak_gflops(self) -> float:
        """Return the first peak, in 10⁹ operations per second; a fused multiply-add counts as two."""
        return self.peaks[0].gflops

    @property
    def ridge_intensity(self) -> float:
        """Return the intensity at which the first peak meets the bandwidth, in operations per byte."""
        return self.ridge(self.peaks[0])

    def ridge(self, peak: Peak) -> float:
        """Return the intensity at which a peak meets the bandwidth, in operations per byte."""
        return peak.gflops / self.bandwidth_gbytes_per_s

    def bound(self, intensity: float, ceiling: float = 1.0, peak: Peak | None = None) -> Bound:
        """Return the attainable rate at an intensity, given in operations per byte.

        Args:
            ceiling: rate of the arithmetic units that the method uses, over the rate of those of the peak.
            peak: peak of the units; the first one if None.
        """
        peak_gflops = self.peak_gflops if peak is None else peak.gflops
        by_memory, by_units = intensity * self.bandwidth_gbytes_per_s, ceiling * peak_gflops
        gflops = min(by_units, by_memory)
        region: Region = "memory-bound" if by_memory < by_units else "compute-bound"
        return Bound(intensity, gflops, gflops / peak_gflops, region)

    def peak_of(self, method: Method, element: ElementType) -> Peak:
        """Return the peak that bounds a method in an element type. Raise UsageError if it is not known.

        In 16-bit types, tf32 and 8-bit types this is the peak of the tensor cores, whatever a method uses: no
        other units multiply these types as fast. In float64 it is that of the tensor cores for a method that
        multiplies on them, else that of fused multiply-adds. In float32 it is always that of fused
        multiply-adds: a method on other units relates to it by its `ceiling`.
        """
        of_type = {
            peak.unit: peak for peak in self.peaks if peak.element_type in ("", element.of_products.name)
        }
        on_tensor_cores = element.is_narrow or method.may_use_tensor_cores
        found = (of_type.get("tensor cores") if on_tensor_cores else None) or of_type.get("FMA")
        if found is None:
            raise UsageError(
                f"no peak of {element.of_products.name} is known here: give it with --peak and --bandwidth "
                "(and --device gpu to measure as well)"
            )
        return found

    def remarks_on(self, cases: Cases) -> list[str]:
        """Return a sentence on each user's kernel that multiplies a 16-bit type without tensor cores."""
        of_float = next(
            (p for p in self.peaks if p.unit == "FMA" and p.element_type in ("", "float32")), None
        )
        found: dict[str, None] = {}
        for variant, problem in cases:
            method, element = variant.method, problem.element
            code = without_comments(method.code)
            is_other = not element.is_narrow or element.size_bytes != 2 or _TENSOR_OR_HALF.search(code)
            if of_float is None or method.builtin or not method.is_kernel or is_other:
                continue
            found[
                f"{method.path.name} multiplies without tensor cores, whose peak is the roof of its type: "
                f"fused multiply-adds of float32 reach {of_float.gflops:.0f} GFLOP/s at most, from "
                f"{self.ridge(of_float):.3g} op/B on"
            ] = None
        return list(found)

    def of(self, cases: Cases) -> Roofline:
        """Return these roofs with the peaks of the types alone. Raise UsageError if one is unknown."""
        for variant, problem in cases:
            self.peak_of(variant.method, problem.element)
        types = dict.fromkeys(problem.element.of_products.name for _, problem in cases)
        peaks = (peak for name in types for peak in self.peaks if peak.element_type in ("", name))
        return replace(self, peaks=tuple(dict.fromkeys(peaks)))

    def record(self) -> dict[str, Any]:
        """Return the fields of a `cudamm.roofline/1` file that describe the roofs."""
        return {
            "peak_gflops": self.peak_gflops,
            "bandwidth_gbytes_per_s": self.bandwidth_gbytes_per_s,
            "ridge_intensity": self.ridge_intensity,
            "peak_from": self.peaks[0].source,
            "bandwidth_from": self.bandwidth_from,
            "peaks": [asdict(peak) for peak in self.peaks],
        }


def given(peak_gflops: float, bandwidth_gbytes_per_s: float) -> Roofline:
    """Return the roofs that the user gave."""
    return Roofline((Peak("FMA", "", peak_gflops, "given"),), bandwidth_gbytes_per_s, "given")


def measured(ceilings: Ceilings, other_peaks: tuple[Peak, ...] = ()) -> Roofline:
    """Return the measured roofs: the rates of arithmetic alone, and of a copy."""
    return Roofline(
        (ceilings.fma_peak, *other_peaks),
        ceilings.copy_gbytes_per_s,
        "measured: a copy within device memory, read and written",
    )


def named(gpu: NamedGpu) -> Roofline:
    """Return the roofs of a named GPU."""
    peaks = theoretical_peaks(architecture_of_gpu(gpu), gpu.clock_mhz, gpu.tensor_clock_mhz, gpu.source)
    return Roofline(peaks, gpu.bandwidth_gbytes_per_s, gpu.source)


def theoretical(architecture: Architecture, properties: dict[str, Any]) -> Roofline:
    """Return the roofs that follow from a GPU's clocks and the width of its memory bus.

    Args:
        properties: properties of the device; `clock_mhz`, `memory_clock_mhz` and `memory_bus_bits` are used.

    Raises:
        UsageError: the driver does not report one of them.
    """
    names = ("clock_mhz", "memory_clock_mhz", "memory_bus_bits")
    missing = [name for name in names if not properties.get(name)]
    if missing:
        raise UsageError(
            f"--theoretical: this GPU's driver does not report {' and '.join(missing)}; leave the option "
            "out, or give --peak and --bandwidth with --device gpu"
        )
    clock_mhz, memory_clock_mhz, bus_bits = (properties[name] for name in names)
    peaks = theoretical_peaks(architecture, clock_mhz)
    return Roofline(peaks, *theoretical_bandwidth(memory_clock_mhz, bus_bits))


@dataclass(frozen=True)
class DataSheet:
    """A GPU that the user names, or describes by its rates, or by its architecture and clocks.

    All attributes are None if the user describes none.

    Attributes:
        gpu: name of a GPU in the table of named GPUs.
        peak: peak in GFLOP/s.
        bandwidth: bandwidth of device memory, in GB/s.
        arch: name of the architecture; `peak` follows from `arch`, `sms` and `clock`.
        sms: number of multiprocessors; None for the number in the architecture's table.
        clock: clock of the multiprocessors, in MHz.
        memory_clock: clock of the memory, in MHz; `bandwidth` follows from `memory_clock` and `bus_width`.
        bus_width: width of the memory bus, in bits.
    """

    gpu: str | None = None
    peak: float | None = None
    bandwidth: float | None = None
    arch: str | None = None
    sms: int | None = None
    clock: float | None = None
    memory_clock: float | None = None
    bus_width: int | None = None

    @property
    def is_given(self) -> bool:
        """Return whether the user described a GPU."""
        return self.gpu is not None or self.arch is not None or self.peak is not None

    @property
    def architecture(self) -> Architecture:
        """Return the architecture: an A100's if only rates are given. Raise UsageError if it is unknown."""
        if self.gpu is not None:
            return architecture_of_gpu(named_gpu(self.gpu))
        architecture = find_architecture(self.arch or "sm_80")
        if self.sms is None:
            return architecture
        return replace(architecture, gpu="a GPU", multiprocessors=self.sms)

    @property
    def roofs(self) -> Roofline:
        """Return the roofs. Raise UsageError if the GPU or its architecture is unknown."""
        if self.gpu is not None:
            return named(named_gpu(self.gpu))
        if self.arch is None:
            return given(self.peak or 0.0, self.bandwidth or 0.0)
        peaks = theoretical_peaks(self.architecture, self.clock or 0.0)
        bandwidth, bandwidth_from = self.bandwidth or 0.0, "given"
        if self.memory_clock is not None and self.bus_width is not None:
            bandwidth, bandwidth_from = theoretical_bandwidth(self.memory_clock, self.bus_width)
        return Roofline(peaks, bandwidth, bandwidth_from)

    @property
    def limits(self) -> Limits:
        """Return the limits of launches: the architecture's, or those of current GPUs if it is unknown."""
        if self.gpu is None and self.arch is None:
            return _LIMITS
        return limits_of(self.architecture)

    @property
    def device(self) -> DeviceInfo:
        """Return the description of the GPU for tables and files."""
        if self.gpu is not None or self.arch is not None:
            return DeviceInfo("architecture", self.architecture.name, str(self.architecture))
        name = f"a device of {self.peak:,.10g} GFLOP/s and {self.bandwidth:,.10g} GB/s"
        return DeviceInfo("numbers", "", name)

    def lacks(self, method: Method) -> str:
        """Return why a method has no bound on this GPU; empty if it has one."""
        if method.package:
            return f"{method.name} needs a GPU in this machine"
        is_known = self.gpu is not None or self.arch is not None
        return method.unsupported_reason(self.architecture.name) if is_known else ""


def roofs_of(executor: Executor, by_clocks: bool) -> Roofline:
    """Return the roofs of this machine's GPU: measured, or if `by_clocks` is true computed from its clocks.

    Raises:
        NoDeviceError: there is no GPU, or its roofs cannot be measured.
        UsageError: the driver does not report the clocks.
    """
    target: Target[Any] = executor.target
    if not isinstance(target, GpuTarget):
        reason = target.info.note or "this machine has no GPU"
        raise NoDeviceError(
            f"{reason}, and times on the CPU device are not those of a GPU: name a GPU, such as --gpu a100, "
            "or describe one with --peak GFLOPS and --bandwidth GB/S, to see its bounds"
        )
    if by_clocks:
        return theoretical(target.architecture, target.info.properties)
    ceilings = executor.facts().ceilings
    if ceilings is None:
        raise NoDeviceError("the roofs of this device cannot be measured: give --peak and --bandwidth")
    return measured(ceilings, executor.other_peaks())


@dataclass(frozen=True)
class RooflineResult:
    """One variant on one problem, with its bounds and, if it was measured, its rate.

    Attributes:
        operations: number of operations of the product, padding not counted.
        traffic: bytes that a launch requests, by the method's header or as `trace` counted them; None if
            neither is known.
        compulsory_bytes: bytes of A and B, padding not counted.
        least_store_bytes: bytes of C, padding not counted.
        requested: the bound at operations / bytes loaded; None if the bytes are unknown.
        compulsory: the bound at operations / compulsory_bytes.
        peak: the peak that bounds the rate.
        unit: the units of that peak; tensor cores also for a float32 method whose `ceiling` exceeds 1.
        measured: result of the measurement; None if nothing was measured.
        position: position of the case among all requested cases.
        chosen_by: how method and parameters were chosen for `best`; empty if `best` was not asked for.
        why_not_counted: why `trace` could not count the traffic; empty if it could, or was not asked to.
    """

    method: str
    params: dict[str, Value]
    m: int
    n: int
    k: int
    dtype: str
    padded: bool
    operations: int
    traffic: Traffic | None
    compulsory_bytes: int
    least_store_bytes: int
    requested: Bound | None
    compulsory: Bound
    peak: Peak
    unit: Unit
    measured: Result | None = None
    status: Status = "ok"
    reason: str = ""
    position: int = 0
    chosen_by: ChosenBy = ""
    why_not_counted: str = ""

    @property
    def gflops(self) -> float | None:
        """Return the measured rate; None if the variant was not measured, failed or was dropped."""
        return self.measured.gflops if self.measured is not None and self.status == "ok" else None

    @property
    def intensity_with_stores(self) -> float | None:
        """Return the operations over the bytes that a launch loads and stores; None if they are unknown."""
        traffic = self.traffic
        return None if traffic is None else self.operations / (traffic.load_bytes + traffic.store_bytes)

    @property
    def compulsory_intensity_with_stores(self) -> float:
        """Return the operations over the bytes of A, B and C."""
        return self.operations / (self.compulsory_bytes + self.least_store_bytes)

    @property
    def share_of_bound(self) -> float | None:
        """Return the measured rate over the bound at the requested intensity; above 1 if caches helped."""
        return self.gflops / self.requested.gflops if self.gflops and self.requested else None

    @property
    def share_of_compulsory_bound(self) -> float | None:
        """Return the measured rate over the bound at the compulsory intensity, which caches cannot raise."""
        return self.gflops / self.compulsory.gflops if self.gflops else None

    @property
    def share_not_from_memory(self) -> float | None:
        """Return the minimum share of the loaded bytes that did not come from device memory; None if unknown.

        The share follows from a measured rate at which threads load more bytes per second than device memory
        delivers.
        """
        share = self.share_of_bound
        if share is None or self.requested is None or self.requested.region == "compute-bound" or share <= 1:
            return None
        return 1 - 1 / share

    def record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.roofline/1` file; if measured, it extends the `cudamm.bench/2` row."""
        names = ("method", "params", "m", "n", "k", "dtype", "padded", "status", "reason", "gflops")
        row = self.measured.bench_record() if self.measured else {name: getattr(self, name) for name in names}
        row |= chosen_record(self.chosen_by)
        traffic, requested, compulsory = self.traffic, self.requested, self.compulsory
        return row | {
            "operations": self.operations,
            "load_bytes": traffic and traffic.load_bytes,
            "store_bytes": traffic and traffic.store_bytes,
            "bytes_from": traffic and ("trace" if traffic.is_counted else "header"),
            "intensity": requested and requested.intensity,
            "intensity_with_stores": self.intensity_with_stores,
            "bound_gflops": requested and requested.gflops,
            "bound_share_of_peak": requested and requested.share_of_peak,
            "region": requested and requested.region,
            "share_of_bound": self.share_of_bound,
            "unit": self.unit,
            "peak_gflops": self.peak.gflops,
            "compulsory_bytes": self.compulsory_bytes,
            "compulsory_intensity": compulsory.intensity,
            "compulsory_intensity_with_stores": self.compulsory_intensity_with_stores,
            "compulsory_bound_gflops": compulsory.gflops,
            "compulsory_bound_share_of_peak": compulsory.share_of_peak,
            "compulsory_region": compulsory.region,
            "share_of_compulsory_bound": self.share_of_compulsory_bound,
        }


def bounds(
    cases: Cases,
    roofline: Roofline,
    fmad: bool,
    counted: Mapping[int, Traffic | str] | None = None,
    limits: Limits = _LIMITS,
) -> Iterator[RooflineResult]:
    """Yield the bounds of each case; nothing is run.

    Args:
        counted: by position, the traffic of cases whose header gives none, or why it could not be counted.
        limits: limits of launches on the GPU.

    Raises:
        UsageError: a method is not written for the element type, its header's expressions cannot be evaluated
            for the problem, or the requirements of no case are met.
        UsageError, KernelError: the GPU can launch no case.
    """
    check_count(len(cases), "cases", MOST_CASES)
    results: list[RooflineResult] = []
    failures: list[KernelError | UsageError] = []
    for position, (variant, problem) in enumerate(cases):
        program(variant, problem.element, fmad)  # refuses an element type that the method does not have
        result = _result(variant, problem, roofline, position, (counted or {}).get(position))
        if result.status == "ok" and (failure := _why_not_launched(variant, problem, limits)) is not None:
            failures.append(failure)
            reason = str(failure).removeprefix(f"{variant}: ")
            result = replace(result, status="failed", reason=reason, traffic=None, requested=None)
        results.append(result)
    if failures and all(result.status != "ok" for result in results):
        raise failures[0]
    if results and all(result.status == "skipped" for result in results):
        raise RequirementError(results[0].reason)
    yield from results


def _why_not_launched(variant: Variant, problem: Problem, limits: Limits) -> KernelError | UsageError | None:
    """Return why a GPU cannot launch a case; None if it can.

    Raises:
        UsageError: the header's expressions cannot be evaluated for the problem.
    """
    try:
        launch = plan(variant, problem.shape, problem.element)
    except KernelError as error:
        return error
    try:
        check(variant, launch, limits)
    except UsageError as error:
        return error
    return None


def measure(
    executor: Executor,
    cases: Cases,
    settings: Settings,
    roofline: Roofline,
    progress: Progress,
    counted: Mapping[int, Traffic | str] | None = None,
) -> Iterator[RooflineResult]:
    """Measure each case as `bench` does, and yield each result with its bounds as soon as it is complete.

    Args:
        counted: as for `bounds`.

    Raises:
        UsageError: as for `measure.bench`, or a header's `traffic` cannot be evaluated for a problem.
        NoDeviceError: as for `measure.bench`.
    """
    for variant, problem in cases:
        _result(variant, problem, roofline, 0)  # raises for a wrong header before anything runs
    for measured_result in bench(executor, cases, settings, progress):
        position = measured_result.position
        yield _result(*cases[position], roofline, position, (counted or {}).get(position), measured_result)


def _result(
    variant: Variant,
    problem: Problem,
    roofline: Roofline,
    position: int,
    counted: Traffic | str | None = None,
    measured_result: Result | None = None,
) -> RooflineResult:
    shape, element = problem.shape, problem.element
    mnk = shape.m, shape.n, shape.k
    traffic, padded = None, False
    status: Status = "ok"
    reason = ""
    try:
        padded = variant.padded(element, *mnk) != mnk
        traffic = variant.traffic(element, *mnk)
        if traffic is None and isinstance(counted, Traffic):
            traffic = counted
    except RequirementError as error:
        status, reason = "skipped", str(error)
    if measured_result is not None:
        status, reason = measured_result.status, measured_result.reason
    least_store_bytes = shape.m * shape.n * element.bytes_of["C"]
    compulsory_bytes = shape.bytes_of(element) - least_store_bytes
    peak = roofline.peak_of(variant.method, element)
    ceiling = float(variant.method.ceiling) if element.name == "float32" else 1.0
    return RooflineResult(
        method=variant.method.name,
        params=variant.params,
        m=shape.m,
        n=shape.n,
        k=shape.k,
        dtype=element.name,
        padded=padded,
        operations=shape.flops,
        traffic=traffic,
        why_not_counted=counted if isinstance(counted, str) else "",
        compulsory_bytes=compulsory_bytes,
        least_store_bytes=least_store_bytes,
        requested=roofline.bound(shape.flops / traffic.load_bytes, ceiling, peak) if traffic else None,
        compulsory=roofline.bound(shape.flops / compulsory_bytes, ceiling, peak),
        peak=peak,
        unit="tensor cores" if ceiling > 1 else peak.unit,
        measured=measured_result,
        status=status,
        reason=reason,
        position=position,
        chosen_by=variant.chosen_by,
    )
