"""The ceilings of a GPU: what is measured, by which instructions, and how the result is kept."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cudamm.compile import compile_cache
from cudamm.compile.listing import nvdisasm
from cudamm.compile.nvcc_compiler import nvcc
from cudamm.compile.toolkit import run_nvcc
from cudamm.devices.device import Ceilings, Peak
from cudamm.devices.gpu_ceilings import (
    FMA_KERNEL,
    OTHER_PEAK_KERNELS,
    other_peak_kernels,
    read_ceilings,
    read_peaks,
)
from cudamm.devices.gpu_device import GpuDevice
from cudamm.devices.nvml import GpuState
from cudamm.devices.own_module import CEILINGS, PEAKS, OwnModule
from tests.fake_cuda_driver import FakeDriver

# The instructions.

WARP_FLOPS = {
    "FFMA": 2 * 32, "DFMA": 2 * 32, "DMMA.884": 2 * 8 * 8 * 4, "DMMA.8x8x4": 2 * 8 * 8 * 4,
    "DMMA.16x8x16": 2 * 16 * 8 * 16,
    "HMMA.16816.F32": 2 * 16 * 8 * 16, "HMMA.16816.F32.BF16": 2 * 16 * 8 * 16,
    "HMMA.1688.F32.TF32": 2 * 16 * 8 * 8, "QMMA.16832.F32.E4M3.E4M3": 2 * 16 * 8 * 32,
    "HGMMA.64x256x16.F32": 2 * 64 * 256 * 16 // 4, "HGMMA.64x256x16.F32.BF16": 2 * 64 * 256 * 16 // 4,
    "HGMMA.64x256x8.F32.TF32": 2 * 64 * 256 * 8 // 4, "QGMMA.64x256x32.F32.E4M3.E4M3": 2 * 64 * 256 * 32 // 4,
}  # fmt: skip
"""Operations that a warp does by an instruction of the machine code, by the sizes in its name."""

ON_SM_80 = {
    "multiply_add_float32": "FFMA", "multiply_add_float64": "DFMA", "mma_float16": "HMMA.16816.F32",
    "mma_bfloat16": "HMMA.16816.F32.BF16", "mma_tf32": "HMMA.1688.F32.TF32", "mma_float64": "DMMA.884",
}  # fmt: skip
ON_SM_90 = {
    "multiply_add_float32": "FFMA", "multiply_add_float64": "DFMA", "wgmma_float16": "HGMMA.64x256x16.F32",
    "wgmma_bfloat16": "HGMMA.64x256x16.F32.BF16", "wgmma_tf32": "HGMMA.64x256x8.F32.TF32",
    "wgmma_float8_e4m3": "QGMMA.64x256x32.F32.E4M3.E4M3", "mma_float64": "DMMA.8x8x4",
    "large_mma_float64": "DMMA.16x8x16",
}  # fmt: skip
ON_SM_86 = {name: instruction for name, instruction in ON_SM_80.items() if name != "mma_float64"}
ON_SM_89 = ON_SM_86 | {"mma_float8_e4m3": "QMMA.16832.F32.E4M3.E4M3"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("target", "instructions"),
    [
        ("sm_80", ON_SM_80),
        ("sm_86", ON_SM_86),
        ("sm_89", ON_SM_89),
        ("sm_90a", ON_SM_90),
        ("sm_120", ON_SM_89),
    ],
)
def test_the_loop_of_a_kernel_does_the_operations_that_are_counted_and_little_else(
    needs_nvcc: None, tmp_path: Path, target: str, instructions: dict[str, str]
) -> None:
    arch = target.rstrip("a")
    kernels = {k.name: k for k in (FMA_KERNEL, *other_peak_kernels(arch, nvcc().release))}
    assert kernels.keys() == instructions.keys()
    cubin, source = tmp_path / "peaks.cubin", tmp_path / "peaks.cu"
    source.write_text(PEAKS.text)
    run_nvcc(nvcc().path, "-cubin", f"-arch={target}", "-o", str(cubin), str(source))
    text = subprocess.run(
        [str(nvdisasm()), "-c", str(cubin)], check=True, capture_output=True, text=True
    ).stdout
    for name, instruction in instructions.items():
        loops = [loop for loop in loops_of(text, name) if instruction in dict(loop)]
        assert len(loops) == 1, (name, loops)
        loop = Counter(operation for operation, _ in loops[0])
        assert WARP_FLOPS[instruction] * loop[instruction] == kernels[name].warp_flops
        # NOP fills the time until the next multiplication, and R2UR passes the address of a matrix.
        others = {other: count for other, count in loop.items() if other not in (instruction, "NOP", "R2UR")}
        assert sum(others.values()) <= 5 and "LDG" not in str(others), (name, others)
        # wgmma has one sum, and runs asynchronously. Others wait for an earlier sum in the same registers.
        sums = {
            operands.split(",")[0].strip() for operation, operands in loops[0] if operation == instruction
        }
        assert len(sums) >= (1 if "GMMA" in instruction else 4), (name, sums)


def loops_of(disassembly: str, kernel: str) -> list[list[tuple[str, str]]]:
    """Return the instructions and operands of each loop of a kernel: from a label to the jump back to it."""
    part = next(p for p in re.split(r"//-+ \.text\.", disassembly)[1:] if p.split()[0] == kernel)
    labels: dict[str, int] = {}
    instructions: list[tuple[str, str]] = []
    loops = []
    for line in part.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(instructions)
        elif "@!UPT " in line:
            continue  # never executed: nvcc 13.0 writes one between each two QMMA
        elif found := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?(\S+)(.*);", line):
            instructions.append((found[1], found[2]))
            target = re.search(r"\.L_x_\d+", found[2])
            if found[1].startswith("BRA") and target and target[0] in labels:
                loops.append(instructions[labels[target[0]] :])
    return loops


# The measurement.

STEP_MS = {
    "multiply_add_float32": 0.002, "multiply_add_float64": 0.004, "mma_float64": 0.005,
    "large_mma_float64": 0.0125, "wgmma_float16": 0.001, "wgmma_bfloat16": 0.002, "wgmma_tf32": 0.003,
    "wgmma_float8_e4m3": 0.0008,
}  # fmt: skip
"""Milliseconds of a step of each kernel on the stand-in for a GPU, of sm_90 with 4 multiprocessors."""

COPY_MS = 1.0


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Yield a stand-in for a GPU whose kernels take the times above, its launches and the loaded modules."""
    monkeypatch.setenv("CUDAMM_CACHE", str(tmp_path))
    compile_cache.cache_folder.cache_clear()
    driver = FakeDriver()
    launches: list[tuple[str, int]] = []
    loaded: list[OwnModule] = []
    busy = SimpleNamespace(launches=0)

    class Function:
        def __init__(self, name: str) -> None:
            self.name = name

        def prepare(self, formats: str) -> None:
            assert formats == ("PPQ" if self.name == "copy" else "Pif")

        def prepared_async_call(self, grid: Any, block: Any, stream: None, *arguments: Any) -> None:
            assert grid == (4 if self.name.startswith("wgmma") else 32, 1) and block == (256, 1, 1)
            busy.launches += 1
            launches.append((self.name, arguments[1]))
            driver.now_ms += COPY_MS if self.name == "copy" else STEP_MS[self.name] * arguments[1]

    def event() -> Any:
        made = FakeDriver.Event(driver)
        made.synchronize = lambda: setattr(busy, "launches", 0)
        return made

    monkeypatch.setattr(driver, "Event", event)
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", lambda: driver)

    def load(module: OwnModule, arch: str) -> Any:
        assert arch == "sm_90"
        loaded.append(module)
        if module in (CEILINGS, PEAKS):
            return SimpleNamespace(get_function=Function)
        return driver.module(module)

    monkeypatch.setattr("cudamm.devices.own_module.OwnModule.load", load)
    monkeypatch.setattr("cudamm.devices.gpu_ceilings.nvcc", lambda: SimpleNamespace(release=(13, 0)))
    monitor = SimpleNamespace(
        uuid=lambda: "GPU-1", driver_version=lambda: "580", close=lambda: None,
        sm_clock_mhz=lambda: 1755 if busy.launches else 345,
        state=lambda: GpuState(
            throttle_reasons=("power cap",) if busy.launches else (),
            power_w=650.0 if busy.launches else 70.0, temperature_c=61, ecc_corrected=2, ecc_uncorrected=0,
        ),
    )  # fmt: skip
    monkeypatch.setattr("cudamm.devices.gpu_device.open_monitor", lambda bus: monitor)
    with GpuDevice(0) as device:
        yield SimpleNamespace(device=device, launches=launches, loaded=loaded, cache=tmp_path)
    assert driver.allocations == []
    monkeypatch.undo()
    compile_cache.cache_folder.cache_clear()


def test_a_peak_is_the_operations_over_the_time_and_has_the_clock_under_load(gpu: Any) -> None:
    ceilings = gpu.device.ceilings()
    # Operations of a step: those of 32 blocks of 8 warps, or of 4 blocks of two warpgroups with wgmma.
    assert ceilings.fma_gflops == pytest.approx(32 * 256 * 128 * 2 / 0.002 / 1e6)
    assert ceilings.fma_clock_mhz == 1755
    assert ceilings.fma_peak.gflops == ceilings.fma_gflops
    found = {(peak.unit, peak.element_type): peak for peak in gpu.device.other_peaks()}
    expected = {
        ("FMA", "float64"): 32 * 256 * 128 * 2 / 0.004 / 1e6,
        ("tensor cores", "float16"): 4 * 2 * 16 * (2 * 64 * 256 * 16) / 0.001 / 1e6,
        ("tensor cores", "bfloat16"): 4 * 2 * 16 * (2 * 64 * 256 * 16) / 0.002 / 1e6,
        ("tensor cores", "tf32"): 4 * 2 * 16 * (2 * 64 * 256 * 8) / 0.003 / 1e6,
        ("tensor cores", "float8_e4m3"): 4 * 2 * 16 * (2 * 64 * 256 * 32) / 0.0008 / 1e6,
        # The larger instruction is the faster one: four times the operations in 2.5 times the time.
        ("tensor cores", "float64"): 32 * 8 * 16 * (2 * 16 * 8 * 16) / 0.0125 / 1e6,
    }
    assert {key: peak.gflops for key, peak in found.items()} == pytest.approx(expected)
    assert {peak.clock_mhz for peak in found.values()} == {1755}
    assert found["tensor cores", "float16"].source.endswith("float16 wgmma m64n256k16 from shared memory")
    assert found["tensor cores", "tf32"].source.endswith("tf32 wgmma m64n256k8 from shared memory")
    assert found["tensor cores", "float64"].source.endswith("float64 mma.sync m16n8k16 from registers")
    assert ceilings.copy_gbytes_per_s == pytest.approx(2 * 2**26 / COPY_MS / 1e6, rel=0.01)


def test_a_load_has_the_median_rate_and_the_state_of_the_gpu(gpu: Any) -> None:
    loads = {unit: gpu.device.load(unit, 0.02) for unit in ("FMA", "tensor cores", "memory")}
    assert loads["FMA"].rate == pytest.approx(32 * 256 * 128 * 2 / 0.002 / 1e6)
    assert loads["tensor cores"].rate == pytest.approx(4 * 2 * 16 * (2 * 64 * 256 * 16) / 0.001 / 1e6)
    assert loads["tensor cores"].kernel == "float16 wgmma m64n256k16 from shared memory"
    assert loads["memory"].rate == pytest.approx(2 * 2**26 / COPY_MS / 1e6, rel=0.01)
    for load in loads.values():
        assert load.launches > 1 and load.clock_mhz == 1755
        assert (load.power_w, load.temperature_c, load.ecc_corrected, load.ecc_uncorrected) == (650, 61, 2, 0)
        assert load.throttle_reasons == ("power cap",)
    assert gpu.launches[-1][0] == "copy" and not list(gpu.cache.rglob("*.json"))  # nothing is kept


def test_timed_launches_take_milliseconds_whatever_a_step_takes(gpu: Any) -> None:
    gpu.device.ceilings()
    gpu.device.other_peaks()
    for name, step_ms in STEP_MS.items():
        longest = max(steps for launched, steps in gpu.launches if launched == name)
        assert 1 < longest * step_ms < 10, name


def test_ceilings_and_peaks_are_measured_once(gpu: Any) -> None:
    ceilings, peaks = gpu.device.ceilings(), gpu.device.other_peaks()
    count = len(gpu.launches)
    assert count > 0 and (gpu.device.ceilings(), gpu.device.other_peaks()) == (ceilings, peaks)
    assert len(gpu.launches) == count


def test_only_the_ceilings_of_every_measurement_are_measured_for_it(gpu: Any) -> None:
    gpu.device.ceilings()
    assert {name for name, _ in gpu.launches} == {"multiply_add_float32", "copy"}
    assert CEILINGS in gpu.loaded and PEAKS not in gpu.loaded


def test_peaks_that_lack_one_are_measured_again(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = tuple(kernel for kernel in OTHER_PEAK_KERNELS if kernel.element_type != "tf32")
    with monkeypatch.context() as before:
        before.setattr("cudamm.devices.gpu_ceilings.OTHER_PEAK_KERNELS", fewer)
        assert "tf32" not in {peak.element_type for peak in gpu.device.other_peaks()}
    assert "tf32" in {peak.element_type for peak in gpu.device.other_peaks()}


def test_a_kernel_that_an_old_compiler_does_not_know_is_left_out() -> None:
    kernels, before = (
        {k.name for k in other_peak_kernels("sm_89", release)} for release in ((12, 4), (12, 3))
    )
    assert kernels - before == {"mma_float8_e4m3"} and "mma_tf32" in before


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 10**5, b"{}", b"[5]", b'[{"unit": "\xff"}]'])
@pytest.mark.slow
def test_a_damaged_file_in_the_cache_is_measured_again(gpu: Any, content: bytes) -> None:
    for measure, read in (
        (gpu.device.ceilings, read_ceilings),
        (gpu.device.other_peaks, read_peaks),
    ):
        before = set(gpu.cache.rglob("*.json"))
        first = measure()
        (path,) = set(gpu.cache.rglob("*.json")) - before
        path.write_bytes(content)
        again = measure()
        assert again == read(path)
        rates = [
            [peak.gflops for peak in (found if isinstance(found, tuple) else (found.fma_peak,))]
            for found in (first, again)
        ]
        assert rates[0] == pytest.approx(rates[1])


CEILINGS_RECORD = {"fma_gflops": 51000.5, "copy_gbytes_per_s": 4000, "fma_clock_mhz": 1980}
PEAK_RECORD = {
    "unit": "FMA", "element_type": "float64", "gflops": 25000, "source": "measured", "clock_mhz": None,
}  # fmt: skip


@pytest.mark.parametrize(
    "record",
    [[], 5, {"fma_gflops": 1}, CEILINGS_RECORD | {"fma_gflops": "x"}, CEILINGS_RECORD | {"fma_gflops": 0},
     CEILINGS_RECORD | {"fma_gflops": float("nan")}, CEILINGS_RECORD | {"copy_gbytes_per_s": 1e300},
     CEILINGS_RECORD | {"copy_gbytes_per_s": None}],
)  # fmt: skip
def test_damaged_ceilings_are_not_read(tmp_path: Path, record: Any) -> None:
    path = tmp_path / "ceilings.json"
    path.write_text(json.dumps(record))
    assert read_ceilings(path) is None


@pytest.mark.parametrize(
    "record", [{}, 5, [], [{}], [5], [PEAK_RECORD | {"gflops": -1}], [PEAK_RECORD | {"unit": "abacus"}]]
)
def test_damaged_peaks_are_not_read(tmp_path: Path, record: Any) -> None:
    path = tmp_path / "peaks.json"
    path.write_text(json.dumps(record))
    assert read_peaks(path) is None


def test_right_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(CEILINGS_RECORD))
    assert read_ceilings(path) == Ceilings(51000.5, 4000, 1980)
    path.write_text(json.dumps([PEAK_RECORD]))
    assert read_peaks(path) == (Peak("FMA", "float64", 25000, "measured", None),)
