"""Rooflines: the traffic in headers against counted accesses; intensities and bounds against books."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from some_methods import every_other_long

from cudamm.benchmark.roofline import (
    bounds,
    given,
    measure,
    measured,
    theoretical,
)
from cudamm.benchmark.sampling_policy import Settings
from cudamm.benchmark.theoretical_rates import (
    not_below_theoretical,
    theoretical_bandwidth,
    theoretical_peaks,
)
from cudamm.compile.program import program
from cudamm.devices.cpu_device import CpuDevice
from cudamm.devices.device import (
    GUARD_BYTES,
    POISON,
    Ceilings,
    Device,
    DeviceInfo,
    Peak,
    Run,
    guarded,
    padded,
)
from cudamm.devices.gpu_device import GpuTarget
from cudamm.devices.observe import observe
from cudamm.errors import RequirementError, UsageError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.architecture import find_architecture
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find, ladder
from cudamm.kernels.launch_plan import Launch, Limits, plan, unsupported_reason
from cudamm.kernels.method import ELEMENT_TYPES, ElementType, Method
from cudamm.kernels.problem import Problem, Shape, parse_shape
from cudamm.kernels.variant import Traffic, Variant, variants
from cudamm.output.roofline_table import drawing_of

WriteKernel = Callable[..., Path]
FLOAT32, FLOAT64 = ELEMENT_TYPES["float32"], ELEMENT_TYPES["float64"]
CUDA_METHODS = [
    method
    for method in ladder()
    if method.language == "cuda" and not unsupported_reason(method, CpuDevice.limits)
]
A100 = given(19_500, 1_555)

# Traffic of the kernels.

COUNTED = [method for method in CUDA_METHODS if method.traffic is not None]
TILES = {
    "tile-1d": {"BM": 32, "BN": 64, "TM": 4},
    "tile-2d": {"BM": 32, "BN": 64, "TM": 4, "TN": 4},
    "vectorized": {"BM": 32, "BN": 64, "TM": 4, "TN": 4},
    "warp-tile": {"BM": 32, "BN": 64, "BK": 8, "WM": 32, "WN": 32, "TM": 4, "TN": 8},
    "row-tile": {"BM": 32, "BN": 64, "BK": 8, "WM": 32, "WN": 32, "TM": 4, "TN": 8},
    "async-ring": {"BM": 64, "BN": 32, "WM": 32, "WN": 32, "TM": 4, "TN": 8},
    "fragment-prefetch": {"BM": 64, "BN": 32, "WM": 32, "WN": 32, "TM": 4, "TN": 8},
    "lean-loop": {"BM": 64, "BN": 32, "WM": 32, "WN": 32, "TM": 4, "TN": 8},
    "async-copy": {"BM": 64, "BN": 32, "WM": 32, "WN": 32, "TM": 4, "TN": 8},
    "sliced-k": {"BM": 64, "BN": 32, "BK": 8, "WM": 32, "WN": 32, "TM": 4},
}
"""Small tiles that are not square, for the methods that have any."""


@pytest.mark.sampled(18, first=2)  # the first one takes 8 s
@pytest.mark.parametrize("method", every_other_long(COUNTED))
def test_the_traffic_in_the_header_is_that_of_the_threads(method: Method) -> None:
    """The reference is an instrumented run, which counts the bytes of each access."""
    (variant,) = variants(method, {name: (value,) for name, value in TILES.get(method.name, {}).items()})
    element = ELEMENT_TYPES[method.element_types[0]]
    for shape in map(parse_shape, ("33x70x50", "66x70x21", "7x40x1")):
        declared = variant.traffic(element, shape.m, shape.n, shape.k)
        assert declared == _counted(variant, shape), (str(variant), str(shape))


def _counted(variant: Variant, shape: Shape) -> Traffic:
    """Return the bytes that all threads of a launch load from A, B and C, and store there."""
    element = ELEMENT_TYPES[variant.method.element_types[0]]
    launch = plan(variant, shape, element)
    observed = observe(
        program(variant, element, True), launch, *padded(launch, *Problem(shape, element).inputs)
    )
    assert observed.warps[0] == observed.warps[1] and not observed.ended
    accesses = [access for access in observed.accesses if access.space == "global"]
    assert {access.array for access in accesses} <= {"A", "B", "C"}
    load_bytes, store_bytes = (
        sum(access.bytes_requested for access in accesses if access.op == op) for op in ("load", "store")
    )
    return Traffic(load_bytes, store_bytes)


@pytest.mark.parametrize(
    "method", [m for m in CUDA_METHODS if "float64" in m.element_types], ids=lambda m: m.name
)
def test_traffic_is_in_bytes_of_the_element(method):
    (variant,) = variants(method, {})
    # K = 72 makes rows of whole 16 bytes in both types. Some methods have other rows padded, by type.
    single, double = (variant.traffic(e, 50, 60, 72) for e in (FLOAT32, FLOAT64))
    assert (double.load_bytes, double.store_bytes) == (2 * single.load_bytes, 2 * single.store_bytes)


def test_a_method_without_traffic_in_its_header_has_none(write_kernel):
    assert _own(write_kernel).traffic(FLOAT32, 1, 1, 1) is None


@pytest.mark.parametrize(
    ("declared", "words"),
    [("M - 5, M", "-4 bytes loaded"), ("0, M", "0 bytes loaded"), ("M, M - 5", "-4 stored"),
     ("M / 2, M", "not a whole number"), ("ROWS, M", "unknown name ROWS")],
)  # fmt: skip
def test_traffic_that_is_impossible_is_refused(write_kernel, declared, words):
    with pytest.raises(UsageError, match=words):
        _own(write_kernel, f"// traffic: {declared}\n").traffic(FLOAT32, 1, 1, 1)


# Rooflines and bounds.


def test_intensities_and_bounds_are_those_of_the_book():
    # Programming Massively Parallel Processors, chapter 5: an A100.
    naive, tiled = _on_paper("naive", BLOCK_SIZE=16), _on_paper("tiled", BLOCK_SIZE=16)
    assert (naive.requested.intensity, naive.requested.gflops) == (0.25, 388.75)
    assert (tiled.requested.intensity, tiled.requested.gflops) == (4.0, 6220.0)
    assert tiled.requested.region == "memory-bound"
    assert round(100 * tiled.requested.share_of_peak) == 32
    assert round(100 * naive.requested.share_of_peak) == 2


def test_the_intensity_of_a_register_tile_grows_with_its_side():
    for tile in (1, 2, 4, 8):
        result = _on_paper("register-tile", TILE_SIZE=tile)
        assert result.requested.intensity == 2 * tile**2 / (2 * tile * 4)


def test_the_bound_is_the_lower_roof():
    assert A100.ridge_intensity == pytest.approx(12.54, abs=0.005)
    below, above = A100.bound(12), A100.bound(13)
    assert (below.region, below.gflops) == ("memory-bound", 12 * 1555)
    assert (above.region, above.gflops, above.share_of_peak) == ("compute-bound", 19_500, 1)
    assert given(8, 2).bound(4).region == "compute-bound"  # at the ridge itself
    faster = A100.bound(13, ceiling=16 / 9)
    assert (faster.region, faster.gflops) == ("memory-bound", 13 * 1555)
    assert A100.bound(1000, ceiling=16 / 9).gflops == pytest.approx(19_500 * 16 / 9)


def test_a_method_on_tensor_cores_has_a_higher_roof():
    assert _on_paper("stream-k").compulsory.gflops == 19_500
    assert _on_paper("bf16x9").compulsory.gflops == pytest.approx(19_500 * 16 / 9)


def test_compulsory_traffic_is_each_input_once():
    result = _on_paper("tiled", "30x40x50", dtype="float64", BLOCK_SIZE=16)
    assert result.compulsory_bytes == (30 * 50 + 50 * 40) * 8
    assert result.compulsory.intensity == 2 * 30 * 40 * 50 / result.compulsory_bytes
    # A padded launch loads more. The operations are those of the requested product.
    assert result.padded and result.operations == 2 * 30 * 40 * 50
    assert result.traffic.load_bytes == (32 * 64 * 3 + 64 * 48 * 2) * 8


@pytest.mark.sampled(6)
@pytest.mark.parametrize("method", COUNTED, ids=lambda m: m.name)
def test_no_kernel_requests_less_than_each_matrix_once(method, worth_sweeping):
    for variant in worth_sweeping(method, **{p.name: p.values[:2] for p in method.parameters}):
        element = ELEMENT_TYPES[method.element_types[0]]
        traffic = variant.traffic(element, 60, 70, 80)
        assert traffic.load_bytes >= element.size_bytes * (60 * 80 + 80 * 70)
        assert traffic.store_bytes >= element.size_bytes * 60 * 70


@pytest.mark.parametrize(
    ("arch", "sms", "clock_mhz", "published_tflops"),
    [("sm_80", 108, 1410, 19.5), ("sm_86", 82, 1695, 35.6), ("sm_70", 80, 1530, 15.7),
     ("sm_90", 132, 1980, 66.9)],
)  # fmt: skip
def test_theoretical_peaks_are_those_that_nvidia_publishes(arch, sms, clock_mhz, published_tflops):
    architecture = find_architecture(arch)
    assert architecture.multiprocessors == sms
    peak = theoretical_peaks(architecture, clock_mhz)[0]
    assert (peak.unit, peak.element_type, peak.clock_mhz) == ("FMA", "float32", None)
    assert round(peak.gflops / 1e3, 1) == published_tflops
    assert f"{sms} SMs x {clock_mhz:,} MHz" in peak.source


@pytest.mark.parametrize(
    ("memory_clock_mhz", "bus_bits", "published"),
    [
        (877, 4096, 898),
        (1215, 5120, 1555),
        (9751, 384, 936),
    ],  # the Best Practices Guide's V100, A100, RTX 3090
)
def test_theoretical_bandwidths_are_those_that_nvidia_publishes(memory_clock_mhz, bus_bits, published):
    assert round(theoretical_bandwidth(memory_clock_mhz, bus_bits)[0]) == published


@pytest.mark.parametrize(
    ("measured_gflops", "measured_gbytes_per_s", "clocks", "tflops", "gbytes_per_s"),
    [
        (5_000.0, 400.0, {"clock_mhz": 1410}, 19.5, 400),  # another program used the GPU meanwhile
        (5_000.0, 400.0, {"clock_mhz": 1410, "memory_clock_mhz": 1215, "memory_bus_bits": 5120}, 19.5, 1555),
        (25_000.0, 2_000.0, {"clock_mhz": 1410, "memory_clock_mhz": 1215, "memory_bus_bits": 5120}, 25, 2000),
        (5_000.0, 400.0, {}, 5, 400),
    ],
)
def test_ceilings_that_were_measured_too_low_are_raised_to_the_theoretical_ones_of_an_a100(
    measured_gflops, measured_gbytes_per_s, clocks, tflops, gbytes_per_s
):
    target = GpuTarget(
        DeviceInfo("gpu", "gpu:0", "A100", clocks), CpuDevice.limits, find_architecture("sm_80")
    )
    ceilings = not_below_theoretical(Ceilings(measured_gflops, measured_gbytes_per_s), target)
    assert round(ceilings.fma_gflops / 1e3, 1) == tflops
    assert round(ceilings.copy_gbytes_per_s) == gbytes_per_s


def test_a_clock_that_the_driver_does_not_report_is_named():
    properties = {"clock_mhz": 1410, "memory_clock_mhz": 0, "memory_bus_bits": 5120}
    with pytest.raises(UsageError, match="memory_clock_mhz"):
        theoretical(find_architecture("sm_80"), properties)
    roofs = theoretical(find_architecture("sm_80"), properties | {"memory_clock_mhz": 1215})
    assert roofs.ridge_intensity == pytest.approx(19491.84 / 1555.2)


@pytest.mark.parametrize("dtype", ["float64", "int32", "float16"])
def test_a_measured_peak_bounds_no_other_type(dtype):
    with pytest.raises(UsageError, match=rf"no peak of {dtype} is known.*--peak"):
        list(bounds(_case("tiled", "64", dtype), measured(Ceilings(100, 10)), True))


ALL_UNITS = measured(
    Ceilings(100, 10, 1980),
    (
        Peak("FMA", "float64", 50, "measured"), Peak("tensor cores", "float64", 90, "measured"),
        Peak("tensor cores", "float16", 1000, "measured"),
        Peak("tensor cores", "bfloat16", 900, "measured", 1755),
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "dtype", "roof_gflops", "share", "unit"),
    [
        ("tiled", "float32", 100, 1, "FMA"),
        ("bf16x9", "float32", 100 * 16 / 9, 16 / 9, "tensor cores"),
        ("cublas", "float32", 100, 1, "FMA"),
        ("tiled", "float64", 50, 1, "FMA"),
        ("dmma", "float64", 90, 1, "tensor cores"),
        ("cublas", "float64", 90, 1, "tensor cores"),
        ("tiled", "float16", 1000, 1, "tensor cores"),
        ("mma", "float16", 1000, 1, "tensor cores"),
        ("wmma", "bfloat16", 900, 1, "tensor cores"),
        ("cublas", "bfloat16", 900, 1, "tensor cores"),
    ],
)
def test_a_methods_roof_is_that_of_its_units_in_its_type(name, dtype, roof_gflops, share, unit):
    (result,) = bounds(_case(name, "8192", dtype), ALL_UNITS, True)
    assert result.compulsory.region == "compute-bound"
    assert result.compulsory.gflops == pytest.approx(roof_gflops)
    assert result.compulsory.share_of_peak == pytest.approx(share)
    assert result.record()["unit"] == unit
    assert result.record()["peak_gflops"] == pytest.approx(roof_gflops / share)


@pytest.mark.parametrize(("name", "dtype"), [("mma", "float16"), ("dmma", "float64"), ("tiled", "int32")])
def test_a_given_peak_is_the_roof_of_every_method_in_other_types_than_float32(name, dtype):
    assert _on_paper(name, "8192", dtype).compulsory.gflops == 19_500


def test_without_tensor_cores_a_method_is_bounded_by_fused_multiply_adds():
    roofs = measured(Ceilings(100, 10), (Peak("FMA", "float64", 50, "measured"),))
    (result,) = bounds(_case("dmma", "8192", "float64"), roofs, True)
    assert result.compulsory.gflops == 50


def test_the_record_has_the_peaks_of_the_types_that_are_asked_for():
    cases = [*_case("mma", "64", "bfloat16"), *_case("tiled", "64", "float64")]
    record = ALL_UNITS.of(cases).record()
    assert (record["peak_gflops"], record["ridge_intensity"]) == (900, 90)
    assert [(peak["unit"], peak["element_type"], peak["gflops"]) for peak in record["peaks"]] == [
        ("tensor cores", "bfloat16", 900), ("FMA", "float64", 50), ("tensor cores", "float64", 90),
    ]  # fmt: skip
    assert [peak["clock_mhz"] for peak in record["peaks"]] == [1755, None, None]


def test_a_picture_has_a_line_for_each_units_and_each_point_lies_below_its_own():
    cases = [*_case("tiled", "8192", "float64", BLOCK_SIZE=32), *_case("dmma", "8192", "float64")]
    roofs = measured(
        Ceilings(100, 10), (Peak("FMA", "float64", 30, ""), Peak("tensor cores", "float64", 90, ""))
    )
    drawing = drawing_of(
        DeviceInfo("gpu", "gpu:0", "a GPU"), roofs.of(cases), list(bounds(cases, roofs, True))
    )
    (chart,) = drawing.charts
    lines = {s.label: s.points[-1].y for s in chart.series if s.kind == "ceiling"}
    assert lines == {"bandwidth: 10 GB/s": 90, "peak: 90 GFLOP/s": 90, "peak of FMA: 30 GFLOP/s": 30}
    points = {p.label.split(" ≤ ")[0]: p.y for p in chart.series[-1].points}
    assert points == {"tiled": 30, "dmma": 90}


def test_cases_that_cannot_be_launched_are_skipped_unless_all_are(write_kernel):
    square = _own(write_kernel, "// traffic: 8*M*N*K, 4*M*N\n// requires: M == N\n")
    cases = [(square, Problem(parse_shape(s), FLOAT32)) for s in ("4x5x6", "4x4x6")]
    skipped, placed = bounds(cases, A100, True)
    assert (skipped.status, skipped.requested) == ("skipped", None) and "M == N" in skipped.reason
    assert placed.requested.intensity == 0.25
    with pytest.raises(RequirementError):
        list(bounds(cases[:1], A100, True))


def test_a_picture_has_a_point_per_known_intensity_and_counts_the_others(write_kernel):
    silent = _own(write_kernel)
    cases = [*_case("tiled", "64", BLOCK_SIZE=16), (silent, Problem(Shape(64, 64, 64), FLOAT32))]
    drawing = drawing_of(DeviceInfo("numbers", "", "an A100"), A100, list(bounds(cases, A100, True)))
    (chart,) = drawing.charts
    points = [(p.x, p.y, p.label) for p in chart.series[-1].points]
    assert points == [(4.0, 6220.0, "tiled ≤ 6220")]
    assert "an A100" in drawing.caption and "their loads are not known: 1" in drawing.caption


def test_methods_with_one_bound_share_a_label_in_the_picture():
    methods = [m for m in ladder() if not m.runs_on_host and "float32" in m.element_types]
    cases = [(v, Problem(Shape(64, 64, 64), FLOAT32)) for m in methods for v in variants(m, {})]
    drawing = drawing_of(DeviceInfo("numbers", "", "an A100"), A100, list(bounds(cases, A100, True)))
    labels = [point.label for point in drawing.charts[0].series[-1].points]
    assert "naive, coalesced ≤ 389" in labels
    assert any(
        label.endswith("more ≤ 12400") and label.startswith("block-coarse-local, ") for label in labels
    )


# Rates compared with bounds.


@pytest.mark.parametrize(("milliseconds", "share"), [(1.0, 0.5), (0.25, 2.0)])
def test_a_rate_is_compared_with_both_bounds(milliseconds, share):
    operations = 2 * 64**3
    # With these roofs 0.25 op/B allow twice the rate of a launch of 1 ms.
    roofs = given(5, 2 * operations / 1e6 / 0.25)
    (result,) = _measured(milliseconds, roofs)
    rate = operations / milliseconds / 1e6
    assert result.gflops == pytest.approx(rate)
    assert result.share_of_bound == pytest.approx(share)
    assert result.share_of_compulsory_bound == pytest.approx(rate / 5)
    # At twice the rate that memory delivers, at least half of it came from elsewhere.
    assert result.share_not_from_memory == (pytest.approx(0.5) if share > 1 else None)
    record = result.record()
    assert record["samples_ms"] == [milliseconds] * 3 and record["correct"] is True
    assert record["intensity"] == 0.25 and record["share_of_bound"] == result.share_of_bound
    assert json.dumps(record, allow_nan=False)


def test_a_wrong_variant_has_a_bound_and_no_rate():
    (result,) = _measured(1.0, A100, error=1)
    assert result.status == "failed" and "wrong" in result.reason
    assert result.gflops is None and result.share_of_bound is None
    assert result.requested.gflops == 388.75


class _Device(Device[str]):
    """A GPU whose launches all take the same time; its products are off by a given error."""

    limits = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 48 * 1024)
    has_thread_order = False
    info = DeviceInfo("gpu", "gpu:0", "a script")

    def __init__(self, milliseconds: float, error: float) -> None:
        self.milliseconds, self.error = milliseconds, error

    def execution(self, method: Any) -> Any:
        return "gpu"

    def compile(self, program: Any) -> str:
        return "compiled"

    def made_from(self, program: Any) -> list[str]:
        return [program.text]

    def open(self, program: Any, compiled: str, launch: Launch, a: np.ndarray, b: np.ndarray) -> Run:
        return _Run(self, launch, program.element, a, b)

    def free_bytes(self) -> int:
        return 2**40


class _Run(Run):
    def __init__(
        self, device: _Device, launch: Launch, element: ElementType, a: np.ndarray, b: np.ndarray
    ) -> None:
        super().__init__(launch, element, a, b)
        self.device = device
        self.memory = {name: guarded(name, matrix) for name, matrix in self.matrices.items()}
        self.load(a, b)

    def launch(self, descending: bool = False) -> float:
        self.product()[:] = self.matrices["A"] @ self.matrices["B"] + self.device.error
        return self.device.milliseconds

    def _place(self, name: Any, matrix: np.ndarray) -> None:
        self.memory[name][GUARD_BYTES : GUARD_BYTES + matrix.nbytes] = matrix.reshape(-1).view(np.uint8)

    def fill_output(self, word: np.uint32 = POISON) -> None:
        self.product().view(np.uint32)[:] = word

    def region(self, name: Any) -> np.ndarray:
        return self.memory[name]

    def close(self) -> None:
        """Nothing to free."""


def _measured(milliseconds: float, roofs: Any, error: float = 0) -> list[Any]:
    settings = Settings(runs=3, warmup=0)
    with InProcessExecutor(_Device(milliseconds, error)) as executor:
        return list(measure(executor, _case("naive", "64"), settings, roofs, lambda doing, done, total: None))


def _on_paper(name: str, shape: str = "1024", dtype: str = "float32", **values: int) -> Any:
    (result,) = bounds(_case(name, shape, dtype, **values), A100, True)
    return result


def _case(name: str, shape: str, dtype: str = "float32", **values: int) -> list[tuple[Variant, Problem]]:
    (variant,) = variants(find(name), {key: (value,) for key, value in values.items()})
    return [(variant, Problem(parse_shape(shape), ELEMENT_TYPES[dtype]))]


def _own(write_kernel: WriteKernel, fields: str = "") -> Variant:
    text = f"// threads: 1\n// grid: 1\n{fields}\n__global__ void own(float *C) {{}}\n"
    (variant,) = variants(read_method(write_kernel(text)), {})
    assert program(variant, FLOAT32, True).text
    return variant
