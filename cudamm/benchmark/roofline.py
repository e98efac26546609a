"""The roofline: what rate a device's arithmetic and its memory allow each method.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52 (2009). Attainable rate = min(peak, intensity x bandwidth).

A method has two intensities, operations over bytes:

- requested: over the bytes that its threads load, each load of each thread counted, as Programming Massively
  Parallel Processors, chapter 5, counts. It is what tiling improves. Caches, and threads of a warp that load
  the same, take traffic from memory: a measured rate may lie above this roof.
- compulsory: over A and B read once and C written once. No kernel moves less, so no rate from a cold cache is
  above this roof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from cudamm.benchmark.measure import bench
from cudamm.benchmark.result import Result, Status
from cudamm.benchmark.sampling_policy import Settings
from cudamm.compile.program import program
from cudamm.devices.cpu_device import CpuDevice
from cudamm.devices.device import Ceilings, DeviceInfo, Target
from cudamm.devices.gpu_device import GpuTarget
from cudamm.errors import NoDeviceError, RequirementError, UsageError
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import Architecture, find_architecture
from cudamm.kernels.launch_plan import check, plan
from cudamm.kernels.method import Method, Value
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import ChosenBy, Traffic, Variant, chosen_record

SCHEMA = "cudamm.roofline/1"

Region = Literal["memory-bound", "compute-bound"]

Cases = Sequence[tuple[Variant, Problem]]

_LIMITS = replace(CpuDevice.limits, device="a GPU", arch="")
"""Of launches on a device that is not here: those of current GPUs."""


@dataclass(frozen=True)
class Bound:
    """What the roofs allow at an intensity.

    Attributes:
        intensity: operations a byte.
        gflops: 10⁹ operations a second at most.
        share_of_peak: the same over the peak, between 0 and 1.
        region: which roof it is; at the ridge point itself `compute-bound`.
    """

    intensity: float
    gflops: float
    share_of_peak: float
    region: Region


@dataclass(frozen=True)
class Roofline:
    """A device's two roofs.

    Attributes:
        peak_gflops: 10⁹ operations a second, a fused multiply-add counting as two.
        bandwidth_gbytes_per_s: of device memory.
        peak_from, bandwidth_from: where the numbers come from, for people.
        element_type: whose operations the peak counts; None where whoever gave it knows.
    """

    peak_gflops: float
    bandwidth_gbytes_per_s: float
    peak_from: str
    bandwidth_from: str
    element_type: str | None = None

    @property
    def ridge_intensity(self) -> float:
        """Operations a byte where the two roofs meet."""
        return self.peak_gflops / self.bandwidth_gbytes_per_s

    def bound(self, intensity: float, ceiling: float = 1.0) -> Bound:
        """What is attainable at an intensity in operations a byte.

        Args:
            ceiling: how fast the units that multiply are, over those of the peak.
        """
        by_memory, by_units = intensity * self.bandwidth_gbytes_per_s, ceiling * self.peak_gflops
        gflops = min(by_units, by_memory)
        region: Region = "memory-bound" if by_memory < by_units else "compute-bound"
        return Bound(intensity, gflops, gflops / self.peak_gflops, region)

    def check(self, cases: Cases) -> None:
        """Refuse element types whose peak this is not. Raises UsageError."""
        for _, problem in cases:
            if self.element_type not in (None, problem.element.name):
                raise UsageError(
                    f"this peak is {self.element_type}'s, and the roofline of {problem.element.name} needs "
                    "its own: give it with --peak and --bandwidth (and --device gpu to measure against them)"
                )

    def record(self) -> dict[str, Any]:
        """What a `cudamm.roofline/1` file says of the device."""
        return {
            "peak_gflops": self.peak_gflops,
            "bandwidth_gbytes_per_s": self.bandwidth_gbytes_per_s,
            "ridge_intensity": self.ridge_intensity,
            "peak_from": self.peak_from,
            "bandwidth_from": self.bandwidth_from,
        }


def given(peak_gflops: float, bandwidth_gbytes_per_s: float) -> Roofline:
    """The roofs of a device that somebody names by its numbers."""
    return Roofline(peak_gflops, bandwidth_gbytes_per_s, "given", "given")


def measured(ceilings: Ceilings) -> Roofline:
    """The roofs that kernels reach which do nothing else: multiply-adds from registers, and a copy."""
    return Roofline(
        ceilings.fma_gflops,
        ceilings.copy_gbytes_per_s,
        "measured: float32 multiply-adds from registers",
        "measured: a copy within device memory, read and written",
        "float32",
    )


def theoretical_peak(architecture: Architecture, clock_mhz: float) -> tuple[float, str]:
    """GFLOP/s of float32: two for each multiply-add that each lane of each SM finishes a cycle; and in words.

    NVIDIA publishes peaks at the boost clock.
    """
    lanes, sms = architecture.fp32_per_cycle, architecture.multiprocessors
    return 2 * lanes * sms * clock_mhz / 1e3, f"2 x {lanes} float32 lanes x {sms} SMs x {clock_mhz:,g} MHz"


def theoretical_bandwidth(memory_clock_mhz: float, bus_bits: int) -> tuple[float, str]:
    """GB/s of device memory, which transfers twice a cycle; and in words.

    CUDA C++ Best Practices Guide, “Theoretical Bandwidth Calculation”.
    """
    rate = 2 * memory_clock_mhz * (bus_bits / 8) / 1e3
    return rate, f"2 x {memory_clock_mhz:,g} MHz x {bus_bits:,} bits / 8"


def theoretical(architecture: Architecture, properties: dict[str, Any]) -> Roofline:
    """The roofs of a GPU by its own attributes.

    Args:
        properties: of the device; `clock_mhz`, `memory_clock_mhz` and `memory_bus_bits` count.

    Raises:
        UsageError: its driver does not tell them.
    """
    names = ("clock_mhz", "memory_clock_mhz", "memory_bus_bits")
    untold = [name for name in names if not properties.get(name)]
    if untold:
        raise UsageError(
            f"--theoretical: this GPU's driver does not tell its {' and '.join(untold)}; leave the option "
            "out, or give --peak and --bandwidth with --device gpu"
        )
    clock_mhz, memory_clock_mhz, bus_bits = (properties[name] for name in names)
    peak_gflops, peak_from = theoretical_peak(architecture, clock_mhz)
    bandwidth, bandwidth_from = theoretical_bandwidth(memory_clock_mhz, bus_bits)
    return Roofline(peak_gflops, bandwidth, peak_from, bandwidth_from, "float32")


@dataclass(frozen=True)
class DataSheet:
    """A GPU that is not here, by its rates or by its architecture and clocks; all None if none is given.

    Attributes:
        peak: GFLOP/s.
        bandwidth: GB/s.
        arch: the architecture's name; `peak` follows from it, `sms` and `clock`.
        sms: number of multiprocessors, if it differs from that of the architecture's table.
        clock: of the multiprocessors, in MHz.
        memory_clock: in MHz; `bandwidth` follows from it and `bus_width`.
        bus_width: in bits.
    """

    peak: float | None = None
    bandwidth: float | None = None
    arch: str | None = None
    sms: int | None = None
    clock: float | None = None
    memory_clock: float | None = None
    bus_width: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether a GPU is described at all."""
        return self.arch is not None or self.peak is not None

    @property
    def architecture(self) -> Architecture:
        """The architecture; that of an A100 if only rates are given. Raises UsageError if there is none."""
        architecture = find_architecture(self.arch or "sm_80")
        if self.sms is None:
            return architecture
        return replace(architecture, gpu="a GPU", multiprocessors=self.sms)

    @property
    def roofs(self) -> Roofline:
        """The roofs. Raises UsageError if there is no such architecture."""
        if self.arch is None:
            return given(self.peak or 0.0, self.bandwidth or 0.0)
        peak, peak_from = theoretical_peak(self.architecture, self.clock or 0.0)
        bandwidth, bandwidth_from = self.bandwidth or 0.0, "given"
        if self.memory_clock is not None and self.bus_width is not None:
            bandwidth, bandwidth_from = theoretical_bandwidth(self.memory_clock, self.bus_width)
        return Roofline(peak, bandwidth, peak_from, bandwidth_from, "float32")

    @property
    def device(self) -> DeviceInfo:
        """What tables and files call the GPU."""
        if self.arch is not None:
            return DeviceInfo("architecture", self.architecture.name, str(self.architecture))
        name = f"a device of {self.peak:,.10g} GFLOP/s and {self.bandwidth:,.10g} GB/s"
        return DeviceInfo("numbers", "", name)

    def lacks(self, method: Method) -> str:
        """Return why a method has no bound on this GPU; empty if it has one."""
        if method.package:
            return f"{method.name} runs nowhere here"
        return method.unsupported_reason(self.architecture.name) if self.arch is not None else ""


def roofs_of(executor: Executor, by_clocks: bool) -> Roofline:
    """Return the roofs of the GPU that is here, measured or computed from its clocks.

    Raises:
        NoDeviceError: there is no GPU, or its roofs cannot be measured.
    """
    target: Target[Any] = executor.target
    if not isinstance(target, GpuTarget):
        missing = target.info.note or "there is no GPU here"
        raise NoDeviceError(
            f"{missing}, and times on the CPU device are no GPU's: --peak GFLOPS and --bandwidth GB/S of a "
            "GPU give the bounds (an A100: --peak 19500 --bandwidth 1555)"
        )
    if by_clocks:
        return theoretical(target.architecture, target.info.properties)
    ceilings = executor.facts().ceilings
    if ceilings is None:
        raise NoDeviceError("the roofs of this device cannot be measured: give --peak and --bandwidth")
    return measured(ceilings)


@dataclass(frozen=True)
class RooflineResult:
    """One variant on one problem, under the roofs.

    Attributes:
        operations: of the product, padding not counted.
        traffic: that a launch requests; None where the method's file does not say.
        compulsory_bytes: of A, B and C, padding not counted.
        requested: the bound at operations / bytes loaded; None where they are not known.
        compulsory: the bound at operations / compulsory_bytes.
        measured: None where nothing was measured.
        chosen_by: what chose the variant in the place of `best`; empty where nothing did.
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
    requested: Bound | None
    compulsory: Bound
    measured: Result | None = None
    status: Status = "ok"
    reason: str = ""
    position: int = 0
    chosen_by: ChosenBy = ""

    @property
    def gflops(self) -> float | None:
        """The measured rate; None where there is none, or the variant is not right."""
        return self.measured.gflops if self.measured is not None and self.status == "ok" else None

    @property
    def intensity_with_stores(self) -> float | None:
        """Operations over the bytes that a launch loads and stores."""
        of = self.traffic
        return None if of is None else self.operations / (of.load_bytes + of.store_bytes)

    @property
    def share_of_bound(self) -> float | None:
        """The measured rate over the bound at the requested intensity; above 1 where caches helped."""
        return self.gflops / self.requested.gflops if self.gflops and self.requested else None

    @property
    def share_of_compulsory_bound(self) -> float | None:
        """The measured rate over the bound that caches cannot lift."""
        return self.gflops / self.compulsory.gflops if self.gflops else None

    @property
    def share_not_from_memory(self) -> float | None:
        """Of the bytes loaded, at least so many did not come from device memory; None where it is unknown.

        At the measured rate more were loaded a second than device memory delivers.
        """
        share = self.share_of_bound
        if share is None or self.requested is None or self.requested.region == "compute-bound" or share <= 1:
            return None
        return 1 - 1 / share

    def record(self) -> dict[str, Any]:
        """The row of a `cudamm.roofline/1` file: where it was measured, that of `cudamm.bench/2` and more."""
        names = ("method", "params", "m", "n", "k", "dtype", "padded", "status", "reason", "gflops")
        row = self.measured.bench_record() if self.measured else {name: getattr(self, name) for name in names}
        row |= chosen_record(self.chosen_by)
        of, requested, compulsory = self.traffic, self.requested, self.compulsory
        return row | {
            "operations": self.operations,
            "load_bytes": of and of.load_bytes,
            "store_bytes": of and of.store_bytes,
            "intensity": requested and requested.intensity,
            "intensity_with_stores": self.intensity_with_stores,
            "bound_gflops": requested and requested.gflops,
            "bound_share_of_peak": requested and requested.share_of_peak,
            "region": requested and requested.region,
            "share_of_bound": self.share_of_bound,
            "compulsory_bytes": self.compulsory_bytes,
            "compulsory_intensity": compulsory.intensity,
            "compulsory_bound_gflops": compulsory.gflops,
            "compulsory_bound_share_of_peak": compulsory.share_of_peak,
            "compulsory_region": compulsory.region,
            "share_of_compulsory_bound": self.share_of_compulsory_bound,
        }


def bounds(cases: Cases, roofline: Roofline, fmad: bool) -> Iterator[RooflineResult]:
    """The bounds of each case, of which nothing is run.

    Raises:
        UsageError: a method is not written for the element type, or its header makes no sense there; no GPU
            can launch it, or no case's requirements hold.
    """
    roofline.check(cases)
    found = []
    for position, (variant, problem) in enumerate(cases):
        program(variant, problem.element, fmad)  # refuses an element type that the method does not have
        result = _placed(variant, problem, roofline, position)
        if result.status == "ok":
            check(variant, plan(variant, problem.shape, problem.element), _LIMITS)
        found.append(result)
    if found and all(result.status == "skipped" for result in found):
        raise RequirementError(found[0].reason)
    yield from found


def measure(
    executor: Executor, cases: Cases, settings: Settings, roofline: Roofline, progress: Progress
) -> Iterator[RooflineResult]:
    """Each case measured as `bench` does, under the roofs; one result as soon as it is there.

    Raises:
        UsageError, NoDeviceError: as `measure.bench` does; a header's `traffic` makes no sense there.
    """
    roofline.check(cases)
    for variant, problem in cases:
        _placed(variant, problem, roofline, 0)  # what is wrong with it is said before anything runs
    for result in bench(executor, cases, settings, progress):
        yield _placed(*cases[result.position], roofline, result.position, result)


def _placed(
    variant: Variant, problem: Problem, roofline: Roofline, position: int, result: Result | None = None
) -> RooflineResult:
    shape, element = problem.shape, problem.element
    mnk = shape.m, shape.n, shape.k
    traffic, padded = None, False
    status: Status = "ok"
    reason = ""
    try:
        padded = variant.padded(element, *mnk) != mnk
        traffic = variant.traffic(element, *mnk)
    except RequirementError as error:
        status, reason = "skipped", str(error)
    if result is not None:
        status, reason = result.status, result.reason
    compulsory_bytes = shape.elements * element.size_bytes
    ceiling = float(variant.method.ceiling)
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
        compulsory_bytes=compulsory_bytes,
        requested=roofline.bound(shape.flops / traffic.load_bytes, ceiling) if traffic else None,
        compulsory=roofline.bound(shape.flops / compulsory_bytes, ceiling),
        measured=result,
        status=status,
        reason=reason,
        position=position,
        chosen_by=variant.chosen_by,
    )
